"""airflowDagRun (run): a DAG's own run."""

from __future__ import annotations

from facet_cases import AIRFLOW, DPI, facet, pair, told

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
