"""icebergScanReport (input)."""

from __future__ import annotations

import json

import pytest
from support.facet_cases import (
    DPI,
    JOB,
    ORDERS,
    TOTALS,
    dataset_event,
    event,
    facet,
    job_event,
    of_input,
    of_output,
    orders,
    pair,
    translate_events,
)

KEY = "icebergScanReport"
BODY = facet(
    snapshotId=12.0, schemaId=0, filterDescription="ref(id) > 3", projectedFieldNames=["id", "amount"],
    scanMetrics={"resultDataFiles": 3.0, "totalFileSizeInBytes": 44, "skippedDataFiles": 0, "totalPlanningDuration": 1.5},
    metadata={"engine": "spark", "token": "x"},
)  # fmt: skip


def edge(found, dataset=ORDERS, side="input"):
    properties = found.patched(JOB, "dataJobInputOutput")[f"/{side}DatasetEdges/{dataset}"].get("properties", {})
    return {key.removeprefix(f"openlineage.{KEY}."): value for key, value in properties.items()}


def report(found, side="inputs", dataset=ORDERS):
    return json.loads(found.properties(DPI)[f"{side}.{KEY}"])[dataset]


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_scan_report_is_on_the_edge_and_complete_on_the_run(profile):
    found = of_input(KEY, BODY, bag="inputFacets", datahub_version=profile)
    edge_leaves = {"snapshotId": "12", "schemaId": "0", "filterDescription": "ref(id) > 3"}
    assert {key: value for key, value in edge(found).items() if key in edge_leaves} == edge_leaves
    assert report(found) == {
        "snapshotId": 12, "schemaId": 0, "filterDescription": "ref(id) > 3",
        "scanMetrics": {"resultDataFiles": 3, "totalFileSizeInBytes": 44, "totalPlanningDuration": 1.5},
        "metadata": {"engine": "spark", "token": "[REDACTED]"},
    }  # fmt: skip


def test_projected_columns_are_read_by_the_job():
    found = of_input(KEY, BODY, bag="inputFacets").patched(JOB, "dataJobInputOutput")
    fields = sorted(path for path in found if path.startswith("/inputDatasetFields/"))
    assert fields == [f"/inputDatasetFields/urn:li:schemaField:({ORDERS},{name})" for name in ("amount", "id")]


def test_files_and_bytes_fill_in_for_missing_input_statistics():
    assert edge(of_input(KEY, BODY, bag="inputFacets"))["openlineage.inputStatistics.fileCount"] == "3"
    bags = {KEY: BODY, "inputStatistics": facet(rowCount=5, fileCount=1)}
    run_properties = translate_events(pair(inputs=[orders(inputFacets=bags)])).properties(DPI)
    # each by itself: what the statistics count they know better
    assert (run_properties["inputs.fileCount"], run_properties["inputs.size"]) == (
        "1",
        str(BODY["scanMetrics"]["totalFileSizeInBytes"]),
    )


def test_zero_metric_is_a_property_only_if_written():
    body = facet(scanMetrics={"resultDataFiles": 0, "totalFileSizeInBytes": 0.0, "skippedDataFiles": 0})
    bags = {KEY: body, "inputStatistics": facet(size=7)}
    found = translate_events(pair(inputs=[orders(inputFacets=bags)]), report=True).outcomes()
    nothing = ("dropped", "empty:zero")
    assert {leaf: found[f"$.inputs[0].inputFacets.{KEY}.scanMetrics.{leaf}"] for leaf in body["scanMetrics"]} == {
        "resultDataFiles": (
            "property",
            "dataJobInputOutput.inputDatasetEdges[].properties[openlineage.inputStatistics.fileCount]",
        ),
        "totalFileSizeInBytes": nothing,
        "skippedDataFiles": nothing,
    }


def test_filter_follows_the_setting_for_literals():
    hashed = of_input(KEY, BODY, bag="inputFacets", subset={"literals": "hash"})
    assert edge(hashed)["filterDescription"].startswith("sha256:")
    dropped = of_input(KEY, BODY, bag="inputFacets", subset={"literals": "drop"}, report=True)
    assert "filterDescription" not in edge(dropped)
    assert dropped.outcomes()[f"$.inputs[0].inputFacets.{KEY}.filterDescription"] == (
        "dropped",
        "policy:subset.literals",
    )
    secret = facet(filterDescription="url = 'jdbc://a:b@c'")
    assert edge(of_input(KEY, secret, bag="inputFacets"))["filterDescription"] == "url = 'jdbc://a:***@c'"


def test_each_scanned_dataset_has_its_entry():
    inputs = [
        orders(inputFacets={KEY: facet(snapshotId=1)}),
        {**orders(inputFacets={KEY: facet(snapshotId=2)}), "name": "shop.public.totals"},
    ]
    run_properties = json.loads(translate_events(pair(inputs=inputs)).properties(DPI)[f"inputs.{KEY}"])
    assert run_properties == {ORDERS: {"snapshotId": 1}, TOTALS: {"snapshotId": 2}}


def test_without_a_run_all_of_it_is_where_there_is_room():
    on_edge = edge(translate_events(job_event(inputs=[orders(inputFacets={KEY: BODY})])))
    assert json.loads(on_edge["scanMetrics"])["resultDataFiles"] == 3
    run_properties = translate_events(dataset_event(orders(facets={KEY: BODY}))).properties(ORDERS)
    assert run_properties[f"{KEY}.snapshotId"] == "12"
    assert run_properties[f"{KEY}.projectedFieldNames"] == '["id","amount"]'


def test_scan_report_of_an_output_adds_no_input_fields():
    found = of_output(KEY, BODY, bag="outputFacets")
    assert edge(found, TOTALS, "output")["snapshotId"] == "12"
    assert report(found, "outputs", TOTALS)["schemaId"] == 0
    assert not any("schemaField" in path for path in found.patched(JOB, "dataJobInputOutput"))


def test_invalid_fields_are_dropped_individually():
    body = facet(
        snapshotId="nine", schemaId="7", filterDescription="x" * 9000, projectedFieldNames=["a", "", "c" * 600, {}],
        scanMetrics={"resultDataFiles": -1, "totalFileSizeInBytes": 1.5, "new": 3}, metadata="none",
    )  # fmt: skip
    found = of_input(KEY, body, bag="inputFacets", report=True)
    assert edge(found)["schemaId"] == "7"
    assert len(edge(found)["filterDescription"]) == 4000
    outcomes = found.outcomes()
    where = f"$.inputs[0].inputFacets.{KEY}"
    assert outcomes[f"{where}.snapshotId"] == ("dropped", "malformed")
    assert outcomes[f"{where}.projectedFieldNames[2]"] == ("dropped", "too-large")
    run = f"dataProcessInstanceProperties.customProperties[openlineage.inputs.{KEY}]"
    assert outcomes[f"{where}.scanMetrics.resultDataFiles"] == ("property", run)
    assert found.properties(ORDERS)[f"{KEY}.scanMetrics.new"] == "3"
    for nothing in (facet(), facet(scanMetrics={}), facet(projectedFieldNames=None)):
        assert f"inputs.{KEY}" not in of_input(KEY, nothing, bag="inputFacets").properties(DPI)


def test_imprecise_snapshot_id_is_read_from_the_version():
    scan = {KEY: facet(snapshotId=9.213289828996527e18)}
    read = orders(facets={"version": facet(datasetVersion="9213289828996527038")}, inputFacets=scan)
    assert edge(translate_events(event(inputs=[read])), ORDERS, "input")["snapshotId"] == "9213289828996527038"
