"""The run of a Spark application has the union of its operations' inputs and outputs, and their sums."""

from __future__ import annotations

import itertools
import json

import pytest
from support.ledger_batches import LedgerCase
from support.sample_events import AIRFLOW, dataset, event

from dh_bridge import Bridge, Settings

APP, FIRST, SECOND, TASK = (f"018cc251-f400-734d-88b3-00000000000{n}" for n in range(4))
URN = f"urn:li:dataProcessInstance:{APP}"
FLOW = "urn:li:dataFlow:(spark,app,ns)"


def table(name):
    return f"urn:li:dataset:(urn:li:dataPlatform:postgres,a.b.{name},PROD)"


def parent(run, job="app"):
    return {"parent": {"run": {"runId": run}, "job": {"namespace": "ns", "name": job}}}


def minute(number):
    return f"2026-11-20T10:{number:02}:00Z"


def written(name, rows, size):
    return dataset(f"a.b.{name}", outputFacets={"outputStatistics": {"rowCount": rows, "size": size}})


EVENTS = [
    event("START", minute(0), job="app", run=APP),
    event("START", minute(1), job="app.one", run=FIRST, run_facets=parent(APP), inputs=[dataset("a.b.raw")]),
    event("COMPLETE", minute(2), job="app.one", run=FIRST, run_facets=parent(APP), outputs=[written("out", 3, 30)]),
    event(
        "COMPLETE", minute(3), job="app.two", run=SECOND, run_facets=parent(APP),
        inputs=[dataset("a.b.more")], outputs=[written("out", 4, 40), written("log", 1, 5)],
    ),
    event("COMPLETE", minute(4), job="app", run=APP),
]  # fmt: skip


def run_of(ledger_case, urn=URN):
    properties = ledger_case.catalog.aspect(urn, "dataProcessInstanceProperties")["customProperties"]
    return {
        "inputs": (ledger_case.catalog.aspect(urn, "dataProcessInstanceInput") or {}).get("inputs"),
        "outputs": (ledger_case.catalog.aspect(urn, "dataProcessInstanceOutput") or {}).get("outputs"),
        "rows": properties.get("openlineage.outputs.rowCount"),
        "bytes": properties.get("openlineage.outputs.size"),
    }


EXPECTED = {
    "inputs": [table("more"), table("raw")], "outputs": [table("log"), table("out")], "rows": "8", "bytes": "75",
}  # fmt: skip


@pytest.mark.parametrize("version", ["0.15.0", "1.7"])
def test_run_of_an_application_has_the_totals_of_its_operations_in_any_order(version):
    dumps = []
    for order in itertools.permutations(EVENTS):
        ledger_case = LedgerCase(Settings(datahub_version=version), forgetful=len(dumps) % 2 == 0)
        ledger_case.process(*([one] for one in order), [order[1], order[3]])
        assert run_of(ledger_case) == EXPECTED
        dumps.append(ledger_case.dump())
    assert all(dump == dumps[0] for dump in dumps)
    together = LedgerCase(Settings(datahub_version=version))
    together.process(EVENTS)
    assert together.dump() == dumps[0]


def test_sums_by_dataset_are_properties_of_the_run():
    ledger_case = LedgerCase()
    ledger_case.process(EVENTS)
    properties = ledger_case.catalog.aspect(URN, "dataProcessInstanceProperties")["customProperties"]
    statistics = json.loads(properties["openlineage.outputs.statistics"])
    assert statistics == {table("log"): {"rowCount": 1, "size": 5}, table("out"): {"rowCount": 7, "size": 70}}


def test_application_gets_no_flow_job_and_no_edges():
    ledger_case = LedgerCase()
    ledger_case.process(EVENTS)
    assert sorted(ledger_case.catalog.entities("dataJob")) == [
        f"urn:li:dataJob:({FLOW},app.{name})" for name in ("one", "two")
    ]
    assert ledger_case.catalog.aspect(URN, "dataProcessInstanceRelationships")["parentTemplate"] == FLOW
    runs = {
        point["customProperties"]["openlineage.run"]
        for point in ledger_case.catalog.timeseries(table("out"), "operation")
    }
    assert runs == {f"urn:li:dataProcessInstance:{run}" for run in (FIRST, SECOND)}


def test_operation_counts_once_however_often_it_is_sent():
    ledger_case = LedgerCase()
    ledger_case.process(EVENTS, [EVENTS[3]], EVENTS[::-1])
    assert run_of(ledger_case) == EXPECTED


def test_task_of_airflow_has_no_totals_of_the_application_that_it_started():
    ledger_case = LedgerCase()
    ledger_case.process(
        [
            event("START", minute(0), job="dag.task", run=TASK, producer=AIRFLOW),
            event("START", minute(0), job="app", run=APP, run_facets=parent(TASK, "dag.task")),
            *EVENTS[1:],
        ]
    )
    task = f"urn:li:dataProcessInstance:{TASK}"
    assert run_of(ledger_case, task) == {"inputs": None, "outputs": None, "rows": None, "bytes": None}
    assert run_of(ledger_case) == EXPECTED


def test_without_a_ledger_the_run_of_an_application_has_no_totals():
    proposals = Bridge(Settings()).translate([json.dumps(one) for one in EVENTS]).proposals
    assert not [one for one in proposals if one.entity_urn == URN and one.aspect_name == "dataProcessInstanceOutput"]


def test_temporary_datasets_are_no_part_of_the_totals():
    ledger_case = LedgerCase(Settings(datahub_version="1.7", temporary={"dataset_type": "collapse"}))
    temporary = dataset("a.b.out", facets={"datasetType": {"datasetType": "TEMPORARY"}})
    ledger_case.process([*EVENTS[:2], {**EVENTS[2], "outputs": [temporary]}, EVENTS[4]])
    assert run_of(ledger_case)["outputs"] is None
