"""trino_query_context (run)."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, TOTALS, facet, job_on, pair, totals, translate_events

BODY = {
    "server_address": "trino.example",
    "environment": "prod",
    "query_type": "INSERT",
    "user": "ann",
    "principal": "ann@EXAMPLE",
    "source": "trino-cli",
    "client_info": "token=abc&x=1",
}
ANN = "urn:li:corpuser:ann"


def query(run=None, job=None, outputs=None, **body):
    facets = {"trino_query_context": facet(**{**BODY, **body}), **(run or {})}
    return translate_events(
        pair(run=facets, job=job or {}, outputs=[totals()] if outputs is None else outputs), report=True
    )


def test_everything_is_kept():
    properties = query().properties(DPI)
    for leaf in ("server_address", "environment", "query_type", "user", "principal", "source"):
        assert properties[f"trino_query_context.{leaf}"] == BODY[leaf]


def test_its_user_ran_the_query():
    found = query()
    assert found.one(DPI, "dataProcessInstanceProperties")["created"]["actor"] == ANN
    assert found.one(TOTALS, "operation")["actor"] == ANN
    assert found.properties(DPI)["user"] == "ann"


def test_run_user_is_read_from_hive_first():
    assert query(run={"hive_session": facet(username="bob")}).properties(DPI)["user"] == "bob"
    assert query(run={"environment-properties": facet(user="eve")}).properties(DPI)["user"] == "ann"


@pytest.mark.parametrize(
    ("word", "kind", "inferred"),
    [
        ("INSERT", "INSERT", False),
        ("UPDATE", "UPDATE", False),
        ("MERGE", "UPDATE", False),
        ("DELETE", "DELETE", False),
        ("ALTER_TABLE_EXECUTE", "ALTER", False),
        ("DATA_DEFINITION", "INSERT", True),
        ("SELECT", "INSERT", True),
        (None, "INSERT", True),
        (7, "INSERT", True),
    ],
)
def test_kind_of_query_is_the_operation_of_its_outputs(word, kind, inferred):
    operation = query(query_type=word).one(TOTALS, "operation")
    assert operation["operationType"] == kind
    assert ("openlineage.operation.inferred" in operation["customProperties"]) is inferred


def test_operation_type_precedence_is_lifecycle_sql_query_type():
    """Trino calls CREATE TABLE AS an INSERT."""
    sql = {"sql": facet(query="create table totals as select 1")}
    assert query(job=sql).one(TOTALS, "operation")["operationType"] == "CREATE"
    dropped = [totals(facets={"lifecycleStateChange": facet(lifecycleStateChange="DROP")})]
    assert query(job=sql, outputs=dropped).one(TOTALS, "operation")["operationType"] == "DROP"


@pytest.mark.parametrize("user", ["", None, [7], {}])
def test_placeholder_user_is_ignored(user):
    assert "user" not in query(user=user).properties(DPI)


def test_query_type_is_the_second_subtype_except_of_shared_jobs():
    job = {"jobType": facet(processingType="BATCH", integration="TRINO", jobType="QUERY")}
    assert query(job=job).one(job_on("trino"), "subTypes") == {"typeNames": ["Query", "INSERT"]}
    events = pair(
        run={"trino_query_context": facet(**BODY)},
        job=job,
        namespace="trino://db:8080",
        name="20261120_010000_00042_abcde",
    )
    (subtypes,) = [
        one.value
        for one in translate_events(events).proposals
        if (one.entity_type, one.aspect_name) == ("dataJob", "subTypes")
    ]
    assert subtypes == {"typeNames": ["Query"]}
