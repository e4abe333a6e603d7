"""dataRentgen_operation (run)."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, JOB, facet, pair, translate_events

BODY = {"name": "Load totals", "description": "some description", "group": "some group", "position": 1}


def operation(job=None, **body):
    return translate_events(pair(run={"dataRentgen_operation": facet(**{**BODY, **body})}, job=job or {}), report=True)


def test_name_and_description_are_the_job_s():
    found = operation().patched(JOB, "dataJobInfo")
    assert (found["/name"], found["/description"]) == ("Load totals", "some description")


def test_everything_is_kept_on_the_run():
    found = operation()
    properties = found.properties(DPI)
    assert {leaf: properties[f"dataRentgen_operation.{leaf}"] for leaf in BODY} == {**BODY, "position": "1"}
    leaf = "$.run.facets.dataRentgen_operation.{}"
    assert found.outcomes()[leaf.format("description")] == ("mapped", "dataJobInfo.description")
    assert found.outcomes()[leaf.format("position")][0] == "property"


def test_documentation_facet_wins_over_the_operation_description():
    found = operation(job={"documentation": facet(description="What it is")})
    assert found.patched(JOB, "dataJobInfo")["/description"] == "What it is"


@pytest.mark.parametrize("text", [None, "", " ", [7], {}])
def test_empty_values_change_nothing(text):
    found = operation(name=text, description=text).patched(JOB, "dataJobInfo")
    assert found["/name"] == "load"
    assert "/description" not in found
