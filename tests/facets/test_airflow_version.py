"""airflow_version (run)."""

from __future__ import annotations

import hashlib

import pytest
from support.facet_cases import DPI, facet, pair, translate_events

BODY = {
    "operator": "airflow.operators.bash.BashOperator",
    "airflowVersion": "2.2.4",
    "openlineageAirflowVersion": "0.13.0",
    "taskInfo": {"bash_command": "x", "env": {"PASSWORD": "hidden"}},
}


def version(engine=None, **body):
    run = {"airflow_version": facet(**{**BODY, **body}), **({"processing_engine": engine} if engine else {})}
    return translate_events(pair(run=run), report=True)


def test_operator_and_versions_are_kept_and_the_task_is_hashed():
    properties = version().properties(DPI)
    assert properties["airflow_version.operator"] == "airflow.operators.bash.BashOperator"
    assert properties["airflow_version.airflowVersion"] == "2.2.4"
    assert properties["airflow_version.openlineageAirflowVersion"] == "0.13.0"
    text = b'{"bash_command":"x","env":{"PASSWORD":"[REDACTED]"}}'
    assert properties["airflow_version.taskInfo.sha256"] == hashlib.sha256(text).hexdigest()
    assert properties["airflow_version.taskInfo.bytes"] == str(len(text))
    assert "hidden" not in " ".join(properties.values())


def test_report_drops_the_hashed_task_fields_as_too_large():
    outcome = version().outcomes()["$.run.facets.airflow_version.taskInfo.env.PASSWORD"]
    assert outcome == ("dropped", "too-large")


def test_versions_of_processing_engine_are_not_repeated():
    found = version(facet(name="Airflow", version="2.2.4", openlineageAdapterVersion="0.13.1"))
    properties = found.properties(DPI)
    assert "airflow_version.airflowVersion" not in properties
    assert properties["airflow_version.openlineageAirflowVersion"] == "0.13.0"
    leaf = "$.run.facets.airflow_version.airflowVersion"
    assert found.outcomes()[leaf] == ("dropped", "duplicate-of:processing_engine.version")


@pytest.mark.parametrize(("info", "size"), [("text", "4"), ([], "2"), (0, "1")])
def test_task_of_any_shape_is_only_hashed(info, size):
    assert version(taskInfo=info).properties(DPI)["airflow_version.taskInfo.bytes"] == size


def test_without_a_task_there_is_nothing_to_hash():
    assert "airflow_version.taskInfo.bytes" not in version(taskInfo=None).properties(DPI)
