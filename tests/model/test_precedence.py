"""Precedence: of several facets that state a fact, the first in the order of precedence wins, in any order of events."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from support.facet_cases import DPI, event, facet, pair, totals, translate_events
from support.public_data import CORPUS, needs_corpus

from dh_bridge.model import precedence

QUERY = {"jobType": facet(processingType="BATCH", integration="TRINO", jobType="QUERY")}
APPLICATION = {"jobType": facet(processingType="BATCH", integration="SPARK", jobType="APPLICATION")}
DAG_RUN = {"dag": {"dag_id": "daily"}, "dagRun": {"run_id": "dag-run"}}

#: First to last: (facets of the run, what the run is called by them)
NAMES = [
    ({"dataRentgen_run": facet(external_id="rentgen")}, "rentgen"),
    ({"airflowDagRun": facet(**DAG_RUN)}, "dag-run"),
    ({"airflow": facet(**{**DAG_RUN, "dagRun": {"run_id": "of-task"}})}, "of-task"),
    ({"spark_applicationDetails": facet(applicationId="application_1")}, "application_1"),
    ({"flink_job": facet(jobId="flink")}, "flink"),
    ({"hive_query": facet(queryId="hive")}, "hive"),
]

#: First to last: (facets of the run, its page)
PAGES = [
    ({"airflow": facet(**DAG_RUN, taskInstance={"log_url": "https://log"})}, "https://log"),
    ({"dataRentgen_run": facet(persistent_log_url="https://lasting")}, "https://lasting"),
    ({"spark_applicationDetails": facet(historyUrl="https://history")}, "https://history"),
    ({"spark_applicationDetails": facet(proxyUrl="https://proxy,https://other")}, "https://proxy"),
    ({"spark_applicationDetails": facet(uiWebUrl="http://driver:4040")}, "http://driver:4040"),
    ({"dataRentgen_run": facet(running_log_url="https://running")}, "https://running"),
    ({"airflowDagRun": facet(**DAG_RUN), "processing_engine": facet(version="3.0.0")}, "https://base/dags/daily/runs/dag-run"),
    ({"airflowDagRun": facet(**DAG_RUN)}, "https://base/dags/daily/grid?dag_run_id=dag-run"),
    ({"flink_job": facet(jobId="f")}, "https://base/#/job/completed/f"),
]  # fmt: skip

#: First to last: (facets of the run, its user)
USERS = [
    ({"spark_applicationDetails": facet(userName="spark")}, "spark"),
    ({"hive_session": facet(username="ann")}, "ann"),
    ({"trino_query_context": facet(user="bob")}, "bob"),
    ({"environment-properties": facet(user="eve")}, "eve"),
    ({"dataRentgen_run": facet(started_by_user="dan")}, "dan"),
]


def both(lower, upper, **parts):
    """Two events, each with the facets of one rung, in both orders."""
    events = [event("START", run=upper, **parts), event(run=lower, **parts)]
    return [
        translate_events(events),
        translate_events(events[::-1]),
        translate_events(event("START", run=lower, **parts), event(run=upper, **parts)),
    ]


@pytest.mark.parametrize(("lower", "upper"), list(pairwise(NAMES)), ids=lambda one: one[1])
def test_first_name_wins(lower, upper):
    for found in both(lower[0], upper[0], job=APPLICATION, name="daily"):
        assert found.one(DPI, "dataProcessInstanceProperties")["name"] == lower[1]
    assert (
        translate_events(pair(run=upper[0], job=APPLICATION, name="daily")).one(DPI, "dataProcessInstanceProperties")[
            "name"
        ]
        == upper[1]
    )


def test_id_of_a_query_names_runs_of_queries_only():
    run = {"externalQuery": facet(externalQueryId="q-1", source="bigquery")}
    assert translate_events(pair(run=run, job=QUERY)).one(DPI, "dataProcessInstanceProperties")["name"] == "q-1"
    assert translate_events(pair(run=run)).one(DPI, "dataProcessInstanceProperties")["name"] != "q-1"
    beside = {**run, "trino_metadata": facet(query_id="t-1")}
    assert translate_events(pair(run=beside, job=QUERY)).one(DPI, "dataProcessInstanceProperties")["name"] == "t-1"


@pytest.mark.parametrize(
    ("rung", "job_type", "flow", "names"),
    [
        (precedence.NAME_APPLICATION, "APPLICATION", True, True),
        (precedence.NAME_APPLICATION, "SQL_JOB", False, False),
        (precedence.NAME_APPLICATION, "", True, True),
        (precedence.NAME_APPLICATION, "", False, False),
        (precedence.NAME_INVOCATION, "JOB", True, True),
        (precedence.NAME_INVOCATION, "JOB", False, False),
        (precedence.NAME_INVOCATION, "MODEL", True, False),
        (precedence.NAME_EXTERNAL_QUERY, "QUERY", False, True),
        (precedence.NAME_EXTERNAL_QUERY, "", False, False),
        (precedence.NAME_FLINK, "", False, True),
    ],
)
def test_some_names_are_those_of_one_kind_of_run(rung, job_type, flow, names):
    assert precedence.can_name_run(rung, job_type, is_flow=flow) is names


@pytest.mark.parametrize(("lower", "upper"), list(pairwise(PAGES)), ids=lambda one: one[1])
def test_first_page_wins(lower, upper):
    for found in both(lower[0], upper[0], namespace="https://base", name="daily"):
        url = found.one(DPI, "dataProcessInstanceProperties")["externalUrl"]
        assert url.replace("/running/f", "/completed/f") == lower[1]


@pytest.mark.parametrize(("lower", "upper"), list(pairwise(USERS)), ids=lambda one: one[1])
def test_first_user_wins(lower, upper):
    for found in both(lower[0], upper[0]):
        assert found.properties(DPI)["user"] == lower[1]
    assert translate_events(pair(run=upper[0])).properties(DPI)["user"] == upper[1]


#: First to last
TYPES = [
    ({}, {"jobType": facet(processingType="STREAMING")}, "STREAMING"),
    ({"dataRentgen_run": facet(start_reason="MANUAL")}, {}, "BATCH_AD_HOC"),
    ({"airflow": facet(dagRun={"run_type": "scheduled"})}, {}, "BATCH_SCHEDULED"),
    ({"airflow": facet(dagRun={"run_type": "operator_triggered"})}, {}, "BATCH_AD_HOC"),
    ({"nominalTime": facet(nominalStartTime="2026-11-20T00:00:00Z")}, {}, "BATCH_SCHEDULED"),
    ({}, QUERY, "BATCH_AD_HOC"),
    ({"airflow_runArgs": facet(externalTrigger=True)}, {}, "BATCH_AD_HOC"),
]


@pytest.mark.parametrize("position", range(len(TYPES)))
def test_type_of_a_run_is_that_of_the_first_hint(position):
    run = {key: body for one in reversed(TYPES[position:]) for key, body in one[0].items()}
    job = {key: body for one in reversed(TYPES[position:]) for key, body in one[1].items()}
    assert (
        translate_events(pair(run=run, job=job)).one(DPI, "dataProcessInstanceProperties")["type"] == TYPES[position][2]
    )


@pytest.mark.parametrize(
    ("value", "page"),
    [
        (" https://x/y ", "https://x/y"),
        ("http://u:***@x", "http://u:***@x"),
        ("ftp://x", None),
        ("https://", None),
        ("", None),
        (None, None),
        (7, None),
    ],
)
def test_page_is_what_a_browser_can_open(value, page):
    assert precedence.web_page_url(value) == page


def test_operation_type_follows_the_precedence():
    """Lifecycle, Hive, dbt, SQL, Trino, streams."""
    model = {"dbt_model": facet(config={"materialized": "table"})}
    word = {"lifecycleStateChange": facet(lifecycleStateChange="DROP")}
    sql = {"sql": facet(query="delete from totals")}
    hive = {"hive_query": facet(operationName="CREATETABLE")}
    trino = {"trino_query_context": facet(query_type="INSERT")}
    for run, job, output, kind in (
        ({**hive, **trino}, sql, {**model, **word}, "DROP"),
        ({**hive, **trino}, sql, model, "CREATE"),
        (trino, sql, model, "UPDATE"),
        (trino, sql, {}, "DELETE"),
        (trino, {}, {}, "INSERT"),
    ):
        found = translate_events(pair(run=run, job=job, outputs=[totals(facets=output)]))
        (operation,) = [one.value for one in found.proposals if one.aspect_name == "operation"]
        assert operation["operationType"] == kind


@needs_corpus
@pytest.mark.parametrize(
    ("folder", "key", "leaf"),
    [("ol-hive-completed", "hive_query", "queryId"), ("ol-flink-completed", "flink_job", "jobId")],
)
def test_real_runs_are_named_by_their_native_ids(folder, key, leaf):
    seen = 0
    for path in sorted((CORPUS / folder).glob("*.json")):
        found = json.loads(path.read_text(encoding="utf-8"))
        stated = found.get("run", {}).get("facets", {}).get(key, {}).get(leaf)
        if stated is None:
            continue
        seen += 1
        proposals = translate_events({**found, "eventType": "START"}).proposals
        (named,) = [one.value["name"] for one in proposals if one.aspect_name == "dataProcessInstanceProperties"]
        assert named == stated
    assert seen
