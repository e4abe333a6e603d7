"""sql (job)."""

from __future__ import annotations

import hashlib

import pytest
from openlineage.client.facet_v2 import sql_job
from support.facet_cases import (
    FLOW,
    JOB,
    TOTALS,
    client_pair,
    event,
    facet,
    of_job,
    pair,
    spec,
    totals,
    translate_events,
)


def sql(found):
    (transform,) = found.one(JOB, "dataTransformLogic")["transforms"]
    return transform["queryStatement"]


def test_server_that_knows_logic_gets_the_statement():
    found = of_job("sql", facet(query="select 1; select 2", dialect="postgres"), datahub_version="1.0")
    assert sql(found) == {"value": "select 1; select 2", "language": "SQL"}
    assert found.properties(JOB)["sql.dialect"] == "postgres"
    assert "sql.query" not in found.properties(JOB)


def test_older_server_gets_a_property_with_its_hash():
    found = of_job("sql", facet(query="select 1"), report=True)
    assert not found.has(JOB, "dataTransformLogic")
    assert found.properties(JOB)["sql.query"] == "select 1"
    assert found.properties(JOB)["sql.sha256"] == hashlib.sha256(b"select 1").hexdigest()


def test_flow_level_job_s_statement_is_a_property_of_the_flow_and_the_logic_of_its_flow_job():
    flow_job = f"urn:li:dataJob:({FLOW},daily)"
    for profile in ("0.15.0", "1.7"):
        found = translate_events(
            pair(job={"sql": facet(query="select 1")}, name="daily", outputs=[totals()]), datahub_version=profile
        )
        assert found.properties(FLOW)["sql.query"] == "select 1"
        if profile == "0.15.0":
            assert found.properties(flow_job)["sql.query"] == "select 1"
        else:
            (transform,) = found.one(flow_job, "dataTransformLogic")["transforms"]
            assert transform["queryStatement"] == {"value": "select 1", "language": "SQL"}


def test_credentials_are_removed_from_sql():
    body = facet(query="copy x from 's3://a/b?X-Amz-Signature=abc' link postgres://ann:secret@db/x")
    for profile in ("0.15.0", "1.7"):
        found = of_job("sql", body, datahub_version=profile)
        text = sql(found)["value"] if profile == "1.7" else found.properties(JOB)["sql.query"]
        assert "secret" not in text
        assert "abc" not in text


def test_long_statement_is_cut():
    query = "select " + "x," * 60_000 + "1"
    assert len(sql(of_job("sql", facet(query=query), datahub_version="1.7"))["value"]) <= 100_000
    assert len(of_job("sql", facet(query=query)).properties(JOB)["sql.query"]) <= 4000


def test_truncated_sql_never_replaces_the_full_statement():
    whole, part, other = "select a, b from c", "select a", "insert into x"
    events = [
        event("START", job={"sql": facet(query=whole)}),
        event("RUNNING", job={"sql": facet(query=part)}, time="2026-11-20T01:00:10Z"),
        event(),
    ]
    for order in (events, events[::-1]):
        assert translate_events(order).properties(JOB)["sql.query"] == whole
    events[2] = event(job={"sql": facet(query=other)})
    for order in (events, events[::-1]):
        assert translate_events(order).properties(JOB)["sql.query"] == other


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("INSERT INTO x SELECT 1", "INSERT"),
        ("merge into x using y", "UPDATE"),
        ("update x set a = 1", "UPDATE"),
        ("delete from x", "DELETE"),
        ("truncate table x", "DELETE"),
        ("create table x as select 1", "CREATE"),
        ("drop table x", "DROP"),
        ("alter table x drop column y", "ALTER"),
        ("alter table x rename to y", "ALTER"),
        ("comment on table x is 'merged'", "ALTER"),
        ("comment on column x.y is 'z'", "ALTER"),
        ("copy x from 's3://b'", "INSERT"),
        ("-- delete this\nselect 1", "INSERT"),
        ("/* drop */ select 'update'", "INSERT"),
    ],
)
def test_sql_sets_the_operation_type(query, kind):
    operation = translate_events(pair(job={"sql": facet(query=query)}, outputs=[totals()])).one(TOTALS, "operation")
    assert operation["operationType"] == kind
    assert operation["customProperties"]["openlineage.sql.sha256"] == hashlib.sha256(query.encode()).hexdigest()


@pytest.mark.parametrize("body", [facet(), facet(query=None), facet(query="  \n")])
def test_empty_sql_is_ignored(body):
    assert "sql.query" not in of_job("sql", body).properties(JOB)


def test_facet_among_run_facets_applies_to_the_job():
    assert translate_events(pair(run={"sql": facet(query="select 1")})).properties(JOB)["sql.query"] == "select 1"


def test_sql_of_the_job_wins_over_the_run():
    events = pair(run={"sql": facet(query="select 1")}, job={"sql": facet(query="select 2")})
    assert translate_events(events).properties(JOB)["sql.query"] == "select 2"


def test_specification_s_document_is_read():
    assert "with orders as" in of_job("sql", spec("SQLJobFacet")["sql"]).properties(JOB)["sql.query"]


def test_client_s_class_is_read():
    assert (
        translate_events(client_pair(job={"sql": sql_job.SQLJobFacet("select 1")})).properties(JOB)["sql.query"]
        == "select 1"
    )
