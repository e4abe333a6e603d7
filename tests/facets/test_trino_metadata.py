"""trino_metadata (run)."""

from __future__ import annotations

import hashlib

import pytest
from support.facet_cases import DPI, facet, of_run

PLAN = "Fragment 0 [SINGLE]\n" * 400


def test_query_id_names_the_run_and_the_plan_is_only_hashed():
    body = facet(query_id="20260131_101112_00042_abcde", transaction_id="t-1", query_plan=PLAN)
    found = of_run("trino_metadata", body, report=True)
    assert found.one(DPI, "dataProcessInstanceProperties")["name"] == "20260131_101112_00042_abcde"
    properties = found.properties(DPI)
    assert properties["trino_metadata.transaction_id"] == "t-1"
    assert properties["trino_metadata.query_plan.sha256"] == hashlib.sha256(PLAN.encode()).hexdigest()
    assert properties["trino_metadata.query_plan.bytes"] == "8000"
    assert not any("Fragment" in value for value in properties.values())
    assert found.outcomes()["$.run.facets.trino_metadata.query_plan"] == ("dropped", "plan")
    assert found.outcomes()["$.run.facets.trino_metadata.query_id"] == ("mapped", "dataProcessInstanceProperties.name")


@pytest.mark.parametrize("query", [None, "", {}, ["x"]])
def test_invalid_id_does_not_name_the_run(query):
    found = of_run("trino_metadata", facet(query_id=query))
    assert found.one(DPI, "dataProcessInstanceProperties")["name"] == DPI.rpartition(":")[2]
