"""Tasks of Airflow that send no events: jobs and edges from the DAG's START, runs from the DAG run's end."""

from __future__ import annotations

import itertools
import json

import pytest
from datahub.emitter.mce_builder import datahub_guid, make_data_job_urn
from support.facet_cases import AIRFLOW, DPI, END_MS, RUN, event, facet, translate_events
from support.public_data import CORPUS, NO_CORPUS

DAG = "daily"
LABEL = "scheduled__2026-11-20T01:00:00+00:00"
FLOW = "urn:li:dataFlow:(airflow,daily,shop)"
TASKS = {
    "start": {"emits_ol_events": False, "downstream_task_ids": ["load", "left", "right"]},
    "load": {"emits_ol_events": True, "downstream_task_ids": ["after"]},
    "left": {"emits_ol_events": True, "downstream_task_ids": []},
    "right": {"emits_ol_events": True, "downstream_task_ids": []},
    "after": {"emits_ol_events": True, "downstream_task_ids": []},
    "waits": {"emits_ol_events": False, "downstream_task_ids": []},
    "idle": {"emits_ol_events": False, "downstream_task_ids": []},
}
STATES = {
    "start": "success", "load": "failed", "left": "skipped", "right": "skipped", "after": "upstream_failed",
    "waits": "up_for_retry", "idle": "none",
}  # fmt: skip
SECONDS = {"start": 0.0, "load": 12.5, "left": 0.0, "right": 3.1, "after": 0.0}
KIND = {"jobType": facet(jobType="DAG", integration="AIRFLOW", processingType="BATCH")}


def dag(kind="START", **more):
    run = {"airflowDagRun": facet(dag={"dag_id": DAG}, dagRun={"run_id": LABEL})}
    if kind == "START":
        more = {"job": {**KIND, "airflow": facet(tasks=TASKS)}, **more}
    else:
        run["airflowState"] = facet(dagRunState="failed", tasksState=STATES, tasksDuration=SECONDS)
    return event(kind, producer=AIRFLOW, name=DAG, run=run, **{"job": KIND, **more})


def run_of(task, flow_run=RUN):
    return (
        f"urn:li:dataProcessInstance:{datahub_guid({'namespace': 'shop', 'name': f'{DAG}.{task}', 'runId': flow_run})}"
    )


def results(found):
    """URN -> (time, result, native word) of each point of a run other than the DAG's."""
    return {
        urn: [
            (point["timestampMillis"], point["result"]["type"], point["result"]["nativeResultType"])
            for point in found.all(urn, "dataProcessInstanceRunEvent")
            if "result" in point
        ]
        for urn in found.entities("dataProcessInstance") - {DPI}
    }


RUNS = {"airflow": {"tasks_without_events": "runs"}, "datahub_version": "1.7"}


def test_eventless_tasks_are_jobs_without_runs_by_default():
    found = translate_events(dag(), dag("FAIL"))
    assert found.entities("dataJob") == {f"urn:li:dataJob:({FLOW},{DAG}.{task})" for task in TASKS}
    assert found.entities("dataProcessInstance") == {DPI}


def test_dag_run_end_ends_its_eventless_tasks():
    """`load` failed and `right` skipped itself while it ran: both have events. `idle` has no end."""
    found = translate_events(dag(), dag("FAIL"), **RUNS)
    assert results(found) == {
        run_of("start"): [(END_MS, "SUCCESS", "airflow")],
        run_of("left"): [(END_MS, "SKIPPED", "airflow")],
        run_of("after"): [(END_MS, "SKIPPED", "airflow")],
        run_of("waits"): [(END_MS, "UP_FOR_RETRY", "airflow")],
    }
    assert found.one(run_of("after"), "dataProcessInstanceRelationships") == {
        "parentTemplate": f"urn:li:dataJob:({FLOW},{DAG}.after)", "parentInstance": DPI, "upstreamInstances": [],
    }  # fmt: skip
    properties = found.one(run_of("after"), "dataProcessInstanceProperties")
    assert (properties["name"], properties["created"]["time"]) == (LABEL, END_MS)
    assert found.properties(run_of("after")) == {"airflow.taskState": "upstream_failed", "orchestrator": "airflow"}
    assert found.one(run_of("after"), "subTypes") == {"typeNames": ["Task Run"]}
    assert found.one(run_of("after"), "dataPlatformInstance") == {"platform": "urn:li:dataPlatform:airflow"}


def test_dag_run_end_alone_ends_only_tasks_that_cannot_have_run():
    assert results(translate_events(dag("FAIL"), **RUNS)).keys() == {run_of("left"), run_of("after")}
    assert results(translate_events(dag(), **RUNS)) == {}
    assert results(translate_events(dag("RUNNING"), **RUNS)) == {}


def test_each_end_of_a_dag_run_has_its_point():
    """The old provider keeps the run id of a DAG run that was cleared."""
    again = "2026-11-20T02:00:00Z"
    found = translate_events(dag(), dag("FAIL"), dag(time="2026-11-20T01:30:00Z"), dag("COMPLETE", time=again), **RUNS)
    assert [time - END_MS for time, _, _ in results(found)[run_of("start")]] == [0, 3_570_000]


def test_older_profiles_have_fewer_aspects_of_runs():
    found = translate_events(dag(), dag("FAIL"), airflow={"tasks_without_events": "runs"})
    assert {one.aspect_name.removeprefix("dataProcessInstance") for one in found.proposals if one.entity_urn == run_of("left")} == {
        "Properties", "Relationships", "RunEvent",
    }  # fmt: skip


def test_invalid_task_states_and_other_jobs_end_no_task():
    odd = facet(dagRunState="failed", tasksState={"a": 7, "b": "queued", "c": None}, tasksDuration=[])
    assert results(translate_events(event(producer=AIRFLOW, name=DAG, run={"airflowState": odd}), **RUNS)) == {}
    odd = facet(tasksState={"a": "skipped"})
    assert (
        results(translate_events(event(producer=AIRFLOW, name="daily.load", run={"airflowState": odd}), **RUNS)) == {}
    )
    odd = facet(tasksState={f"t{number}": "skipped" for number in range(1001)})
    assert results(translate_events(event(producer=AIRFLOW, name=DAG, run={"airflowState": odd}), **RUNS)) == {}


def joined(**airflow):
    return {"mode": "datahub-airflow-plugin", "airflow_plugin": airflow}


def test_beside_the_plugin_its_own_runs_of_tasks_are_left_to_it():
    assert results(translate_events(dag(), dag("FAIL"), identity=joined(), **RUNS)) == {}


def test_eventless_runs_use_plugin_ids_in_plugin_mode():
    found = translate_events(dag(), dag("FAIL"), identity=joined(runs="plugin"), **RUNS)
    key = {"cluster": "prod", "orchestrator": "airflow", "id": f"{DAG}_after_{LABEL}"}
    urn = f"urn:li:dataProcessInstance:{datahub_guid(key)}"
    assert results(found)[urn] == [(END_MS, "SKIPPED", "airflow")]
    template = found.one(urn, "dataProcessInstanceRelationships")["parentTemplate"]
    assert template == make_data_job_urn("airflow", DAG, "after", "prod")


def test_plugin_run_id_needs_the_dag_run_id_of_airflow():
    nameless = dag("FAIL")
    del nameless["run"]["facets"]["airflowDagRun"]
    assert results(translate_events(nameless, identity=joined(runs="plugin"), **RUNS)) == {}
    urn = run_of("after")
    assert translate_events(nameless, **RUNS).one(urn, "dataProcessInstanceProperties")["name"] == RUN
    assert results(translate_events(nameless, identity=joined(runs="openlineage"), **RUNS)).keys() == {
        urn,
        run_of("left"),
    }


# -- real DAGs ---------------------------------------------------------------------------------------------------------


def real(*numbers):
    if not CORPUS.exists():
        pytest.skip(NO_CORPUS)
    folder = CORPUS / "compatibility-tests"
    return [json.loads((folder / f"airflow_line_{number:02}.json").read_text(encoding="utf-8")) for number in numbers]


def edges(found):
    return {
        (one.entity_urn, operation["value"]["destinationUrn"])
        for one in found.proposals
        if one.aspect_name == "dataJobInputOutput"
        for operation in one.value
        if operation["path"].startswith("/inputDatajobEdges/")
    }


@pytest.mark.parametrize("cluster", [None, "prod", "PROD"])
def test_task_graph_of_a_real_dag_equals_its_task_event_edges(cluster):
    """The DAG `BQ` of OpenLineage's compatibility tests: its START names the tasks that the tasks' events name themselves."""
    events = [one for one in real(*range(1, 33)) if one["job"]["name"].partition(".")[0] == "BQ"]
    start = [one for one in events if "airflow" in one["job"]["facets"]]
    tasks = [one for one in events if one["job"]["name"] != "BQ"]
    assert len(start) == 1
    assert len(tasks) >= 3
    settings = {"identity": joined(cluster=cluster, lineage="patch")} if cluster else {}

    def job(task):
        return make_data_job_urn("airflow", "BQ", task if cluster else f"BQ.{task}", cluster or "airflow")

    wanted = {(job("copy"), job("upload")), (job("download"), job("copy"))}
    assert edges(translate_events(start, **settings)) == edges(translate_events(tasks, **settings)) == wanted
    assert edges(translate_events(events, **settings, airflow={"task_graph": False})) == set()


def test_real_tasks_with_events_get_no_eventless_runs():
    events = real(*range(1, 33))
    assert any("airflowState" in one["run"]["facets"] for one in events)
    plain, asked = translate_events(events, datahub_version="1.7"), translate_events(events, **RUNS)
    assert asked.entities("dataProcessInstance") == plain.entities("dataProcessInstance")


# -- order -------------------------------------------------------------------------------------------------------------


def test_order_of_a_dags_events_does_not_matter():
    again = dag("COMPLETE", time="2026-11-20T02:00:00Z")
    events = [dag(), dag("FAIL"), again, event("START", producer=AIRFLOW, name="daily.load", run_id=RUN[:-1] + "7")]
    wanted = results(translate_events(events, **RUNS))
    assert len(wanted) == 5
    for order in itertools.permutations(events):
        assert results(translate_events(list(order), **RUNS)) == wanted
