"""Small inputs whose jobs, runs or times once went wrong (``job_cases/``), alone, in any order and in batches."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from support.ledger_batches import catalogue, settings

from dh_bridge import Bridge, Settings

CASES = Path(__file__).with_name("job_cases")
SEED = 2026


def events_of(case):
    (file,) = CASES.glob(f"{case}.*")
    text = file.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if file.suffix == ".ndjson" else [json.loads(text)]


def translated(events, **chosen):
    return Bridge(Settings(datahub_version="1.7", **chosen)).translate([json.dumps(one).encode() for one in events])


def urns(proposals, entity_type):
    return {one.entity_urn for one in proposals if one.entity_type == entity_type}


def values(proposals, aspect):
    return [one.value for one in proposals if one.aspect_name == aspect]


def strays(events, **chosen):
    """Return the ways to send events to a ledger, in other orders and batches, that give another catalogue."""
    chance = random.Random(SEED)  # noqa: S311 - reproducible, not secret
    options = Settings(datahub_version="1.7", **chosen)
    whole = catalogue(events, chosen=options)
    ways = [[[one] for one in events], [[one] for one in reversed(events)]]
    for _ in range(4):
        shuffled = [*events, *events[:2]]
        chance.shuffle(shuffled)
        cut = chance.randint(0, len(shuffled))
        ways += [[[one] for one in shuffled], [shuffled[:cut], shuffled[cut:]], [shuffled]]
    return [way for way in ways if catalogue(*way, chosen=options) != whole]


# -- names that change with every run ----------------------------------------------------------------------------------

FLOWS = {
    "09-glue-raw-appname": ("sales_daily", "glue"),
    "50-apps-glue": ("sales_daily", "nsglue"),
    "50-apps-livy": ("livy-session", "nslivy"),
    "50-apps-run": ("Databricks Shell", "nsrun"),
    "50-apps-uuidmid": ("orders-load", "nsuuidmid"),
}


@pytest.mark.parametrize("case", FLOWS)
def test_all_runs_of_an_application_are_of_one_flow_and_one_job(case):
    flow, namespace = FLOWS[case]
    proposals = translated(events_of(case)).proposals
    flow_urn = f"urn:li:dataFlow:(spark,{flow},{namespace})"
    assert urns(proposals, "dataFlow") == {flow_urn}
    job = f"urn:li:dataJob:({flow_urn},{flow}.execute_insert_into_hadoop_fs_relation_command)"
    assert urns(proposals, "dataJob") == {job}
    assert len(urns(proposals, "dataProcessInstance")) == 4
    assert strays(events_of(case)) == []


def test_whole_name_is_kept_on_the_run_and_the_job_does_not_change_with_it():
    events = events_of("50-apps-uuidmid")
    proposals = translated(events).proposals
    names = {
        value["customProperties"]["openlineage.job.name"]
        for value in values(proposals, "dataProcessInstanceProperties")
    }
    assert names == {one["job"]["name"] for one in events}
    assert len({str(value) for value in values(proposals, "dataJobInfo")}) == 1
    assert "c6ff8af5" not in str(values(proposals, "dataJobInfo"))


# -- times -------------------------------------------------------------------------------------------------------------


def timed(kind, time, **parts):
    producer = parts.pop("producer", "https://github.com/apache/airflow/tree/providers-openlineage/2.18.1")
    return {
        "eventType": kind, "eventTime": time, "producer": producer,
        "run": {"runId": "92a22353-e89d-5247-8838-d65b1a5e69a1"}, "job": {"namespace": "prod", "name": "d.t"}, **parts,
    }  # fmt: skip


def timeline(proposals):
    points = values(proposals, "dataProcessInstanceRunEvent")
    return [
        (point["status"], point.get("result", {}).get("type"), point.get("durationMillis"), point.get("attempt"))
        for point in sorted(points, key=lambda point: point["timestampMillis"])
    ]


def test_offset_and_a_z_is_utc_with_a_finding():
    translation = translated(events_of("08_time_offset_and_z"))
    assert (translation.dead, translation.counts.notes) == ([], {"two-zones": 1})
    (point,) = values(translation.proposals, "dataProcessInstanceRunEvent")
    assert point["timestampMillis"] == 1771788621010


RUN_OF_30_SECONDS = [("STARTED", None, None, 1), ("COMPLETE", "FAILURE", 30500, 1)]
ZONES = {
    "a clock in the west": events_of("17b-naive-fail-west"),
    "the offset of the START": [timed("START", "2026-11-06T10:00:00+02:00"), timed("FAIL", "2026-11-06T10:00:30.5")],
    "the offset of the end": [timed("START", "2026-11-06T10:00:00"), timed("FAIL", "2026-11-06T10:00:30.5-05:00")],
    "a START on a clock in the east": [timed("START", "2026-11-06T15:00:00"), timed("FAIL", "2026-11-06T10:00:30.5Z")],
    "an event between": [
        timed("START", "2026-11-06T10:00:00+02:00"), timed("RUNNING", "2026-11-06T10:00:10"), timed("FAIL", "2026-11-06T10:00:30.5"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("case", ZONES)
def test_time_without_a_zone_is_read_in_the_zone_of_the_run(case):
    events = ZONES[case]
    for order in (events, events[::-1], [*events, *events]):
        translation = translated(order)
        assert timeline(translation.proposals) == RUN_OF_30_SECONDS
        assert translation.counts.notes["zone-of-run"] == len({str(one) for one in events}) - 1
    assert strays(events) == []


def test_run_of_which_no_time_has_a_zone_is_read_in_utc():
    events = [timed("START", "2026-11-06T10:00:00"), timed("FAIL", "2026-11-06T10:00:30.5")]
    translation = translated(events)
    assert timeline(translation.proposals) == RUN_OF_30_SECONDS
    assert translation.counts.notes == {"zone-less": 2}
    assert strays(events) == []


def test_zone_that_was_set_is_known_better():
    events = [timed("START", "2026-11-06T10:00:00+00:00"), timed("FAIL", "2026-11-06T11:00:30.5")]
    assert timeline(translated(events, event_time={"default_zone": "Europe/Berlin"}).proposals) == RUN_OF_30_SECONDS


def test_end_without_a_zone_of_an_unknown_producer_is_written_at_once():
    event = timed("COMPLETE", "2026-11-06T10:00:00", producer="https://example.com/etl")
    (status,) = {status for status, *_ in timeline(translated([event]).proposals)}
    assert status == "COMPLETE"
    assert b'"dataProcessInstanceRunEvent"' in b"".join(catalogue([event], chosen=settings(datahub_version="1.7")))


# -- rules by orchestrator ---------------------------------------------------------------------------------------------

TEAMS = r"airflow-(?P<team>\w+)-(?P<stage>prod|stg)"


def dataset(platform, name, env="PROD"):
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},{env})"


def test_groups_of_a_namespace_fill_all_fields_of_a_rule():
    rule = {
        "namespace": TEAMS, "platform": "airflow", "instance": "{team}", "cluster": "{stage}", "env": "{stage}",
        "domain": "urn:li:domain:{team}", "flow": "{team}_{stage}", "datasets": {"instance": "db_{team}"},
    }  # fmt: skip
    events = events_of("28-airflow-teams")
    proposals = translated(events, identity={"rules": [rule]}).proposals
    teams = [(team, stage) for team in ("marketing", "product") for stage in ("prod", "stg")]
    assert urns(proposals, "dataFlow") == {
        f"urn:li:dataFlow:(airflow,{team}.{team}_{stage},{stage})" for team, stage in teams
    }
    assert urns(proposals, "dataset") == {
        dataset("postgres", f"db_{team}.shop.public.{table}", stage.upper()) for team, stage in teams for table in "ab"
    }
    domains = {(one.entity_type, one.entity_urn): str(one.value) for one in proposals if one.aspect_name == "domains"}
    assert len(domains) == 16
    assert all(("marketing" in urn) is ("domain:marketing" in text) for (_, urn), text in domains.items())
    assert strays(events, identity={"rules": [rule]}) == []


def test_environment_of_an_orchestrator_is_that_of_its_datasets():
    events = events_of("29-env-by-airflow")
    rules = [{"namespace": "airflow-(?P<stage>dev|prod)", "env": "{stage}"}]
    proposals = translated(events, identity={"rules": rules}).proposals
    assert urns(proposals, "dataset") == {
        dataset("bigquery", f"acme.{name}.orders", env) for name in ("raw", "mart") for env in ("DEV", "PROD")
    }
    edges = [str(value) for value in values(proposals, "dataJobInputOutput")]
    assert sorted(("DEV" in text, "PROD" in text) for text in edges) == [(False, True), (True, False)]
    naming = {"rules": [{"namespace": "bigquery", "env": "QA"}]}
    proposals = translated(events, identity={"rules": rules}, naming=naming).proposals
    assert urns(proposals, "dataset") == {dataset("bigquery", f"acme.{name}.orders", "QA") for name in ("raw", "mart")}


def test_datasets_that_facets_mention_have_the_environment_of_the_job():
    (event, _) = events_of("29-env-by-airflow")
    fields = {"id": {"inputFields": [{"namespace": "bigquery", "name": "acme.raw.other", "field": "id"}]}}
    event["outputs"][0]["facets"]["columnLineage"] = {"fields": fields}
    rules = [{"namespace": "airflow-dev", "env": "DEV"}]
    proposals = translated([event], identity={"rules": rules}).proposals
    assert "acme.raw.other,DEV" in str([one.value for one in proposals])
    assert "PROD" not in str([one.value for one in proposals if one.entity_type == "dataJob"])


def test_words_for_environments_are_read_and_others_set_none():
    identity = Bridge(Settings(identity={"rules": [{"namespace": "a-(?P<s>.*)", "env": "{s}"}]})).options.identity
    envs = [identity.job(f"a-{word}", "x", None).env for word in ("staging", "Production", "qa", "blue")]
    assert envs == ["STG", "PROD", "QA", None]


def test_domain_that_a_pattern_gives_wins():
    events = events_of("29-env-by-airflow")
    proposals = translated(
        events,
        identity={"rules": [{"domain": "urn:li:domain:{namespace}"}]},
        domains={"datasets": {"urn:li:domain:raw": ["acme.raw.*"]}},
    ).proposals
    domains = {one.entity_urn: str(one.value) for one in proposals if one.aspect_name == "domains"}
    assert "airflow-" not in domains[dataset("bigquery", "acme.raw.orders")]
    both = domains[dataset("bigquery", "acme.mart.orders")]
    assert ("domain:airflow-dev" in both, "domain:airflow-prod" in both) == (True, True)


def test_applications_of_one_flow_stay_apart():
    rule = {"namespace": "spark-t1", "name": r"(?P<app>[^.]+)(?P<rest>\..*)?", "flow": "co_gear", "job": "{app}"}
    identity = {"rules": [rule], "granularity": "application"}
    events = events_of("31-oozie-flow")
    proposals = translated(events, identity=identity).proposals
    flow = "urn:li:dataFlow:(spark,co_gear,spark-t1)"
    edges = {one.entity_urn: str(one.value) for one in proposals if one.aspect_name == "dataJobInputOutput"}
    assert edges.keys() == {f"urn:li:dataJob:({flow},clean_app)", f"urn:li:dataJob:({flow},load_app)"}
    (clean,) = [text for urn, text in edges.items() if "clean_app" in urn]
    assert ("in0" in clean, "in1" in clean, "in2" in clean) == (True, True, False)
    orders = [translated(order, identity=identity).proposals for order in (events[::-1], [*events[2:], *events])]
    assert all({str(one) for one in order} == {str(one) for one in proposals} for order in orders)


# -- parents -----------------------------------------------------------------------------------------------------------


def implied_run(events, run_id):
    lines = [json.loads(line) for line in catalogue(events, chosen=Settings(datahub_version="1.7"))]
    return {
        line["aspectName"]: line["aspect"]["json"]
        for line in lines
        if line["entityUrn"] == f"urn:li:dataProcessInstance:{run_id}"
    }


def test_parent_with_a_run_id_of_its_own_is_a_run_of_the_job_that_it_names():
    events = events_of("38-handmade-parent-id")
    task = "urn:li:dataJob:(urn:li:dataFlow:(airflow,spark_dag,default),spark_dag.submit)"
    parent = implied_run(events, "5fa90376-e528-5cf2-9130-f6b6c603195e")
    assert parent["dataProcessInstanceRelationships"]["parentTemplate"] == task
    assert strays(events) == []


def test_parent_with_a_hand_made_run_id_is_a_run_of_the_job_that_it_names():
    events = events_of("38-handmade-parent-id")
    for event in events[1:3]:
        event["run"]["facets"]["parent"]["run"]["runId"] = "submit-2026"
    lines = [json.loads(line) for line in catalogue(events, chosen=Settings(datahub_version="1.7"))]
    templates = [
        line["aspect"]["json"].get("parentTemplate", "")
        for line in lines
        if line["aspectName"] == "dataProcessInstanceRelationships"
    ]
    assert sum("spark_dag.submit" in template for template in templates) == 2
    assert strays(events) == []


def test_implied_dag_run_has_the_name_that_its_tasks_state():
    events = events_of("38-handmade-parent-id")[::3]
    for event in events:
        event["run"]["facets"]["airflow"] = {
            "dag": {"dag_id": "spark_dag"}, "dagRun": {"run_id": "scheduled__2026-11-06T00:00:00+00:00"}, "task": {"task_id": "submit"},
        }  # fmt: skip
    parent = implied_run(events, "78c42e19-5dc9-55bd-9e9e-96368f84fea0")
    assert parent["dataProcessInstanceProperties"]["name"] == "scheduled__2026-11-06T00:00:00+00:00"
    assert strays(events) == []


# -- measured times, versions of code, logs ----------------------------------------------------------------------------


def measured(**metrics):
    return {
        "namespace": "postgres://db:5432", "name": "shop.public.a",
        "facets": {"dataQualityMetrics": {"rowCount": 3, **metrics}},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("capture_date", "time"),
    [
        ("2026-11-05T23:00:00Z", 1793919600000),
        ("2026-11-06T01:00:00+02:00", 1793919600000),
        ("2026-11-06", 1793923200000),
        ("yesterday", 1793955630000),
        ("", 1793955630000),
    ],
)
def test_time_of_a_profile_is_that_of_its_measurement(capture_date, time):
    end = timed("COMPLETE", "2026-11-06T09:00:30Z", inputs=[measured(captureDate=capture_date)])
    events = [timed("START", "2026-11-06T09:00:00Z"), end]
    (profile,) = values(translated(events).proposals, "datasetProfile")
    assert profile["timestampMillis"] == time
    assert strays(events) == []


def test_end_without_metrics_of_its_own_takes_the_time_of_the_run():
    start = timed("START", "2026-11-06T09:00:00Z", inputs=[measured(captureDate="2026-11-05T23:00:00Z")])
    events = [start, timed("COMPLETE", "2026-11-06T09:00:30Z")]
    (profile,) = values(translated(events).proposals, "datasetProfile")
    assert profile["timestampMillis"] == 1793919600000
    assert strays(events) == []


@pytest.mark.parametrize("version", ["0.15.0", "1.7"])
@pytest.mark.parametrize(("name", "entity"), [("d.t", "dataJob"), ("d", "dataFlow")])
def test_revision_of_the_code_is_the_version_of_the_job(version, name, entity):
    location = {"type": "git", "version": "1a2b3c", "url": "https://github.com/example/shop/blob/1a2b3c/load.py"}
    event = timed("COMPLETE", "2026-11-06T09:00:30Z")
    event["job"] = {"namespace": "prod", "name": name, "facets": {"sourceCodeLocation": location}}
    proposals = Bridge(Settings(datahub_version=version)).translate([json.dumps(event).encode()]).proposals
    (info,) = [one for one in proposals if one.aspect_name == "versionInfo"]
    assert info.entity_type == entity
    assert info.value == {
        "version": "1a2b3c", "versionType": "git", "customProperties": {}, "externalUrl": location["url"],
    }  # fmt: skip
    del location["version"]
    proposals = Bridge(Settings(datahub_version=version)).translate([json.dumps(event).encode()]).proposals
    assert values(proposals, "versionInfo") == []


LOGS = [
    "logs/dag_id=d/run_id=scheduled__2026-11-06T00:00:00+00:00/task_id=t/attempt=1.log",
    "dag_id=d/run_id=manual__1/task_id=g.t/map_index=3/attempt=2.log",
    "logs/dag_id=d/run_id=r/task_id=t/attempt=1.log.trigger.17.log",
    "logs/d/t/2026-11-06T00:00:00+00:00/1.log",
]
NO_LOGS = ["logs/app.log", "exports/d/t/2026-11-06/1.log", "dag_id=d/orders.csv"]


def test_logs_of_airflow_are_left_out_and_counted():
    outputs = [{"namespace": "s3://lake", "name": name} for name in [*LOGS, *NO_LOGS]]
    event = timed("COMPLETE", "2026-11-06T09:00:30Z", outputs=outputs)
    translation = translated([event])
    assert translation.counts.filtered == {"airflow.remote_logs": 4}
    assert len(urns(translation.proposals, "dataset")) == 3
    retained = translated([event], airflow={"remote_logs": "keep"})
    assert len(urns(retained.proposals, "dataset")) > 3
    event["producer"] = "https://example.com/etl"
    assert translated([event]).counts.filtered == {}


# -- statements of dbt -------------------------------------------------------------------------------------------------

STRUCTURED_LOGS = Path(__file__).parents[1] / "examples" / "events" / "dbt_structured_logs.ndjson"


def test_statements_of_dbt_belong_to_their_nodes():
    events = [json.loads(line) for line in STRUCTURED_LOGS.read_text(encoding="utf-8").splitlines()]
    nodes = {one["job"]["name"] for one in events if ".sql." not in one["job"]["name"]}
    runs = {one["run"]["runId"] for one in events if ".sql." not in one["job"]["name"]}
    proposals = translated(events).proposals
    jobs = urns(proposals, "dataJob")
    assert len(jobs) == len([name for name in nodes if not name.startswith("dbt-run")]) == 8
    assert {urn.rpartition(":")[2] for urn in urns(proposals, "dataProcessInstance")} == runs
    logic = [one for one in proposals if one.aspect_name == "dataTransformLogic"]
    assert {one.entity_urn for one in logic} <= jobs
    (seed,) = [one.value["transforms"][0]["queryStatement"]["value"] for one in logic if "seed" in one.entity_urn]
    statements = [
        one["job"]["facets"]["sql"]["query"]
        for one in events
        if one["job"]["name"].startswith("seed.shop.countries.sql.")
    ]
    assert seed == max(statements, key=len)
    separate = translated(events, dbt={"statements": "separate"}).proposals
    assert len(urns(separate, "dataJob")) == 29
    assert strays(events[:11]) == []


def test_queries_of_airflow_stay_jobs_of_their_own():
    event = timed("COMPLETE", "2026-11-06T09:00:30Z")
    event["job"]["name"] = "d.t.query.1"
    assert {urn.rpartition(",")[2] for urn in urns(translated([event]).proposals, "dataJob")} == {"d.t.query.1)"}
