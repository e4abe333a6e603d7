"""Small inputs whose jobs, runs or times once went wrong (``job_cases/``), alone, in any order and in batches."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from support.ledger_batches import catalogue, settings

from dh_bridge import Bridge, Settings

CASES = Path(__file__).with_name("job_cases")
SEED = 2026


def events_of(case):
    (file,) = CASES.glob(f"{case}.*")
    text = file.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if file.suffix == ".ndjson" else [json.loads(text)]


def translated(events, **chosen):
    return Bridge(Settings(datahub_version="1.7", **chosen)).translate([json.dumps(one).encode() for one in events])


def urns(proposals, entity_type):
    return {one.entity_urn for one in proposals if one.entity_type == entity_type}


def values(proposals, aspect):
    return [one.value for one in proposals if one.aspect_name == aspect]


def strays(events, **chosen):
    """Return the ways to send events to a ledger, in other orders and batches, that give another catalogue."""
    chance = random.Random(SEED)  # noqa: S311 - reproducible, not secret
    options = settings(**{"datahub_version": "1.7", **chosen})
    whole = catalogue(events, chosen=options)
    ways = [[[one] for one in events], [[one] for one in reversed(events)]]
    for _ in range(4):
        shuffled = [*events, *events[:2]]
        chance.shuffle(shuffled)
        cut = chance.randint(0, len(shuffled))
        ways += [[[one] for one in shuffled], [shuffled[:cut], shuffled[cut:]], [shuffled]]
    return [way for way in ways if catalogue(*way, chosen=options) != whole]


# -- names that change with every run ----------------------------------------------------------------------------------

FLOWS = {
    "09-glue-raw-appname": ("sales_daily", "glue"),
    "50-apps-glue": ("sales_daily", "nsglue"),
    "50-apps-livy": ("livy-session", "nslivy"),
    "50-apps-run": ("Databricks Shell", "nsrun"),
    "50-apps-uuidmid": ("orders-load", "nsuuidmid"),
}


@pytest.mark.parametrize("case", FLOWS)
def test_all_runs_of_an_application_are_of_one_flow_and_one_job(case):
    flow, namespace = FLOWS[case]
    proposals = translated(events_of(case)).proposals
    flow_urn = f"urn:li:dataFlow:(spark,{flow},{namespace})"
    assert urns(proposals, "dataFlow") == {flow_urn}
    job = f"urn:li:dataJob:({flow_urn},{flow}.execute_insert_into_hadoop_fs_relation_command)"
    assert urns(proposals, "dataJob") == {job}
    assert len(urns(proposals, "dataProcessInstance")) == 4
    assert strays(events_of(case)) == []


def test_the_whole_name_is_kept_on_the_run_and_the_job_does_not_change_with_it():
    events = events_of("50-apps-uuidmid")
    proposals = translated(events).proposals
    names = {
        value["customProperties"]["openlineage.job.name"]
        for value in values(proposals, "dataProcessInstanceProperties")
    }
    assert names == {one["job"]["name"] for one in events}
    assert len({str(value) for value in values(proposals, "dataJobInfo")}) == 1
    assert "c6ff8af5" not in str(values(proposals, "dataJobInfo"))
