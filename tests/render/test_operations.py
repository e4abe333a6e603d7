"""operation and datasetProfile of the outputs of a run."""

from __future__ import annotations

import hashlib

import pytest
from support.facet_cases import (
    DATAHUB,
    DPI,
    END_MS,
    ORDERS,
    RUN,
    TOTALS,
    dataset_event,
    event,
    facet,
    job_event,
    orders,
    pair,
    totals,
    translate_events,
)


def operation(found):
    return found.one(TOTALS, "operation")


def test_operation_field_by_field():
    found = operation(
        translate_events(pair(inputs=[orders()], outputs=[totals()], job={"sql": facet(query="insert into x")}))
    )
    assert found == {
        "timestampMillis": END_MS,
        "partitionSpec": {"partition": "FULL_TABLE_SNAPSHOT", "type": "FULL_TABLE"},
        "messageId": found["messageId"],
        "actor": DATAHUB,
        "operationType": "INSERT",
        "sourceType": "DATA_PROCESS",
        "customProperties": {
            "openlineage.job": "shop/daily.load",
            "openlineage.run": DPI,
            "openlineage.runId": RUN,
            "openlineage.sql.sha256": hashlib.sha256(b"insert into x").hexdigest(),
        },
        "lastUpdatedTimestamp": END_MS,
    }


def test_only_what_is_written_has_one_and_only_when_the_run_ends():
    assert not translate_events(pair(inputs=[orders()])).has(ORDERS, "operation")
    assert not translate_events(event("START", outputs=[totals()])).has(TOTALS, "operation")
    assert not translate_events(job_event(outputs=[totals()])).has(TOTALS, "operation")
    assert not translate_events(dataset_event(totals())).has(TOTALS, "operation")


def test_output_that_only_the_start_names_has_one_at_the_end():
    found = translate_events(event("START", outputs=[totals()]), event())
    assert operation(found)["timestampMillis"] == END_MS


def test_inferred_operation_is_marked_as_inferred():
    properties = operation(translate_events(pair(outputs=[totals()])))["customProperties"]
    assert properties["openlineage.operation.inferred"] == "true"


@pytest.mark.parametrize("kind", ["FAIL", "ABORT"])
@pytest.mark.parametrize(
    ("bags", "written"),
    [
        ({}, False),
        ({"outputFacets": {"outputStatistics": facet(rowCount=0)}}, False),
        ({"outputFacets": {"outputStatistics": facet(rowCount=1)}}, True),
        ({"facets": {"lifecycleStateChange": facet(lifecycleStateChange="CREATE")}}, True),
    ],
)
def test_failed_run_writes_only_reported_operations(kind, bags, written):
    found = translate_events(event("START", outputs=[totals()]), event(kind, outputs=[totals(**bags)]))
    assert found.has(TOTALS, "operation") is written


def test_each_terminal_event_is_a_point_and_one_a_millisecond():
    found = translate_events(
        event("START", outputs=[totals(facets={"lifecycleStateChange": facet(lifecycleStateChange="CREATE")})]),
        event("FAIL", time="2026-11-20T01:00:10Z"),
        event("COMPLETE", time="2026-11-20T01:00:10.014Z"),
        event("COMPLETE", time="2026-11-20T01:00:10.0141Z"),
    )
    times = [one["timestampMillis"] for one in found.all(TOTALS, "operation")]
    assert times == [END_MS - 20_000, END_MS - 20_000 + 14]


def test_fail_is_no_operation_where_only_the_complete_is():
    found = translate_events(
        event("START", outputs=[totals()]),
        event("FAIL", time="2026-11-20T01:00:10Z"),
        event("COMPLETE", time="2026-11-20T01:00:10.014Z"),
    )
    assert [one["timestampMillis"] for one in found.all(TOTALS, "operation")] == [END_MS - 20_000 + 14]


def test_operation_id_is_stable_for_a_run_and_differs_by_run():
    one = operation(translate_events(pair(outputs=[totals()])))["messageId"]
    changed = {"lifecycleStateChange": facet(lifecycleStateChange="CREATE")}
    assert operation(translate_events(pair(outputs=[totals(facets=changed)])))["messageId"] == one
    other = translate_events(pair(outputs=[totals()], run_id=RUN.replace("1", "2")))
    assert operation(other)["messageId"] != one


def test_operation_type_precedence():
    """A lifecycle word, then Hive's operation, then dbt's materialisation, then the SQL."""
    lifecycle = {"lifecycleStateChange": facet(lifecycleStateChange="TRUNCATE")}
    model = {"dbt_model": facet(config={"materialized": "table"})}
    hive = {"hive_query": facet(operationName="CREATEVIEW")}
    sql = {"sql": facet(query="alter table x")}

    def kind(facets, run, job):
        return operation(translate_events(pair(outputs=[totals(facets=facets)], run=run, job=job)))["operationType"]

    assert kind({**lifecycle, **model}, hive, sql) == "DELETE"
    assert kind(model, hive, sql) == "CREATE"
    assert kind(model, {}, sql) == "UPDATE"
    assert kind({}, {}, sql) == "ALTER"
    assert kind({}, {}, {}) == "INSERT"


def commit(sql, stated, **facets):
    """Return the operation of a commit to an Iceberg table."""
    report = {"icebergCommitReport": facet(operation=stated, commitMetrics={"addedRecords": 2, "removedRecords": 3})}
    parts = {"outputs": [totals(facets=facets, outputFacets=report)], "job": {"sql": facet(query=sql)}}
    return operation(translate_events(pair(**parts)))


@pytest.mark.parametrize(
    ("sql", "stated", "kind"),
    [
        ("delete from totals where a < 0", "overwrite", "DELETE"),
        ("update totals set a = 1", "overwrite", "UPDATE"),
        ("merge into totals using o on true when matched then delete", "overwrite", "UPDATE"),
        ("insert into totals select 1", "append", "INSERT"),
        ("call system.rewrite_data_files('totals')", "replace", "UPDATE"),
    ],
)
def test_iceberg_overwrite_can_be_a_delete(sql, stated, kind):
    assert commit(sql, stated)["operationType"] == kind


@pytest.mark.parametrize("word", ["ALTER", "RENAME", "DROP"])
def test_ddl_operation_has_no_affected_rows(word):
    lifecycle = {"lifecycleStateChange": facet(lifecycleStateChange=word)}
    assert "numAffectedRows" in commit("update totals set b = 1", "overwrite")
    assert "numAffectedRows" not in commit("alter table totals add column b int", "overwrite", **lifecycle)


def test_unknown_lifecycle_value_defers_to_the_next_source():
    facets = {"lifecycleStateChange": facet(lifecycleStateChange="MYSTERY")}
    found = translate_events(
        pair(outputs=[totals(facets=facets)], run={"hive_query": facet(operationName="DROPTABLE")})
    )
    assert operation(found)["operationType"] == "DROP"


def test_profile_is_a_point_of_every_terminal_event():
    metrics = {"dataQualityMetrics": facet(rowCount=3)}
    found = translate_events(
        event("START", inputs=[orders(facets=metrics)]), event("FAIL"), event("COMPLETE", time="2026-11-20T01:00:31Z")
    )
    assert [one["timestampMillis"] for one in found.all(ORDERS, "datasetProfile")] == [END_MS, END_MS + 1000]
    assert not translate_events(event("START", inputs=[orders(facets=metrics)])).has(ORDERS, "datasetProfile")
    assert not translate_events(job_event(inputs=[orders(facets=metrics)])).has(ORDERS, "datasetProfile")


def test_profile_has_the_metrics_of_the_last_measuring_event():
    def measured(**metrics):
        return [orders(facets={"dataQualityMetrics": facet(**metrics)})]

    events = [event("START", inputs=measured(rowCount=1, bytes=5)), event(inputs=measured(rowCount=2))]
    for order in (events, events[::-1]):
        profile = translate_events(order).one(ORDERS, "datasetProfile")
        assert (profile["rowCount"], profile["sizeInBytes"]) == (2, 5)


def test_sum_that_is_larger_than_datahub_s_long_is_left_out():
    metrics = {"addedRecords": 2**62, "removedRecords": 2**62}
    commit = {"icebergCommitReport": facet(operation="overwrite", commitMetrics=metrics)}
    found = operation(translate_events(pair(outputs=[totals(outputFacets=commit)])))
    assert "numAffectedRows" not in found
    assert found["customProperties"]["openlineage.icebergCommitReport.commitMetrics.addedRecords"] == str(2**62)
