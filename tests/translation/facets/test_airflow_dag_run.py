"""airflowDagRun (run): a DAG's own run."""

from __future__ import annotations

import pytest
from facet_cases import AIRFLOW, DPI, event, facet, pair, told

FLOW = "urn:li:dataFlow:(airflow,daily,shop)"


def dag(**parts):
    body = {"dag": {"dag_id": "daily", "tags": "['a']"}, "dagRun": {"run_id": "manual__1", "run_type": "manual"}}
    return told(pair(run={"airflowDagRun": facet(**body, **parts)}, producer=AIRFLOW, name="daily"))


def test_the_run_is_called_after_the_dag_run_and_typed_by_it():
    properties = dag().one(DPI, "dataProcessInstanceProperties")
    assert (properties["name"], properties["type"]) == ("manual__1", "BATCH_AD_HOC")
    assert dag().kept(DPI)["airflow.dagRun.run_id"] == "manual__1"


def test_its_template_is_the_flow():
    relationships = dag().one(DPI, "dataProcessInstanceRelationships")
    assert relationships == {"parentTemplate": FLOW, "upstreamInstances": []}
    assert dag().entities("dataJob") == set()


def test_the_dag_tags_the_flow():
    assert set(dag().patched(FLOW, "globalTags")) == {"/tags/urn:li:tag:a"}


def test_other_leaves_are_kept_and_an_empty_facet_says_nothing():
    assert dag(more=1).kept(DPI)["airflowDagRun.more"] == "1"
    empty = told(pair(run={"airflowDagRun": facet()}, producer=AIRFLOW, name="daily"))
    assert not any(key.startswith("airflow") for key in empty.kept(DPI))


@pytest.mark.parametrize(
    ("dag_run", "millis"),
    [
        ({"duration": 12.5}, 12500),
        ({"start_date": "2026-11-20T00:59:00+00:00", "end_date": "2026-11-20T01:00:00.5Z"}, 60500),
        ({"start_date": "2026-11-20T01:00:00Z", "end_date": "2026-11-20T00:00:00Z"}, None),
        ({"start_date": "yesterday", "end_date": "today"}, None),
        ({"duration": "12"}, None),
        ({"duration": True}, None),
        ({"duration": -1}, None),
        ({"duration": 1e300}, None),
        ({"duration": 10**400}, None),
        ({}, None),
    ],
)
def test_how_long_it_took_serves_where_no_start_was_seen(dag_run, millis):
    body = {"airflowDagRun": facet(dag={"dag_id": "daily"}, dagRun={"run_id": "manual__1", **dag_run})}
    (point,) = told(event(run=body, producer=AIRFLOW, name="daily")).all(DPI, "dataProcessInstanceRunEvent")
    assert point.get("durationMillis") == millis


def test_airflow_s_address_as_namespace_gives_the_page_of_the_dag_run():
    body = {
        "airflowDagRun": facet(dag={"dag_id": "a/b"}, dagRun={"run_id": "manual__1"}),
        "processing_engine": facet(name="Airflow", version="3.1.8"),
    }
    found = told(pair(run=body, producer=AIRFLOW, name="daily", namespace="http://air:8080"))
    assert found.one(DPI, "dataProcessInstanceProperties")["externalUrl"] == "http://air:8080/dags/a%2Fb/runs/manual__1"


def test_the_report_names_where_the_dag_run_goes():
    body = {"airflowDagRun": facet(dag={"dag_id": "daily"}, dagRun={"run_id": "r", "conf": {"a": 1}, "duration": 1})}
    said = told(pair(run=body, producer=AIRFLOW, name="daily"), report=True).verdicts()
    leaf = "$.run.facets.airflowDagRun.dagRun.{}"
    assert said[leaf.format("run_id")] == ("mapped", "dataProcessInstanceProperties.name")
    assert said[leaf.format("duration")] == ("mapped", "dataProcessInstanceRunEvent.durationMillis")
    assert said[leaf.format("conf.a")] == ("kept", "dataProcessInstanceProperties.customProperties")
