"""airflowDagRun (run): a DAG's own run."""

from __future__ import annotations

import json

import pytest
from support.facet_cases import AIRFLOW, DPI, event, facet, pair, translate_events

FLOW = "urn:li:dataFlow:(airflow,daily,shop)"
TASK_RUN = "01975f21-0000-7000-8000-0000000000aa"


def dag(**parts):
    body = {"dag": {"dag_id": "daily", "tags": "['a']"}, "dagRun": {"run_id": "manual__1", "run_type": "manual"}}
    return translate_events(pair(run={"airflowDagRun": facet(**body, **parts)}, producer=AIRFLOW, name="daily"))


def test_run_name_and_type_come_from_the_dag_run():
    properties = dag().one(DPI, "dataProcessInstanceProperties")
    assert (properties["name"], properties["type"]) == ("manual__1", "BATCH_AD_HOC")
    assert dag().properties(DPI)["airflow.dagRun.run_id"] == "manual__1"


def test_its_template_is_the_flow():
    relationships = dag().one(DPI, "dataProcessInstanceRelationships")
    assert relationships == {"parentTemplate": FLOW, "upstreamInstances": []}
    assert dag().entities("dataJob") == set()


def test_dag_tags_the_flow():
    assert set(dag().patched(FLOW, "globalTags")) == {"/tags/urn:li:tag:a"}


def test_tag_context_names_its_source_in_every_facet():
    """Each event of a task repeats the tags of its DAG, without their source."""
    tags = {"tags": facet(tags=[{"key": "a", "value": "a", "source": "AIRFLOW"}])}
    body = {"dag": {"dag_id": "daily", "tags": "['a']"}}
    own = pair(run={"airflowDagRun": facet(**body)}, job=tags, producer=AIRFLOW, name="daily")
    task = pair(run={"airflow": facet(**body)}, producer=AIRFLOW, name="daily.load", run_id=TASK_RUN)
    for found in (translate_events(own, task), translate_events(task, own), translate_events(task)):
        context = found.patched(FLOW, "globalTags")["/tags/urn:li:tag:a"]["context"]
        assert json.loads(context) == {"source": "AIRFLOW", "value": "a"}
    outcomes = translate_events(own, report=True).outcomes()
    assert outcomes["$.job.facets.tags.tags[0].source"] == ("mapped", "globalTags.tags[].context")
    assert outcomes["$.run.facets.airflowDagRun.dag.tags"] == ("dropped", "duplicate-of:tags")


@pytest.mark.parametrize("tags", [[{"key": "a", "value": "b"}], [{"key": ["a"]}, 7], 7, None])
def test_tag_that_no_other_facet_has_is_the_dag_s(tags):
    body = {"dag": {"dag_id": "daily", "tags": "['a']"}}
    job = {"tags": facet(tags=tags)}
    found = translate_events(pair(run={"airflowDagRun": facet(**body)}, job=job, producer=AIRFLOW, name="daily"))
    assert "/tags/urn:li:tag:a" in found.patched(FLOW, "globalTags")


def test_description_beside_other_documentation_is_a_property():
    """The provider documents a DAG by its doc_md, where it has one."""
    described = {"airflowDagRun": facet(dag={"dag_id": "daily", "description": "Orders into the warehouse"})}

    def of(documentation):
        job = {"documentation": facet(description=documentation, contentType="text/markdown")}
        return translate_events(pair(run=described, job=job, producer=AIRFLOW, name="daily"), report=True)

    both = of("# Night")
    assert both.patched(FLOW, "dataFlowInfo")["/description"] == "# Night"
    assert both.properties(FLOW)["airflow.dag.description"] == "Orders into the warehouse"
    path = "$.run.facets.airflowDagRun.dag.description"
    assert both.outcomes()[path] == ("property", "dataFlowInfo.customProperties[openlineage.airflow.dag.description]")
    assert "airflow.dag.description" not in of("Orders into the warehouse").properties(FLOW)


def test_unknown_fields_are_kept_and_an_empty_facet_is_ignored():
    assert dag(more=1).properties(DPI)["airflowDagRun.more"] == "1"
    empty = translate_events(pair(run={"airflowDagRun": facet()}, producer=AIRFLOW, name="daily"))
    assert not any(key.startswith("airflow") for key in empty.properties(DPI))


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
    (point,) = translate_events(event(run=body, producer=AIRFLOW, name="daily")).all(DPI, "dataProcessInstanceRunEvent")
    assert point.get("durationMillis") == millis


def test_airflow_url_namespace_links_the_dag_run_page():
    body = {
        "airflowDagRun": facet(dag={"dag_id": "a/b"}, dagRun={"run_id": "manual__1"}),
        "processing_engine": facet(name="Airflow", version="3.1.8"),
    }
    found = translate_events(pair(run=body, producer=AIRFLOW, name="daily", namespace="http://air:8080"))
    assert found.one(DPI, "dataProcessInstanceProperties")["externalUrl"] == "http://air:8080/dags/a%2Fb/runs/manual__1"


def test_report_names_where_the_dag_run_goes():
    body = {"airflowDagRun": facet(dag={"dag_id": "daily"}, dagRun={"run_id": "r", "conf": {"a": 1}, "duration": 1})}
    stated = translate_events(pair(run=body, producer=AIRFLOW, name="daily"), report=True).outcomes()
    leaf = "$.run.facets.airflowDagRun.dagRun.{}"
    assert stated[leaf.format("run_id")] == ("mapped", "dataProcessInstanceProperties.name")
    assert stated[leaf.format("duration")] == ("mapped", "dataProcessInstanceRunEvent.durationMillis")
    assert stated[leaf.format("conf.a")] == (
        "property",
        "dataProcessInstanceProperties.customProperties[openlineage.airflow.dagRun.conf]",
    )
