"""extractionError (run)."""

from __future__ import annotations

import json

import pytest
from openlineage.client.facet_v2 import extraction_error_run
from support.facet_cases import DPI, client_pair, event, facet, of_run, spec, translate_events

KEY = "extractionError"


def run_properties(body, **settings):
    found = of_run(KEY, body, **settings).properties(DPI)
    return {key.removeprefix(f"{KEY}."): value for key, value in found.items() if key.startswith(KEY)}


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_counts_errors_and_the_first_trace_are_kept_on_the_run(profile):
    errors = [
        {"errorMessage": "no", "task": "DROP POLICY", "taskNumber": 0},
        {"errorMessage": "bad", "stackTrace": "at a"},
        {"errorMessage": "worse", "stackTrace": "at b"},
    ]
    found = of_run(KEY, facet(totalTasks="3", failedTasks=2, errors=errors), datahub_version=profile, report=True)
    properties = found.properties(DPI)
    assert properties[f"{KEY}.totalTasks"] == "3"
    assert properties[f"{KEY}.failedTasks"] == "2"
    assert json.loads(properties[f"{KEY}.errors"]) == [
        {"message": "no", "task": "DROP POLICY", "taskNumber": 0}, {"message": "bad"}, {"message": "worse"},
    ]  # fmt: skip
    assert properties[f"{KEY}.stackTrace"] == "at a"
    assert found.outcomes()[f"$.run.facets.{KEY}.errors[2].stackTrace"] == ("dropped", "too-large")
    assert found.all(DPI, "dataProcessInstanceRunEvent")[-1]["result"]["type"] == "SUCCESS"


def test_largest_counts_and_the_last_errors_stay_in_any_order():
    stated = [
        event("START", run={KEY: facet(totalTasks=5, failedTasks=1, errors=[{"errorMessage": "first"}])}),
        event(run={KEY: facet(totalTasks=2, failedTasks=2, errors=[{"errorMessage": "last"}])}),
    ]
    for order in (stated, stated[::-1], stated + stated):
        found = translate_events(order).properties(DPI)
        assert (found[f"{KEY}.totalTasks"], found[f"{KEY}.failedTasks"]) == ("5", "2")
        assert found[f"{KEY}.errors"] == '[{"message":"last"}]'


def test_long_texts_are_truncated_separately_and_secrets_masked():
    errors = [
        {
            "errorMessage": "m" * 5000,
            "task": "SELECT 1 " * 500,
            "stackTrace": "H" * 5000 + "postgres://a:b@c" + "T" * 1300,
        }
    ]
    found = run_properties(facet(errors=errors))
    error = json.loads(found["errors"])[0]
    assert len(error["task"]) == 500
    assert len(error["message"]) == 1000
    assert found["stackTrace"].startswith("H" * 2600)
    assert found["stackTrace"].endswith("T" * 1300)
    assert "a:b@" not in run_properties(facet(errors=[{"errorMessage": "cannot read postgres://a:b@c/d"}]))["errors"]
    assert len(run_properties(facet(errors=[{"errorMessage": "e" * 900}] * 50))["errors"]) == 4000


def test_invalid_fields_are_dropped_individually():
    assert run_properties(facet(totalTasks=-1, failedTasks="many", errors=[{}, 7, {"taskNumber": 1}])) == {
        "errors": '[{"taskNumber":1}]'
    }
    assert run_properties(facet(totalTasks=0, failedTasks=0, errors=[])) == {"totalTasks": "0", "failedTasks": "0"}
    assert run_properties(facet(errors="none")) == {}


def test_specification_s_document_is_read():
    found = run_properties(spec("ExtractionErrorRunFacet")[KEY])
    assert (found["totalTasks"], found["failedTasks"]) == ("1", "1")
    assert json.loads(found["errors"])[0]["task"] == "DROP POLICY IF EXISTS name ON table_name"


def test_client_s_class_is_read():
    made = extraction_error_run.ExtractionErrorRunFacet(
        totalTasks=2, failedTasks=1, errors=[extraction_error_run.Error(errorMessage="x")]
    )
    assert translate_events(client_pair(run={KEY: made})).properties(DPI)[f"{KEY}.errors"] == '[{"message":"x"}]'
