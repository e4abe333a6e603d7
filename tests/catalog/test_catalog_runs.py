from __future__ import annotations

import pytest
from support.catalog_sample import DAG_RUN, FLOW, LATER, LOAD, NOON, ORDERS, RAW, RUN, TOTALS, point, run, shop

from dh_bridge.catalog.runs import RunRow, find_runs
from dh_bridge.datahub.proposal import upsert


@pytest.fixture
def shop_catalog(catalog):
    catalog.apply(shop())
    return catalog


def test_job_s_runs_are_those_of_datahub_s_tab_youngest_first(shop_catalog):
    later, first = find_runs(shop_catalog, LOAD)
    assert first == RunRow(
        urn=RUN,
        name="load_1",
        role=["runs"],
        status="SUCCESS",
        attempt=1,
        started=NOON + 1000,
        updated=NOON + 61_000,
        duration=60_000,
        job=LOAD,
        parent=DAG_RUN,
        children=[],
        upstream=[],
        inputs=[RAW],
        outputs=[ORDERS],
        link="https://airflow/load_1",
    )
    assert (later.urn, later.status, later.attempt, later.parent) == (LATER, "FAILURE", 2, None)


def test_flow_s_runs_name_their_children(shop_catalog):
    [row] = find_runs(shop_catalog, FLOW)
    assert (row.urn, row.status, row.children, row.duration) == (DAG_RUN, "STARTED", [RUN], None)


@pytest.mark.parametrize(("dataset", "role"), [(RAW, "reads"), (ORDERS, "writes")])
def test_dataset_s_runs_read_or_write_it(shop_catalog, dataset, role):
    assert [(row.urn, row.role) for row in find_runs(shop_catalog, dataset)] == [(RUN, [role])]


def test_run_that_reads_and_writes_one_dataset_is_one_row(shop_catalog):
    edges = {"outputs": [], "outputEdges": [{"destinationUrn": RAW}, {"destinationUrn": ORDERS}]}
    also = {"outputs": [RAW]}
    shop_catalog.apply(
        [
            upsert("dataProcessInstance", RUN, "dataProcessInstanceOutput", also),
            upsert("dataProcessInstance", LATER, "dataProcessInstanceOutput", edges),
        ]
    )
    [row] = find_runs(shop_catalog, RAW)
    assert row.role == ["reads", "writes"]
    assert next(row for row in find_runs(shop_catalog, LOAD) if row.urn == LATER).outputs == [ORDERS, RAW]


def test_run_itself_comes_with_its_children(shop_catalog):
    assert [(row.urn, row.role) for row in find_runs(shop_catalog, DAG_RUN)] == [
        (RUN, ["child"]),
        (DAG_RUN, ["itself"]),
    ]


def test_run_without_a_run_event_is_not_shown_as_in_datahub(shop_catalog):
    shop_catalog.apply(run("urn:li:dataProcessInstance:silent", "silent", NOON, LOAD))
    assert [row.urn for row in find_runs(shop_catalog, LOAD)] == [LATER, RUN]


def test_run_of_which_only_events_are_known_is_shown(catalog):
    related = {"parentTemplate": LOAD, "upstreamInstances": [RUN]}
    late = "urn:li:dataProcessInstance:late"
    catalog.apply(
        [
            upsert("dataProcessInstance", late, "dataProcessInstanceRelationships", related),
            point(late, NOON, "STARTED", externalUrl="https://log"),
        ]
    )
    [row] = find_runs(catalog, LOAD)
    assert (row.name, row.started, row.link, row.upstream, row.status) == (
        "late",
        None,
        "https://log",
        [RUN],
        "STARTED",
    )


def test_entity_without_runs_has_no_run_rows(shop_catalog):
    assert find_runs(shop_catalog, TOTALS) == []
    assert find_runs(shop_catalog, "no urn") == []
