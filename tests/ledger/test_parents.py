"""Parents that only their children name: no stub on a platform that is a mere guess."""

from __future__ import annotations

import pytest
from support.ledger_batches import LedgerCase
from support.sample_events import event

AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.20.3"
SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
APP, TASK = "018cc251-f400-734d-88b3-1e3d63fe6210", "018cc251-f400-734d-88b3-000000000001"
FLOW = "urn:li:dataFlow:(airflow,daily,ns)"
JOB = f"urn:li:dataJob:({FLOW},daily.load)"


def app(*, run=None, job=None):
    """Return a Spark application that a task of Airflow has started, in Airflow's own namespace."""
    stated = {
        "run": {"runId": TASK, "facets": run or {}},
        "job": {"namespace": "ns", "name": "daily.load", "facets": job or {}},
    }
    return {
        **event("START", "2026-11-20T10:00:05Z", run=APP, job="app", run_facets={"parent": stated}),
        "producer": SPARK,
    }


def task():
    return {**event("START", "2026-11-20T10:00:01Z", run=TASK, job="daily.load"), "producer": AIRFLOW}


def template(ledger_case):
    return (
        ledger_case.catalog.aspect(f"urn:li:dataProcessInstance:{TASK}", "dataProcessInstanceRelationships") or {}
    ).get("parentTemplate")


def test_task_that_started_an_application_is_no_job_of_spark():
    ledger_case = LedgerCase()
    ledger_case.process([app()])
    assert list(ledger_case.catalog.entities("dataFlow")) == ["urn:li:dataFlow:(spark,app,ns)"]
    assert template(ledger_case) is None
    assert (
        ledger_case.catalog.aspect(f"urn:li:dataProcessInstance:{TASK}", "dataProcessInstanceProperties")["name"]
        == TASK
    )
    ledger_case.process([task()])
    assert template(ledger_case) == JOB
    assert list(ledger_case.catalog.entities("dataJob")) == [JOB]


@pytest.mark.parametrize(
    "facets",
    [
        {"job": {"jobType": {"integration": "AIRFLOW", "jobType": "TASK"}}},
        {"run": {"airflow": {"dag": {"dag_id": "daily"}}}},
        {"run": {"processing_engine": {"name": "Airflow", "version": "3"}}},
    ],
)
def test_forwarded_facets_give_the_implied_parent_a_platform(facets):
    ledger_case = LedgerCase()
    ledger_case.process([app(**facets)])
    assert template(ledger_case) == JOB
    assert FLOW in ledger_case.catalog.entities("dataFlow")


def test_forwarded_facets_of_wrong_types_are_ignored():
    ledger_case = LedgerCase()
    ledger_case.process([app(run={"processing_engine": {"name": 7}}, job={"jobType": "x"})])
    assert template(ledger_case) is None
