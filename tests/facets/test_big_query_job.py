"""bigQueryJob (run), and the old spelling bigQuery_job."""

from __future__ import annotations

import hashlib

import pytest
from support.facet_cases import DPI, facet, of_run

PROPERTIES = '{"configuration": {"query": {"query": "select secret_thing"}}}'


@pytest.mark.parametrize("key", ["bigQueryJob", "bigQuery_job"])
def test_costs_are_kept_and_the_job_resource_is_only_hashed(key):
    found = of_run(key, facet(cached=False, billedBytes=111149056, properties=PROPERTIES), report=True)
    kept = found.kept(DPI)
    assert kept["bigQueryJob.cached"] == "false"
    assert kept["bigQueryJob.billedBytes"] == "111149056"
    assert kept["bigQueryJob.properties.sha256"] == hashlib.sha256(PROPERTIES.encode()).hexdigest()
    assert kept["bigQueryJob.properties.bytes"] == str(len(PROPERTIES))
    assert "select" not in " ".join(kept.values())
    assert found.outcomes()[f"$.run.facets.{key}.properties"] == ("dropped", "too-large")
    assert found.outcomes()[f"$.run.facets.{key}.cached"][0] == "property"


@pytest.mark.parametrize("properties", [{"a": {"b": 1}}, [1], 7])
def test_resource_of_any_shape_is_only_hashed(properties):
    kept = of_run("bigQueryJob", facet(properties=properties)).kept(DPI)
    assert {key for key in kept if key.startswith("bigQuery")} == {
        "bigQueryJob.properties.sha256",
        "bigQueryJob.properties.bytes",
    }


def test_empty_facet_adds_no_properties():
    assert not any(key.startswith("bigQuery") for key in of_run("bigQueryJob", facet(billedBytes=None)).kept(DPI))
