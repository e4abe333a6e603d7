"""inputStatistics (input): how much a run read."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import input_statistics_input_dataset
from support.facet_cases import (
    DPI,
    JOB,
    ORDERS,
    client_pair,
    dataset_event,
    event,
    facet,
    job_event,
    of_input,
    orders,
    pair,
    totals,
    translate_events,
)

BODY = facet(rowCount=12, size=2048, fileCount=3)


def edge(found, urn=ORDERS):
    return found.patched(JOB, "dataJobInputOutput")[f"/inputDatasetEdges/{urn}"]


def test_counts_are_on_the_edge_and_summed_on_the_run():
    other = {**orders(inputFacets={"inputStatistics": facet(rowCount=1)}), "name": "shop.public.more"}
    found = translate_events(pair(inputs=[orders(inputFacets={"inputStatistics": BODY}), other]))
    assert edge(found)["properties"] == {
        "openlineage.inputStatistics.fileCount": "3",
        "openlineage.inputStatistics.rowCount": "12",
        "openlineage.inputStatistics.size": "2048",
    }
    properties = found.properties(DPI)
    assert (properties["inputs.rowCount"], properties["inputs.size"], properties["inputs.fileCount"]) == (
        "13",
        "2048",
        "3",
    )
    assert f'"{ORDERS}":{{"fileCount":3,"rowCount":12,"size":2048}}' in properties["inputs.statistics"]


def test_reading_is_no_operation():
    assert not of_input("inputStatistics", BODY, "inputFacets").has(ORDERS, "operation")


def test_largest_count_wins_in_any_order():
    events = [
        event("START", inputs=[orders(inputFacets={"inputStatistics": facet(rowCount=0)})]),
        event(
            "RUNNING", inputs=[orders(inputFacets={"inputStatistics": facet(rowCount=9)})], time="2026-11-20T01:00:10Z"
        ),
        event(inputs=[orders(inputFacets={"inputStatistics": facet(rowCount=7)})]),
    ]
    for order in (events, events[::-1]):
        assert translate_events(order).properties(DPI)["inputs.rowCount"] == "9"


@pytest.mark.parametrize("count", [2**63 - 1, 2**70, -1])
def test_invalid_count_is_malformed(count):
    found = of_input("inputStatistics", facet(rowCount=count, size=1), "inputFacets", report=True)
    assert edge(found)["properties"] == {"openlineage.inputStatistics.size": "1"}
    assert found.outcomes()["$.inputs[0].inputFacets.inputStatistics.rowCount"] == ("dropped", "malformed")


def test_number_may_be_text():
    assert (
        of_input("inputStatistics", facet(rowCount="12", size=2.0), "inputFacets").properties(DPI)["inputs.rowCount"]
        == "12"
    )


def test_without_a_run_there_is_nothing_to_count_for():
    found = translate_events(dataset_event(orders(inputFacets={"inputStatistics": BODY})), report=True)
    assert found.outcomes()["$.dataset.inputFacets.inputStatistics.rowCount"] == ("dropped", "no-field:no run")
    declared = translate_events(job_event(inputs=[orders(inputFacets={"inputStatistics": BODY})], outputs=[totals()]))
    assert edge(declared)["properties"]["openlineage.inputStatistics.rowCount"] == "12"


def test_client_s_class_is_read():
    made = input_statistics_input_dataset.InputStatisticsInputDatasetFacet(rowCount=5, size=6, fileCount=7)
    properties = translate_events(client_pair(input_facets={"inputStatistics": made})).properties(DPI)
    assert (properties["inputs.rowCount"], properties["inputs.size"], properties["inputs.fileCount"]) == ("5", "6", "7")
