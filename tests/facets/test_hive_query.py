"""hive_query (run)."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, JOB, TOTALS, facet, job_on, pair, totals, translate_events


def hive(operation="CREATETABLE_AS_SELECT", query="q-1", **bags):
    run = {"hive_query": facet(queryId=query, operationName=operation)}
    return translate_events(pair(run=run, outputs=[totals(**bags)]))


def test_query_id_is_the_name_of_the_run():
    found = hive()
    assert found.one(DPI, "dataProcessInstanceProperties")["name"] == "q-1"
    assert found.properties(DPI)["hive_query.operationName"] == "CREATETABLE_AS_SELECT"


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("CREATETABLE_AS_SELECT", "CREATE"),
        ("CREATEVIEW", "CREATE"),
        ("DROPTABLE", "DROP"),
        ("ALTERTABLE_ADDCOLS", "ALTER"),
        ("TRUNCATETABLE", "DELETE"),
        ("QUERY", "INSERT"),
        (None, "INSERT"),
        ("", "INSERT"),
    ],
)
def test_operation_of_its_outputs(word, kind):
    assert hive(word).one(TOTALS, "operation")["operationType"] == kind


def test_lifecycle_facet_wins_over_the_hive_operation():
    body = {"lifecycleStateChange": facet(lifecycleStateChange="OVERWRITE")}
    assert hive(facets=body).one(TOTALS, "operation")["operationType"] == "UPDATE"


@pytest.mark.parametrize("query", [None, "", [7]])
def test_invalid_id_does_not_name_the_run(query):
    assert hive(query=query).one(DPI, "dataProcessInstanceProperties")["name"] == DPI.rpartition(":")[2]
    assert translate_events(pair(run={"hive_query": facet()})).has(DPI, "dataProcessInstanceProperties")


def test_operation_is_the_job_s_second_subtype():
    run = {"hive_query": facet(queryId="q", operationName="CREATETABLE_AS_SELECT")}
    job = {"jobType": facet(processingType="BATCH", integration="HIVE", jobType="QUERY")}
    assert translate_events(pair(run=run, job=job)).one(job_on("hive"), "subTypes") == {
        "typeNames": ["Query", "CREATETABLE_AS_SELECT"]
    }
    assert not translate_events(pair(run=run)).has(JOB, "subTypes")
