"""The events of a callback have the form of Airflow's OpenLineage provider, and give the same entities."""

from __future__ import annotations

import json
import sys
import uuid
import weakref
from datetime import timedelta
from types import ModuleType
from types import SimpleNamespace as Thing

import pytest
from support.airflow_contexts import BEGIN, DAY, END, VERSIONS, PythonOperator, airflow2, airflow3, raised

from dh_bridge import Bridge, Settings
from dh_bridge.airflow import emit_on_skipped
from dh_bridge.airflow.context import read_context
from dh_bridge.airflow.events import build_events, run_names
from dh_bridge.airflow.run_ids import dag_run_id, task_run_id
from dh_bridge.errors import EventError

NAMESPACE = "shop-airflow"
FLOW = "urn:li:dataFlow:(airflow,shop,shop-airflow)"
both = pytest.mark.parametrize("context", VERSIONS.values(), ids=VERSIONS)


def built_events(context, kind="success"):
    found, _ = build_events(read_context(context), kind, NAMESPACE)
    assert json.loads(json.dumps(found)) == found
    return found


def aspects(found, **settings):
    translation = Bridge(Settings(**settings)).translate(found)
    assert (translation.dead, translation.rejected) == ([], [])
    return translation.proposals


def aspect(proposals, urn, name):
    return next(one.value for one in proposals if (one.entity_urn, one.aspect_name) == (urn, name))


@both
def test_success_is_start_and_complete_of_one_run(context):
    start, end = built_events(context(operator={"inlets": ["s3://lake/a"], "outlets": ["s3://lake/b"]}))
    assert (start["eventType"], start["eventTime"]) == ("START", BEGIN.isoformat())
    assert (end["eventType"], end["eventTime"]) == ("COMPLETE", END.isoformat())
    run_id = task_run_id(NAMESPACE, "shop", "load", DAY, try_number=1, map_index=-1)
    for event in (start, end):
        assert event["run"]["runId"] == run_id
        assert (event["job"]["namespace"], event["job"]["name"]) == (NAMESPACE, "shop.load")
        assert [one["name"] for one in event["inputs"]] == ["a"]
        assert [one["name"] for one in event["outputs"]] == ["b"]
        assert event["producer"].startswith("https://github.com/apache/airflow")


@both
def test_facets_have_the_keys_of_the_provider(context):
    start, end = built_events(context())
    assert {"airflow", "nominalTime", "parent"} <= set(start["run"]["facets"])
    assert set(start["job"]["facets"]) == {"documentation", "jobType", "ownership", "tags"}
    assert set(end["run"]["facets"]) == set(start["run"]["facets"])
    for facet in (*start["run"]["facets"].values(), *start["job"]["facets"].values()):
        assert facet["_producer"].startswith("https://pypi.org/project/dh-bridge/")
        assert facet["_schemaURL"].startswith("https://openlineage.io/spec/")


@both
def test_parent_times_owners_tags_and_documentation_are_facets(context):
    start, _ = built_events(context())
    run, job = start["run"]["facets"], start["job"]["facets"]
    parent = dag_run_id(NAMESPACE, "shop", DAY, 0)
    assert run["parent"]["run"] == {"runId": parent}
    assert run["parent"]["job"] == {"namespace": NAMESPACE, "name": "shop"}
    assert run["parent"]["root"] == {"run": {"runId": parent}, "job": {"namespace": NAMESPACE, "name": "shop"}}
    assert run["nominalTime"]["nominalStartTime"] == DAY.isoformat()
    assert run["nominalTime"]["nominalEndTime"] == (DAY + timedelta(1)).isoformat()
    assert job["ownership"]["owners"] == [{"name": "alice"}, {"name": "data-team"}]
    assert [tag["key"] for tag in job["tags"]["tags"]] == ["shop", "tier:1"]
    assert job["documentation"]["description"] == "Orders into the warehouse"
    assert (job["jobType"]["jobType"], job["jobType"]["integration"]) == ("TASK", "AIRFLOW")


@both
def test_airflow_facet_has_dag_run_task_and_try(context):
    facet = built_events(context(try_number=2, dag_run={"conf": {"day": "monday"}}))[0]["run"]["facets"]["airflow"]
    assert facet["dag"]["dag_id"] == "shop"
    assert facet["dag"]["tags"] == ["shop", "tier:1"]
    assert facet["dag"]["timetable_summary"] == "@daily"
    assert facet["dagRun"]["run_id"] == "scheduled__2026-01-02"
    assert facet["dagRun"]["run_type"] == "scheduled"
    assert facet["dagRun"]["logical_date"] == DAY.isoformat()
    assert facet["dagRun"]["conf"] == {"day": "monday"}
    assert facet["task"]["operator_class"] == "PythonOperator"
    assert facet["task"]["operator_class_path"] == "support.airflow_contexts.PythonOperator"
    assert facet["task"]["upstream_task_ids"] == ["extract"]
    assert facet["task"]["retries"] == 2
    assert facet["taskInstance"]["try_number"] == 2
    assert facet["taskInstance"]["duration"] == 90
    assert facet["taskInstance"]["log_url"].startswith("http://airflow:8080/")
    assert facet["taskUuid"] == task_run_id(NAMESPACE, "shop", "load", DAY, try_number=2, map_index=-1)


@both
def test_failure_event_has_the_error_and_stack_trace(context):
    start, end = built_events(context(exception=raised(ConnectionError("the warehouse restarts"))), "failure")
    assert "errorMessage" not in start["run"]["facets"]
    facet = end["run"]["facets"]["errorMessage"]
    assert (end["eventType"], facet["message"], facet["programmingLanguage"]) == (
        "FAIL", "the warehouse restarts", "python",
    )  # fmt: skip
    assert facet["stackTrace"].startswith("Traceback")
    assert facet["stackTrace"].endswith("ConnectionError: the warehouse restarts\n")


@pytest.mark.parametrize(
    ("error", "message"), [("worker died", "worker died"), (KeyError(), "KeyError"), (ValueError("x"), "x")]
)
def test_error_without_a_trace_is_a_message(error, message):
    facet = built_events(airflow3(exception=error), "failure")[1]["run"]["facets"]["errorMessage"]
    assert facet["message"] == message
    assert "stackTrace" not in facet


@both
def test_mapped_task_has_a_run_for_each_index(context):
    found = [built_events(context(map_index=index))[0] for index in (0, 1)]
    assert len({event["run"]["runId"] for event in found}) == 2
    assert {event["job"]["name"] for event in found} == {"shop.load"}
    facets = found[1]["run"]["facets"]
    assert facets["airflow"]["taskInstance"]["map_index"] == 1
    assert facets["airflow_mappedTask"]["mapIndex"] == 1


@both
def test_execute_callback_sends_only_the_start(context):
    assert [event["eventType"] for event in built_events(context(end_date=None), "execute")] == ["START"]


class Loop:
    """Its name ends as those of Airflow's loops do, of the SDK and of what comes through the database."""

    parent_group = None


LoopTaskGroup = type("LoopTaskGroup", (Loop,), {})
SerializedLoopTaskGroup = type("SerializedLoopTaskGroup", (Loop,), {})
ID, REGION = uuid.UUID(int=7 << 76 | 1), uuid.UUID(int=7 << 76 | 2)


@pytest.mark.parametrize("kind", [LoopTaskGroup, SerializedLoopTaskGroup])
@pytest.mark.parametrize("deep", [False, True])
def test_each_pass_of_a_loop_has_runs_of_its_own(kind, deep):
    """Passes have DAG, task, try, date and index in common: Airflow 3.4 distinguishes them by its own ids alone."""
    loop = kind()
    inner = Thing(group_id="loop.in", parent_group=weakref.proxy(loop))  # groups know those above them by weak proxies
    context = airflow3(operator={"task_group": inner if deep else loop}, region_id=REGION, id=ID, map_index=-1)
    assert {one["run"]["runId"] for one in built_events(context)} == {str(ID)}
    assert run_names(read_context(context), NAMESPACE)[2] == str(ID)


@pytest.mark.parametrize("region", [REGION, uuid.UUID(int=0), None])
def test_mapped_task_outside_loops_keeps_the_run_id_of_its_index(region):
    found = built_events(airflow3(map_index=2, region_id=region, region_index=2, id=ID))
    assert found[0]["run"]["runId"] == task_run_id(NAMESPACE, "shop", "load", DAY, try_number=1, map_index=2)


def test_rescheduled_sensor_sends_no_second_start():
    assert built_events(airflow3(operator={"reschedule": True}, task_reschedule_count=2), "execute") == []
    assert built_events(airflow3(operator={"reschedule": True}, task_reschedule_count=0), "execute") != []


def test_task_that_skipped_itself_is_aborted():
    assert built_events(airflow3(), "skipped")[1]["eventType"] == "ABORT"


def test_skipped_task_with_two_callbacks_sends_its_end_once():
    skipped = {"on_skipped_callback": [print, emit_on_skipped]}
    assert built_events(airflow2(state="skipped", operator=skipped)) == []
    assert (
        built_events(airflow2(state="skipped", operator={"on_skipped_callback": emit_on_skipped(to="memory:")})) == []
    )
    for callbacks in (None, [], print):
        found = built_events(airflow2(state="skipped", operator={"on_skipped_callback": callbacks}))
        assert found[1]["eventType"] == "ABORT"


def test_task_with_a_dead_worker_fails_with_known_times():
    context = airflow3(start_date=None, end_date=None, state=None)
    assert [event["eventType"] for event in built_events(context, "failure")] == ["FAIL"]
    context["ti"]._ti_context_from_server = Thing(start_date=BEGIN)
    assert built_events(context, "failure")[0]["eventTime"] == BEGIN.isoformat()


def test_run_without_a_logical_date_goes_by_when_it_may_run():
    context = airflow3(dag_run={"logical_date": None, "data_interval_start": None, "data_interval_end": None})
    start = built_events(context)[0]
    assert start["run"]["runId"] == task_run_id(
        NAMESPACE, "shop", "load", DAY + timedelta(1), try_number=1, map_index=-1
    )
    assert "nominalTime" not in start["run"]["facets"]


def test_callback_context_without_a_dag_run_is_an_error():
    with pytest.raises(EventError, match=r"^manual__1: the callback context has no DAG run"):
        read_context({"dag": None, "run_id": "manual__1", "reason": "success"})


@both
def test_dag_events_have_the_task_graph_and_the_run_state(context):
    tasks = [
        PythonOperator(task_id="extract", downstream_task_ids={"load"}),
        PythonOperator(task_id="load", downstream_task_ids=set()),
    ]
    start, end = built_events(
        context(reason="task_failure", dag={"tasks": tasks}, dag_run={"end_date": END}), "failure"
    )
    assert (start["job"]["name"], start["run"]["runId"]) == ("shop", dag_run_id(NAMESPACE, "shop", DAY, 0))
    assert start["eventTime"] == (BEGIN - timedelta(minutes=1)).isoformat()
    assert (end["eventType"], end["eventTime"]) == ("FAIL", END.isoformat())
    assert end["run"]["facets"]["airflowState"]["dagRunState"] == "failed"
    assert end["run"]["facets"]["errorMessage"]["message"] == "task_failure"
    assert end["run"]["facets"]["airflowDagRun"]["dagRun"]["duration"] == 150
    graph = start["job"]["facets"]["airflow"]["tasks"]
    assert {task: stated["downstream_task_ids"] for task, stated in graph.items()} == {"extract": ["load"], "load": []}
    assert "airflow" not in end["job"]["facets"]
    assert (start["inputs"], start["outputs"]) == ([], [])
    assert "parent" not in start["run"]["facets"]


FOREIGN = "01941f29-7c00-7000-8000-000000000001"
CONF = {"openlineage": {"parentRunId": FOREIGN, "parentJobNamespace": "outer", "parentJobName": "night # 1"}}


def test_dag_run_has_the_parent_that_its_trigger_named():
    facet = built_events(airflow3(reason="success", dag_run={"conf": CONF}))[0]["run"]["facets"]["parent"]
    assert facet["run"] == {"runId": FOREIGN}
    assert facet["root"]["job"] == {"namespace": "outer", "name": "night # 1"}


def test_task_parent_is_its_dag_run_and_its_root_is_the_triggers():
    conf = {"openlineage": {**CONF["openlineage"], "rootParentRunId": FOREIGN.replace("1", "2"),
                            "rootParentJobNamespace": "top", "rootParentJobName": "all"}}  # fmt: skip
    facet = built_events(airflow3(dag_run={"conf": conf}))[0]["run"]["facets"]["parent"]
    assert facet["job"]["name"] == "shop"
    assert facet["root"]["job"] == {"namespace": "top", "name": "all"}


@pytest.mark.parametrize(
    "conf",
    [
        {"openlineage": {"parentRunId": FOREIGN}},
        {"openlineage": {**CONF["openlineage"], "parentRunId": "42"}},
        {"openlineage": "x"},
        "x",
    ],
)
def test_half_a_parent_is_none(conf):
    assert "parent" not in built_events(airflow3(reason="success", dag_run={"conf": conf}))[0]["run"]["facets"]


def test_task_with_the_default_owner_has_the_owners_of_its_dag():
    owners = built_events(airflow3(operator={"owner": "airflow"}, dag={"owner": "ann, bob"}))[0]["job"]["facets"][
        "ownership"
    ]["owners"]
    assert owners == [{"name": "ann"}, {"name": "bob"}]


def test_documentation_of_a_task_comes_before_that_of_its_dag():
    facet = built_events(airflow3(operator={"doc_md": "# Load"}, dag={"doc_md": "# Shop"}))[0]["job"]["facets"][
        "documentation"
    ]
    assert (facet["description"], facet["contentType"]) == ("# Load", "text/markdown")


@both
def test_entities_are_those_of_the_provider(context):
    proposals = aspects(built_events(context(operator={"inlets": ["s3://lake/a"], "outlets": ["s3://lake/b"]})))
    run = f"urn:li:dataProcessInstance:{task_run_id(NAMESPACE, 'shop', 'load', DAY, try_number=1, map_index=-1)}"
    job = f"urn:li:dataJob:({FLOW},shop.load)"
    relations = aspect(proposals, run, "dataProcessInstanceRelationships")
    assert relations["parentInstance"] == f"urn:li:dataProcessInstance:{dag_run_id(NAMESPACE, 'shop', DAY, 0)}"
    assert relations["parentTemplate"] == job
    assert aspect(proposals, run, "dataProcessInstanceProperties")["type"] == "BATCH_SCHEDULED"
    assert {one.entity_urn for one in proposals if one.entity_type == "dataset"} == {
        "urn:li:dataset:(urn:li:dataPlatform:s3,lake/a,PROD)",
        "urn:li:dataset:(urn:li:dataPlatform:s3,lake/b,PROD)",
    }
    assert any(one.entity_urn == FLOW and one.aspect_name == "globalTags" for one in proposals)


@both
def test_run_names_equal_those_of_the_events(context):
    made = context(map_index=3, try_number=2)
    start, _ = built_events(made)
    assert run_names(read_context(made), NAMESPACE) == (NAMESPACE, "shop.load", start["run"]["runId"])


def test_values_of_any_kind_become_json():
    class Odd:
        def __str__(self):
            return "odd"

    deep = {"a": {"b": {"c": {"d": {"e": {"f": 1}}}}}}
    conf = {
        "odd": Odd(),
        "when": DAY,
        "for": timedelta(seconds=3),
        "set": {2, 1},
        "none": None,
        "deep": deep,
        3: (1, 2),
    }
    stated = built_events(airflow2(dag_run={"conf": conf}))[0]["run"]["facets"]["airflow"]["dagRun"]["conf"]
    assert stated == {
        "odd": "odd", "when": DAY.isoformat(), "for": "3.0 seconds", "set": [1, 2], "none": None, "3": [1, 2],
        "deep": {"a": {"b": {"c": {"d": "{'e': {'f': 1}}"}}}},
    }  # fmt: skip


def test_airflow_facet_has_task_group_and_inlet_assets():
    asset = Thing(uri="s3://lake/a", extra={"owner": "ann"})
    operator = {"task_group": Thing(group_id="etl.inner"), "inlets": [asset, "s3://lake/b"], "outlets": ["s3://lake/c"]}
    task = built_events(airflow3(operator=operator))[0]["run"]["facets"]["airflow"]["task"]
    assert task["task_group"] == {"group_id": "etl.inner"}
    assert task["inlets"] == [{"uri": "s3://lake/a", "extra": {"owner": "ann"}}]
    assert "outlets" not in task


def test_missing_airflow_attributes_are_no_facets():
    silent = {"owner": None, "tags": None, "description": None}
    start = built_events(airflow3(dag=silent, operator={"owner": None}))[0]
    assert set(start["job"]["facets"]) == {"jobType"}
    assert "processing_engine" not in start["run"]["facets"]


def test_dag_without_a_schedule_has_no_timetable():
    context = airflow3()
    context["dag"].schedule = None
    assert "timetable_summary" not in built_events(context)[0]["run"]["facets"]["airflow"]["dag"]


def test_airflow_version_is_in_the_engine_facet_and_the_producer(monkeypatch):
    package = ModuleType("airflow")
    package.__version__ = "3.3.2"
    monkeypatch.setitem(sys.modules, "airflow", package)
    start = built_events(airflow3())[0]
    assert start["producer"] == "https://github.com/apache/airflow/tree/3.3.2"
    facet = start["run"]["facets"]["processing_engine"]
    assert (facet["name"], facet["version"]) == ("Airflow", "3.3.2")
    assert facet["openlineageAdapterVersion"].startswith("dh-bridge/")
