"""airflow (job): the tasks of a DAG, on its START."""

from __future__ import annotations

import json

import pytest
from support.facet_cases import AIRFLOW, facet, pair, translate_events
from support.public_data import CORPUS, needs_corpus

FLOW = "urn:li:dataFlow:(airflow,daily,shop)"
TASKS = {
    "load": {"operator": "a.B", "ui_color": "#fff", "ui_fgcolor": "#000", "ui_label": "load", "emits_ol_events": True},
    "odd": 7,
}


def dag(**body):
    return translate_events(pair(job={"airflow": facet(**body)}, producer=AIRFLOW, name="daily"), report=True)


def test_tasks_are_kept_without_their_colours():
    found = dag(tasks=TASKS, taskTree={"load": {}}, taskGroups={})
    properties = found.properties(FLOW)
    assert properties["airflow.tasks"] == '{"load":{"emits_ol_events":true,"operator":"a.B"},"odd":7}'
    assert properties["airflow.taskTree"] == '{"load":{}}'
    assert "airflow.taskGroups" not in properties
    outcomes = found.outcomes()
    assert outcomes["$.job.facets.airflow.tasks.load.ui_color"] == ("dropped", "no-field:cosmetic")
    assert outcomes["$.job.facets.airflow.tasks.load.operator"][0] == "property"


def test_large_graph_is_cut_with_its_hash():
    text = dag(tasks={f"task_{number}": {"operator": "a.B"} for number in range(500)}).properties(FLOW)["airflow.tasks"]
    assert len(text) <= 4000
    assert "sha256:" in text


def test_empty_facet_adds_no_properties():
    assert not any(key.startswith("airflow") for key in dag().properties(FLOW))


GRAPH = {
    "start": {"operator": "a.EmptyOperator", "downstream_task_ids": ["load", "check"]},
    "load": {"operator": "a.B", "downstream_task_ids": "['check']"},
    "check": {"operator": "a.B", "downstream_task_ids": []},
    "lost": {"operator": "a.B", "downstream_task_ids": ["gone", "lost", 7]},
}


def job(task):
    return f"urn:li:dataJob:({FLOW},daily.{task})"


def test_every_task_is_a_job_and_the_graph_is_edges_between_them():
    """Tasks that never speak exist only here."""
    found = dag(tasks=GRAPH)
    assert found.entities("dataJob") == {job(task) for task in GRAPH}
    assert found.patched(job("start"), "dataJobInfo")["/name"] == "start"
    edges = {task: found.all(job(task), "dataJobInputOutput") for task in GRAPH}
    assert edges["start"] == edges["lost"] == []
    assert set(found.patched(job("load"), "dataJobInputOutput")) == {f"/inputDatajobEdges/{job('start')}"}
    assert set(found.patched(job("check"), "dataJobInputOutput")) == {
        f"/inputDatajobEdges/{job('start')}", f"/inputDatajobEdges/{job('load')}",
    }  # fmt: skip
    assert found.outcomes()["$.job.facets.airflow.tasks.load.downstream_task_ids"][0] == "mapped"


@pytest.mark.parametrize("name", ["unknown", "daily.load"])
def test_only_a_dag_has_a_graph(name):
    found = translate_events(pair(job={"airflow": facet(tasks=GRAPH)}, producer=AIRFLOW, name=name))
    assert job("start") not in found.entities("dataJob")


def test_dag_of_thousands_of_tasks_is_written_without_its_graph():
    assert dag(tasks={f"t{number}": {} for number in range(1001)}).entities("dataJob") == set()


@needs_corpus
def test_real_dag_start_creates_its_task_graph():
    event = json.loads((CORPUS / "compatibility-tests" / "airflow_line_09.json").read_text(encoding="utf-8"))
    tasks = event["job"]["facets"]["airflow"]["tasks"]
    found = translate_events(event)
    assert len(found.entities("dataJob")) == len(tasks)
    edges = [one for one in found.proposals if one.aspect_name == "dataJobInputOutput"]
    wanted = {down for task in tasks.values() for down in task.get("downstream_task_ids", [])}
    assert len(edges) == len(wanted)


def test_without_the_graph_tasks_are_jobs_all_the_same():
    """`airflow.task_graph`."""
    found = translate_events(
        pair(job={"airflow": facet(tasks=GRAPH)}, producer=AIRFLOW, name="daily"),
        report=True,
        airflow={"task_graph": False},
    )
    assert found.entities("dataJob") == {job(task) for task in GRAPH}
    assert not [one for one in found.proposals if one.aspect_name == "dataJobInputOutput"]
    for leaf in ("load.downstream_task_ids", "start.downstream_task_ids[0]", "lost.downstream_task_ids[2]"):
        assert found.outcomes()[f"$.job.facets.airflow.tasks.{leaf}"][0] == "property"


def test_tasks_that_are_no_tasks_are_kept_as_they_are():
    assert dag(tasks=["load"]).properties(FLOW)["airflow.tasks"] == '["load"]'


@pytest.mark.parametrize("after", [7, "gone"])
def test_invalid_downstream_task_ids_are_reported_as_property(after):
    found = dag(tasks={"load": {"downstream_task_ids": after}})
    path = "$.job.facets.airflow.tasks.load.downstream_task_ids"
    assert found.outcomes()[path] == ("property", "dataFlowInfo.customProperties[openlineage.airflow.tasks]")
