"""airflow (job): the tasks of a DAG, on its START."""

from __future__ import annotations

from facet_cases import AIRFLOW, facet, pair, told

FLOW = "urn:li:dataFlow:(airflow,daily,shop)"
TASKS = {
    "load": {"operator": "a.B", "ui_color": "#fff", "ui_fgcolor": "#000", "ui_label": "load", "emits_ol_events": True},
    "odd": 7,
}


def dag(**body):
    return told(pair(job={"airflow": facet(**body)}, producer=AIRFLOW, name="daily"), report=True)


def test_tasks_are_kept_without_their_colours():
    found = dag(tasks=TASKS, taskTree={"load": {}}, taskGroups={})
    kept = found.kept(FLOW)
    assert kept["airflow.tasks"] == '{"load":{"emits_ol_events":true,"operator":"a.B"},"odd":{}}'
    assert kept["airflow.taskTree"] == '{"load":{}}'
    assert "airflow.taskGroups" not in kept
    verdicts = found.verdicts()
    assert verdicts["$.job.facets.airflow.tasks.load.ui_color"] == ("withheld", "no-home:cosmetic")
    assert verdicts["$.job.facets.airflow.tasks.load.operator"][0] == "kept"


def test_a_large_graph_is_cut_with_its_hash():
    text = dag(tasks={f"task_{number}": {"operator": "a.B"} for number in range(500)}).kept(FLOW)["airflow.tasks"]
    assert len(text) <= 4000
    assert "sha256:" in text


def test_nothing_said_is_nothing_kept():
    assert not any(key.startswith("airflow") for key in dag().kept(FLOW))
