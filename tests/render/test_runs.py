"""dataProcessInstance: what a run's aspects hold, field by field."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import yaml
from support.facet_cases import (
    AIRFLOW,
    DATAHUB,
    DPI,
    END,
    END_MS,
    FLOW,
    JOB,
    NAME,
    ORDERS,
    OWN,
    PARENT,
    PARENT_DPI,
    RUN,
    START,
    START_MS,
    TOTALS,
    TWIN,
    dataset_event,
    event,
    facet,
    job_event,
    orders,
    pair,
    totals,
    translate_events,
)

VECTORS = yaml.safe_load(
    (Path(__file__).parents[1] / "identity" / "identity_vectors.yaml").read_text(encoding="utf-8")
)["attempt_vectors"]


def points(found, urn=DPI):
    return found.all(urn, "dataProcessInstanceRunEvent")


def properties(found):
    return found.one(DPI, "dataProcessInstanceProperties")


def spark(**leaves):
    return {"spark_applicationDetails": facet(**leaves)}


def airflow(**instance):
    return {"airflow": facet(dagRun={"run_id": "manual__1"}, taskInstance=instance)}


# -- which aspects ---------------------------------------------------------------------------------------------------


def test_run_has_five_aspects_and_two_more_on_new_servers():
    def names(profile):
        events = pair(inputs=[orders()], outputs=[totals()], job={"jobType": facet(jobType="TASK")})
        found = translate_events(events, datahub_version=profile)
        return [one.aspect_name for one in found.proposals if one.entity_urn == DPI]

    five = ["Properties", "Relationships", "Input", "Output", "RunEvent", "RunEvent"]
    assert names("0.15.0") == [f"dataProcessInstance{name}" for name in five]
    assert set(names("1.7")) - set(names("0.15.0")) == {"dataPlatformInstance", "subTypes"}


def test_run_never_has_unsupported_aspects():
    found = translate_events(
        pair(run={"tags": facet(tags=[{"key": "a"}])}, job={"ownership": facet(owners=[{"name": "ann"}])}),
        datahub_version="1.7",
    )
    assert not {"ownership", "globalTags", "domains", "status", "incidents"} & {
        one.aspect_name for one in found.proposals if one.entity_urn == DPI
    }


def test_without_the_start_an_event_adds_and_never_overwrites():
    """A call that knows less must not replace what another call wrote."""
    for kind in ("RUNNING", "COMPLETE", "FAIL", "OTHER"):
        found = translate_events(event(kind, inputs=[orders()], outputs=[totals()]))
        changes = {one.aspect_name: one.change_type for one in found.proposals if one.entity_urn == DPI}
        assert changes["dataProcessInstanceProperties"] == "CREATE"
        assert changes["dataProcessInstanceRelationships"] == "CREATE"
        assert found.one(DPI, "dataProcessInstanceInput") == {"inputs": [ORDERS]}
        assert found.has(JOB, "dataJobInputOutput")


def test_job_or_dataset_event_has_no_run():
    assert translate_events(job_event(outputs=[totals()])).entities("dataProcessInstance") == set()
    assert translate_events(dataset_event(totals())).entities("dataProcessInstance") == set()


def test_no_empty_input_or_output_is_written():
    found = translate_events(pair(inputs=[], outputs=None))
    assert not found.has(DPI, "dataProcessInstanceInput")
    assert not found.has(DPI, "dataProcessInstanceOutput")


def test_proposals_are_ordered_by_their_dependencies():
    found = translate_events(pair(outputs=[totals()], job={"tags": facet(tags=[{"key": "a"}])}))
    kinds = list(dict.fromkeys(one.entity_type for one in found.proposals))
    assert kinds == ["dataPlatform", "tag", "dataFlow", "dataJob", "dataset", "dataProcessInstance"]
    assert found.proposals[-1].aspect_name == "operation"


# -- properties ------------------------------------------------------------------------------------------------------


def test_properties_of_a_run():
    found = translate_events(pair(inputs=[orders()]))
    assert properties(found)["name"] == RUN
    assert properties(found)["created"] == {"time": START_MS, "actor": DATAHUB}
    assert found.properties(DPI) == {
        "runId": RUN,
        "producer": OWN,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "eventType": "COMPLETE",
        "startTime": START,
        "endTime": END,
        "durationMillis": "30000",
        "orchestrator": "openlineage",
        "runIdTime": "2024-12-03T03:41:39.712Z",
    }


def test_run_that_goes_on_has_no_end():
    run_properties = translate_events(event("START")).properties(DPI)
    assert run_properties["eventType"] == "START"
    assert not {"endTime", "durationMillis", "attempt"} & run_properties.keys()


@pytest.mark.parametrize("run_id", ["build-42", "7" * 36, "01938a9c-0000-4000-8000-000000000001"])
def test_only_a_uuid_version_7_run_id_has_a_time(run_id):
    found = translate_events(event("START", run_id=run_id))
    (urn,) = found.entities("dataProcessInstance")
    assert found.properties(urn)["runId"] == run_id
    assert ("runIdTime" in found.properties(urn)) is False


def test_fractions_of_seconds_are_kept():
    run_properties = translate_events(event("START", time="2026-11-20T01:00:00.120500Z"), event()).properties(DPI)
    assert run_properties["startTime"] == "2026-11-20T01:00:00.1205Z"
    assert run_properties["durationMillis"] == "29879"


def test_later_producer_and_schema_win_in_any_order():
    events = [event("START", producer="https://a"), event("COMPLETE", producer="https://b")]
    assert (
        translate_events(events).properties(DPI)["producer"]
        == translate_events(events[::-1]).properties(DPI)["producer"]
        == "https://b"
    )


NAMES = [
    ("airflow", {"airflowDagRun": facet(dagRun={"run_id": "dag-run"})}, "dag-run"),
    ("spark", spark(applicationId="app-1"), "app-1"),
    ("flink", {"flink_job": facet(jobId="flink-1")}, "flink-1"),
    ("dbt", {"dbt_run": facet(invocation_id="dbt-1")}, "dbt-1"),
    ("hive", {"hive_query": facet(queryId="hive-1")}, "hive-1"),
]


@pytest.mark.parametrize("upper", range(len(NAMES)))
@pytest.mark.parametrize("lower", range(len(NAMES)))
def test_run_name_precedence_ignores_event_order(upper, lower):
    if upper < lower:
        _, first, name = NAMES[upper]
        for runs in ((first, NAMES[lower][1]), (NAMES[lower][1], first)):
            events = [event("START", run=runs[0], name="daily"), event(run=runs[1], name="daily")]
            assert properties(translate_events(events))["name"] == name


URLS = [
    ("log", airflow(log_url="https://log"), "https://log"),
    ("history", spark(historyUrl="https://history"), "https://history"),
    ("proxy", spark(proxyUrl="https://proxy"), "https://proxy"),
    ("ui", spark(uiWebUrl="https://ui"), "https://ui"),
]


@pytest.mark.parametrize("rung", range(len(URLS) - 1))
def test_run_url_precedence(rung):
    (_, upper, url), (_, lower, _) = URLS[rung], URLS[rung + 1]
    for first, last in ((upper, lower), (lower, upper)):
        merged = {**first, **last} if set(first) != set(last) else None
        events = [event("START", run=merged or first), event(run=merged or last)]
        found = translate_events(events)
        assert properties(found)["externalUrl"] == url
        assert {point["externalUrl"] for point in points(found)} == {url}


def test_run_user_precedence():
    hive, databricks = (
        {"hive_session": facet(username="hive-ann")},
        {"environment-properties": facet(user="databricks-ann")},
    )
    for last, name in ((spark(userName="spark-ann"), "spark-ann"), ({}, "hive-ann")):
        found = translate_events(event("START", run={**hive, **databricks}), event(run=last))
        assert properties(found)["created"]["actor"] == f"urn:li:corpuser:{name}"
        assert found.properties(DPI)["user"] == name


def test_actor_is_datahub_if_the_event_names_no_user():
    found = translate_events(pair(outputs=[totals()]))
    assert properties(found)["created"]["actor"] == "urn:li:corpuser:datahub"
    assert found.one(TOTALS, "operation")["actor"] == "urn:li:corpuser:datahub"


def test_prefix_of_properties_is_a_setting_everywhere():
    found = translate_events(
        pair(inputs=[orders(inputFacets={"inputStatistics": facet(rowCount=1)})], outputs=[totals()]),
        properties={"prefix": "ol"},
    )
    for one in found.proposals:
        assert "openlineage." not in str(one.value).replace("https://openlineage.io", ""), one


TYPES = [
    ({"processingType": "STREAMING"}, "manual", True, "STREAMING"),
    ({}, "manual", True, "BATCH_AD_HOC"),
    ({}, "scheduled", False, "BATCH_SCHEDULED"),
    ({}, None, True, "BATCH_SCHEDULED"),
    ({"jobType": "QUERY", "integration": "TRINO"}, None, True, "BATCH_SCHEDULED"),
    ({"jobType": "QUERY", "integration": "TRINO"}, None, False, "BATCH_AD_HOC"),
    ({}, None, False, None),
]


@pytest.mark.parametrize(("job_type", "run_type", "nominal", "kind"), TYPES)
def test_first_rule_that_matches_is_the_type(job_type, run_type, nominal, kind):
    run = {"airflow": facet(dagRun={"run_type": run_type})} if run_type else {}
    if nominal:
        run["nominalTime"] = facet(nominalStartTime="2026-11-20T00:00:00Z")
    found = translate_events(pair(run=run, job={"jobType": facet(**job_type)} if job_type else {}))
    assert properties(found).get("type") == kind


def test_run_statistics_are_summed_over_datasets_not_events():
    def read(rows, size):
        return orders(inputFacets={"inputStatistics": facet(rowCount=rows, size=size)})

    more = {**read(5, 50), "name": "shop.public.more"}
    found = translate_events(event("START", inputs=[read(1, 10)]), event(inputs=[read(3, 30), more]))
    run_properties = found.properties(DPI)
    assert (run_properties["inputs.rowCount"], run_properties["inputs.size"]) == ("8", "80")
    assert "inputs.fileCount" not in run_properties
    assert "outputs.statistics" not in run_properties


def test_long_run_statistics_are_capped_and_summed_in_full():
    many = [
        {**totals(outputFacets={"outputStatistics": facet(rowCount=2)}), "name": f"shop.public.t{at}"}
        for at in range(99)
    ]
    run_properties = translate_events(pair(outputs=many)).properties(DPI)
    assert len(run_properties["outputs.statistics"]) == 4000
    assert run_properties["outputs.rowCount"] == "198"


def test_name_is_no_longer_than_any_other_text():
    run = {"dataRentgen_run": facet(external_id="x" * 9000)}
    assert len(properties(translate_events(pair(run=run)))["name"]) == 4000


# -- relationships ---------------------------------------------------------------------------------------------------


def relationships(found):
    return found.one(DPI, "dataProcessInstanceRelationships")


def test_run_template_is_the_job_the_flow_or_the_flow_job():
    assert relationships(translate_events(pair())) == {"parentTemplate": JOB, "upstreamInstances": []}
    assert relationships(translate_events(pair(name="daily"))) == {"parentTemplate": FLOW, "upstreamInstances": []}
    assert relationships(translate_events(pair(name="daily", outputs=[totals()])))["parentTemplate"] == TWIN


def test_outputs_of_another_job_of_the_run_make_no_flow_job():
    """Those of this run's events that belong to that job."""
    found = translate_events(
        event("START", name="daily"), event("RUNNING", name=NAME, outputs=[totals()]), event(name="daily")
    )
    assert relationships(found)["parentTemplate"] == FLOW
    assert not found.has(TWIN, "dataJobInfo")


def test_placeholder_that_names_nothing_writes_no_relationships():
    """An aspect that says only that there is nothing upstream would erase what another call wrote."""
    found = translate_events(pair(name="unknown", outputs=[totals()]))
    assert not found.has(DPI, "dataProcessInstanceRelationships")
    assert found.one(DPI, "dataProcessInstanceOutput") == {"outputs": [TOTALS]}
    assert found.entities("dataJob") == found.entities("dataFlow") == set()
    parent = {"parent": facet(run={"runId": PARENT}, job={"namespace": "shop", "name": "x"})}
    assert relationships(translate_events(pair(name="unknown", run=parent))) == {
        "parentInstance": PARENT_DPI,
        "upstreamInstances": [],
    }


@pytest.mark.parametrize("reverse", [False, True])
def test_placeholder_facets_belong_to_the_named_job(reverse):
    """Spark's START may carry the name ``unknown``."""
    events = [
        event("START", name="unknown", inputs=[orders()], job={"sql": facet(query="select 1")}),
        event("COMPLETE", name="daily", outputs=[totals()]),
    ]
    found = translate_events(events[::-1] if reverse else events)
    assert set(found.patched(TWIN, "dataJobInputOutput")) == {
        f"/inputDatasetEdges/{ORDERS}",
        f"/outputDatasetEdges/{TOTALS}",
    }
    assert relationships(found)["parentTemplate"] == TWIN
    assert found.properties(FLOW)["sql.query"] == "select 1"


def test_flow_job_exists_for_inputs_of_a_placeholder():
    found = translate_events(event("START", name="unknown", inputs=[orders()]), event(name="daily"))
    assert relationships(found)["parentTemplate"] == TWIN
    assert found.patched(TWIN, "dataJobInfo")["/flowUrn"] == FLOW
    assert found.has(TWIN, "dataJobInputOutput")


# -- run events ------------------------------------------------------------------------------------------------------


def test_start_and_end_are_points_of_their_own_time():
    start, end = points(translate_events(pair()))
    assert start == {
        "timestampMillis": START_MS,
        "partitionSpec": {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"},
        "messageId": start["messageId"],
        "status": "STARTED",
        "attempt": 1,
    }
    assert end == {
        "timestampMillis": END_MS,
        "partitionSpec": {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"},
        "messageId": end["messageId"],
        "status": "COMPLETE",
        "attempt": 1,
        "result": {"type": "SUCCESS", "nativeResultType": "openlineage"},
        "durationMillis": 30000,
    }


def test_run_event_id_ignores_the_result():
    complete, fail = points(translate_events(pair()))[-1], points(translate_events(event("START"), event("FAIL")))[-1]
    assert complete["messageId"] == fail["messageId"]
    assert complete["messageId"] != points(translate_events(pair()))[0]["messageId"]
    other = translate_events(pair(run_id=PARENT))
    assert points(other, PARENT_DPI)[-1]["messageId"] != complete["messageId"]


@pytest.mark.parametrize(
    ("kind", "result"),
    [("COMPLETE", "SUCCESS"), ("FAIL", "FAILURE"), ("ABORT", "SKIPPED"), ("complete", "SUCCESS")],
)
def test_result_of_a_terminal_event(kind, result):
    last = points(translate_events(event("START", producer=AIRFLOW), event(kind, producer=AIRFLOW)))[-1]
    assert last["result"] == {"type": result, "nativeResultType": "airflow"}


RETRY = {"type": "UP_FOR_RETRY", "nativeResultType": "airflow"}
FAILED = {"type": "FAILURE", "nativeResultType": "airflow"}


@pytest.mark.parametrize(
    ("tries", "retries", "asked", "expected"),
    [
        (1, 2, True, RETRY), (2, 2, True, RETRY), (3, 2, True, FAILED), (1, 0, True, FAILED), (1, 2, False, FAILED),
        (1, None, True, FAILED), (None, 2, True, FAILED), ("1", "2", True, RETRY), (True, 2, True, FAILED), (0, 2, True, FAILED),
    ],
)  # fmt: skip
def test_failed_airflow_try_is_up_for_retry_while_tries_are_left(tries, retries, asked, expected):
    run = {"airflow": facet(task={"retries": retries}, taskInstance={"try_number": tries})}
    found = translate_events(event("FAIL", run=run, producer=AIRFLOW), runs={"up_for_retry": asked})
    assert points(found)[-1]["result"] == expected


def test_try_that_did_not_fail_is_not_up_for_retry():
    run = {"airflow": facet(task={"retries": 2}, taskInstance={"try_number": 1})}
    kinds = [
        points(translate_events(event(kind, run=run, producer=AIRFLOW), runs={"up_for_retry": True}))[-1]["result"][
            "type"
        ]
        for kind in ("COMPLETE", "ABORT")
    ]
    assert kinds == ["SUCCESS", "SKIPPED"]


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
@pytest.mark.parametrize(
    ("facets", "word"),
    [
        ({"dataRentgen_run": facet(start_reason="MANUAL")}, "MANUAL"),
        ({"airflow": facet(dagRun={"run_id": "x", "run_type": "backfill"})}, "backfill"),
        (
            {
                "airflow": facet(dagRun={"run_id": "x", "run_type": "backfill"}),
                "dataRentgen_run": facet(start_reason="AUTOMATIC"),
            },
            "AUTOMATIC",
        ),
        ({}, None),
    ],
)
def test_run_trigger_reason_is_the_creation_message(facets, word, profile):
    found = translate_events(pair(run=facets, producer=AIRFLOW), datahub_version=profile)
    assert properties(found)["created"].get("message") == word


def test_abort_is_a_failure_by_setting():
    last = points(translate_events(event("START"), event("ABORT"), runs={"abort": "failure"}))[-1]
    assert last["result"]["type"] == "FAILURE"


@pytest.mark.parametrize("kind", ["RUNNING", "OTHER", None, "SOMETHING"])
def test_other_events_are_no_points(kind):
    assert points(translate_events(event(kind))) == []


def at(seconds):
    return (datetime(2026, 11, 20, 1, tzinfo=timezone.utc) + timedelta(seconds=seconds)).isoformat()


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["id"])
@pytest.mark.parametrize("turn", [1, -1])
def test_run_attempts_and_results_match_the_vectors(vector, turn):
    job = {"jobType": facet(processingType=vector["processingType"])} if "processingType" in vector else {}
    events = [event(one["type"], time=at(one["time"]), job=job) for one in vector["events"]][::turn]
    found = [
        {
            "time": (point["timestampMillis"] - START_MS) // 1000,
            "status": point["status"],
            "result": point.get("result", {}).get("type"),
            "attempt": point["attempt"],
        }
        for point in points(translate_events(events))
    ]
    assert found == vector["expect"]


def test_start_and_end_in_one_millisecond_are_one_ended_point():
    (point,) = points(translate_events(event("START", time=END), event(time=END)))
    assert (point["status"], point["durationMillis"]) == ("COMPLETE", 0)
    skipped = points(translate_events(event("START", time=END), event("ABORT", time=END)))
    assert [one["result"]["type"] for one in skipped] == ["SKIPPED"]


def test_end_before_the_start_has_no_duration():
    found = translate_events(event("START", time="2026-11-20T01:05:00Z"), event(time=END))
    assert all("durationMillis" not in point for point in points(found))
    assert "durationMillis" not in found.properties(DPI)


@pytest.mark.parametrize(
    ("heartbeat", "expected"),
    [("hour", ["01:00", "02:00", "03:00"]), ("day", ["00:00", "01:00"]), ("off", ["01:00"])],
)
def test_stream_s_running_events_beat_by_setting(heartbeat, expected):
    job = {"jobType": facet(processingType="STREAMING")}
    times = ["2026-11-20T02:10:00Z", "2026-11-20T02:50:00Z", "2026-11-20T03:00:00Z"]
    events = [event("START", job=job), *(event("RUNNING", time=time, job=job) for time in times)]
    found = translate_events(events, runs={"heartbeat": heartbeat})
    midnight = START_MS - 3_600_000
    at = [f"{(point['timestampMillis'] - midnight) // 3_600_000:02}:00" for point in points(found)]
    assert at == expected
    assert {point["status"] for point in points(found)} == {"STARTED"}


def test_try_number_is_the_attempt_of_every_point():
    found = translate_events(pair(run=airflow(try_number=3), producer=AIRFLOW))
    assert {point["attempt"] for point in points(found)} == {3}
    assert found.properties(DPI)["attempt"] == "3"


def test_second_attempt_of_one_run_id_is_counted():
    found = translate_events(
        event("START"), event("FAIL"), event("START", time="2026-11-20T02:00:00Z"), event(time="2026-11-20T02:00:05Z")
    )
    assert [point["attempt"] for point in points(found)] == [1, 1, 2, 2]
    assert [point.get("durationMillis") for point in points(found)] == [None, 30000, None, 5000]
    run_properties = found.properties(DPI)
    assert (run_properties["attempt"], run_properties["eventType"], run_properties["durationMillis"]) == (
        "2",
        "COMPLETE",
        "5000",
    )
    assert properties(found)["created"]["time"] == START_MS


# -- platform and subtypes -------------------------------------------------------------------------------------------


def test_platform_instance_of_a_rule_is_on_flow_job_and_run():
    rules = {"rules": [{"namespace": "shop", "instance": "eu"}]}
    found = translate_events(pair(producer=AIRFLOW), identity=rules, datahub_version="1.7")
    instances = [one.value for one in found.proposals if one.aspect_name == "dataPlatformInstance"]
    assert len(instances) == 3
    assert {str(one) for one in instances} == {
        str(
            {
                "platform": "urn:li:dataPlatform:airflow",
                "instance": "urn:li:dataPlatformInstance:(urn:li:dataPlatform:airflow,eu)",
            }
        )
    }


def test_run_of_a_placeholder_has_the_platform_of_what_ran_it():
    """The platform comes of the producer, whatever the job is called."""
    found = translate_events(pair(name="unknown", producer=AIRFLOW), datahub_version="1.7")
    assert found.one(DPI, "dataPlatformInstance") == {"platform": "urn:li:dataPlatform:airflow"}
    assert found.one(DPI, "dataProcessInstanceProperties")["customProperties"]["openlineage.orchestrator"] == "airflow"
    events = [one.value for one in found.proposals if one.aspect_name == "dataProcessInstanceRunEvent"]
    assert [one["result"]["nativeResultType"] for one in events if "result" in one] == ["airflow"]
