"""bigQueryJob (run), and the old spelling bigQuery_job."""

from __future__ import annotations

import hashlib

import pytest
from support.facet_cases import DPI, facet, of_run

PROPERTIES = '{"configuration": {"query": {"query": "select secret_thing"}}}'


@pytest.mark.parametrize("key", ["bigQueryJob", "bigQuery_job"])
def test_costs_are_kept_and_the_job_resource_is_only_hashed(key):
    found = of_run(key, facet(cached=False, billedBytes=111149056, properties=PROPERTIES), report=True)
    run_properties = found.properties(DPI)
    assert run_properties["bigQueryJob.cached"] == "false"
    assert run_properties["bigQueryJob.billedBytes"] == "111149056"
    assert run_properties["bigQueryJob.properties.sha256"] == hashlib.sha256(PROPERTIES.encode()).hexdigest()
    assert run_properties["bigQueryJob.properties.bytes"] == str(len(PROPERTIES))
    assert "select" not in " ".join(run_properties.values())
    assert found.outcomes()[f"$.run.facets.{key}.properties"] == ("dropped", "too-large")
    assert found.outcomes()[f"$.run.facets.{key}.cached"][0] == "property"


@pytest.mark.parametrize("properties", [{"a": {"b": 1}}, [1], 7])
def test_resource_of_any_shape_is_only_hashed(properties):
    run_properties = of_run("bigQueryJob", facet(properties=properties)).properties(DPI)
    assert {key for key in run_properties if key.startswith("bigQuery")} == {
        "bigQueryJob.properties.sha256",
        "bigQueryJob.properties.bytes",
    }


def test_empty_facet_adds_no_properties():
    assert not any(key.startswith("bigQuery") for key in of_run("bigQueryJob", facet(billedBytes=None)).properties(DPI))
