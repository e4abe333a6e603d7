"""docs/delivery.md: the policy that it shows is one of DataHub's, and enough for all that is ever written."""

from __future__ import annotations

import json
import re
from pathlib import Path

from datahub.metadata.schema_classes import DataHubPolicyInfoClass

ROOT = Path(__file__).resolve().parents[1]


def policy():
    page = (ROOT / "docs" / "delivery.md").read_text(encoding="utf-8")
    return json.loads(re.search(r"```json\n(\{.+?)```", page, re.DOTALL)[1])


def test_policy_is_one_that_datahub_reads():
    found = DataHubPolicyInfoClass.from_obj(policy(), tuples=False)
    assert found.validate()
    assert json.loads(json.dumps(found.to_obj())) == policy()  # no field of it is unknown


def test_policy_names_all_types_that_are_written():
    written = set()
    for file in (ROOT / "tests" / "golden").rglob("*json"):
        written |= set(re.findall(r'"entityType": ?"(\w+)"', file.read_text(encoding="utf-8")))
    (criterion,) = policy()["resources"]["filter"]["criteria"]
    assert written
    assert written <= set(criterion["values"])
