"""airflowState (run): how a DAG run and its tasks ended."""

from __future__ import annotations

import pytest
from support.facet_cases import AIRFLOW, DPI, event, facet, of_run, translate_events


def ended(state, kind="COMPLETE"):
    body = facet(dagRunState=state, tasksState={"load": "success", "check": "skipped"}, tasksDuration={})
    return translate_events(
        event("START", producer=AIRFLOW, name="daily"),
        event(kind, producer=AIRFLOW, name="daily", run={"airflowState": body}),
    )


@pytest.mark.parametrize(
    ("state", "kind", "result"),
    [
        ("success", "COMPLETE", "SUCCESS"),
        ("skipped", "COMPLETE", "SKIPPED"),
        ("upstream_failed", "COMPLETE", "SKIPPED"),
        ("removed", "COMPLETE", "SKIPPED"),
        ("up_for_retry", "COMPLETE", "UP_FOR_RETRY"),
        ("up_for_reschedule", "COMPLETE", "UP_FOR_RETRY"),
        ("failed", "FAIL", "FAILURE"),
        ("skipped", "FAIL", "FAILURE"),
        ("failed", "COMPLETE", "SUCCESS"),
    ],
)
def test_word_refines_a_result_and_never_contradicts_the_event(state, kind, result):
    last = ended(state, kind).all(DPI, "dataProcessInstanceRunEvent")[-1]
    assert last["result"]["type"] == result
    assert last["result"]["nativeResultType"] == "airflow"


def test_states_of_the_tasks_are_kept_and_write_no_other_runs():
    found = ended("success")
    assert found.properties(DPI)["airflowState.tasksState"] == '{"check":"skipped","load":"success"}'
    assert found.properties(DPI)["airflowState.dagRunState"] == "success"
    assert "airflowState.tasksDuration" not in found.properties(DPI)
    assert found.entities("dataProcessInstance") == {DPI}


def test_empty_facet_adds_no_properties():
    found = translate_events(event("START"), event(run={"airflowState": facet(tasksState={}, dagRunState=None)}))
    assert not any(key.startswith("airflowState") for key in found.properties(DPI))


def test_dag_run_state_that_is_no_end_is_reported_as_property():
    found = of_run("airflowState", facet(dagRunState="dozing"), report=True)
    target = "dataProcessInstanceProperties.customProperties[openlineage.airflowState.dagRunState]"
    assert found.outcomes()["$.run.facets.airflowState.dagRunState"] == ("property", target)
