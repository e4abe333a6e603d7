"""icebergCommitReport (output)."""

from __future__ import annotations

import pytest
from support.facet_cases import (
    DPI,
    ORDERS,
    TOTALS,
    dataset_event,
    event,
    facet,
    job_event,
    of_input,
    of_output,
    pair,
    totals,
    translate_events,
)

KEY = "icebergCommitReport"


def report(operation="append", **metrics):
    return facet(
        snapshotId=77.0,
        sequenceNumber=4,
        operation=operation,
        commitMetrics=metrics,
        metadata={"iceberg-version": "1.9"},
    )


def written(body, **bags):
    return translate_events(pair(outputs=[totals(outputFacets={KEY: body, **bags})]))


def operation(found):
    return found.one(TOTALS, "operation")


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
@pytest.mark.parametrize(
    ("word", "kind", "rows"),
    [
        ("append", "INSERT", 5),
        ("delete", "DELETE", 2),
        ("overwrite", "UPDATE", 7),
        ("replace", "UPDATE", None),
        ("merge-it", "INSERT", None),
    ],
)
def test_commit_sets_operation_type_and_affected_rows(word, kind, rows, profile):
    found = operation(
        of_output(KEY, report(word, addedRecords=5.0, removedRecords=2), bag="outputFacets", datahub_version=profile)
    )
    assert found["operationType"] == kind
    assert found.get("numAffectedRows") == rows
    assert found["customProperties"][f"openlineage.{KEY}.operation"] == word


def test_output_statistics_and_lifecycle_win_over_the_commit():
    found = operation(
        written(
            report("delete", removedRecords=9),
            outputStatistics=facet(rowCount=1),
            lifecycleStateChange=facet(lifecycleStateChange="CREATE"),
        )
    )
    assert (found["numAffectedRows"], found["operationType"]) == (1, "CREATE")


def test_commit_metrics_are_operation_properties_without_zeros():
    found = operation(written(report(attempts=1, addedDVs=0, addedDataFiles=2.0, totalDuration=1.5)))[
        "customProperties"
    ]
    start = f"openlineage.{KEY}."
    assert {key.removeprefix(start): value for key, value in found.items() if key.startswith(start)} == {
        "snapshotId": "77", "sequenceNumber": "4", "operation": "append", "metadata": '{"iceberg-version":"1.9"}',
        "commitMetrics.attempts": "1", "commitMetrics.addedDataFiles": "2", "commitMetrics.totalDuration": "1.5",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("word", "statistics"), [("append", {}), ("replace", {}), ("append", {"outputStatistics": facet(rowCount=1)})]
)
def test_zero_metric_is_mapped_only_if_written(word, statistics):
    body = report(word, addedDVs=0, addedRecords=0, removedRecords=3, totalRecords=0, totalFilesSizeInBytes=0)
    found = translate_events(event(outputs=[totals(outputFacets={KEY: body, **statistics})]), report=True).outcomes()
    counted = word == "append" and not statistics
    nothing = ("dropped", "empty:zero")
    assert {leaf: found[f"$.outputs[0].outputFacets.{KEY}.commitMetrics.{leaf}"] for leaf in body["commitMetrics"]} == {
        "addedDVs": nothing,
        "addedRecords": ("mapped", "operation.numAffectedRows") if counted else nothing,
        "removedRecords": ("property", f"operation.customProperties[openlineage.{KEY}.commitMetrics.removedRecords]"),
        "totalRecords": ("mapped", "datasetProfile.rowCount"),
        "totalFilesSizeInBytes": ("mapped", "datasetProfile.sizeInBytes"),
    }
    hidden = report(word, totalRecords=0, totalEqualityDeletes=1)
    found = translate_events(event(outputs=[totals(outputFacets={KEY: hidden, **statistics})]), report=True).outcomes()
    assert found[f"$.outputs[0].outputFacets.{KEY}.commitMetrics.totalRecords"] == nothing


def test_snapshot_is_the_dataset_s():
    assert written(report()).properties(TOTALS)[f"{KEY}.snapshotId"] == "77"


def test_totals_are_the_profile_of_the_table():
    found = written(report(totalRecords=100.0, totalFilesSizeInBytes=999)).one(TOTALS, "datasetProfile")
    assert (found["rowCount"], found["sizeInBytes"]) == (100, 999)


@pytest.mark.parametrize("deletes", ["totalPositionalDeletes", "totalEqualityDeletes"])
def test_rows_that_deletes_hide_are_no_row_count(deletes):
    found = written(report(totalRecords=100, totalFilesSizeInBytes=9, **{deletes: 3}))
    assert "rowCount" not in found.one(TOTALS, "datasetProfile")
    assert operation(found)["customProperties"][f"openlineage.{KEY}.commitMetrics.totalRecords"] == "100"
    assert written(report(totalRecords=100, **{deletes: 0})).one(TOTALS, "datasetProfile")["rowCount"] == 100


def test_metrics_of_data_quality_win_over_totals():
    found = written(report(totalRecords=100), dataQualityMetrics=facet(rowCount=98))
    assert found.one(TOTALS, "datasetProfile")["rowCount"] == 98


def test_last_report_of_a_run_counts_in_any_order():
    stated = [
        event("RUNNING", time="2026-11-20T01:00:10Z", outputs=[totals(outputFacets={KEY: report(addedRecords=9)})]),
        event(outputs=[totals(outputFacets={KEY: report(addedRecords=4)})]),
    ]
    assert operation(translate_events(stated)) == operation(translate_events(stated[::-1]))
    assert operation(translate_events(stated))["numAffectedRows"] == 4


def test_commit_report_without_a_run_output_is_on_the_dataset():
    body = report(totalRecords=100, addedRecords=5)
    found = translate_events(dataset_event(totals(facets={KEY: body})))
    assert found.properties(TOTALS)[f"{KEY}.commitMetrics.addedRecords"] == "5"
    assert found.one(TOTALS, "datasetProfile")["rowCount"] == 100
    assert (
        translate_events(job_event(outputs=[totals(outputFacets={KEY: body})])).properties(TOTALS)[f"{KEY}.operation"]
        == "append"
    )
    read = of_input(KEY, body, bag="inputFacets")
    assert read.properties(ORDERS)[f"{KEY}.snapshotId"] == "77"
    assert not read.has(ORDERS, "datasetProfile")


def test_invalid_fields_are_dropped_individually():
    body = facet(
        snapshotId="x", operation=["append"], metadata=[1],
        commitMetrics={"totalRecords": -1, "totalFilesSizeInBytes": 1e300, "addedRecords": "5", "other": 2},
    )  # fmt: skip
    found = of_output(KEY, body, bag="outputFacets", report=True)
    assert not found.has(TOTALS, "datasetProfile")
    assert "numAffectedRows" not in operation(found)
    outcomes = found.outcomes()
    assert outcomes[f"$.outputs[0].outputFacets.{KEY}.commitMetrics.totalRecords"] == (
        "property",
        f"operation.customProperties[openlineage.{KEY}.commitMetrics.totalRecords]",
    )
    assert operation(found)["customProperties"][f"openlineage.{KEY}.commitMetrics.totalRecords"] == "-1"
    assert outcomes[f"$.outputs[0].outputFacets.{KEY}.snapshotId"] == ("dropped", "malformed")
    assert found.properties(TOTALS)[f"{KEY}.commitMetrics.other"] == "2"
    for nothing in (facet(), facet(commitMetrics=None), facet(operation="")):
        found = of_output(KEY, nothing, bag="outputFacets")
        assert operation(found)["operationType"] == "INSERT"
        assert not any(KEY in key for key in [*found.properties(TOTALS), *found.properties(DPI)])


@pytest.mark.parametrize(
    ("number", "version", "stated_as"),
    [
        (1.73013941680503526e18, "1730139416805035292", "1730139416805035292"),
        (1.73013941680503526e18, "5", "1.7301394168050353e18"),
        (1.73013941680503526e18, "1730139416805035292.0", "1.7301394168050353e18"),
        (1.73013941680503526e18, None, "1.7301394168050353e18"),
        (1730139416805035292, "5", "1730139416805035292"),
    ],
)
def test_imprecise_snapshot_id_is_read_from_a_matching_version(number, version, stated_as):
    """OpenLineage's listener for Spark sends it as a float (1.53), which names a snapshot that there never was."""
    bag = {} if version is None else {"version": facet(datasetVersion=version)}
    commit = facet(snapshotId=number, operation="append")
    found = translate_events(event(outputs=[totals(facets=bag, outputFacets={KEY: commit})]))
    assert found.properties(TOTALS)[f"{KEY}.snapshotId"] == stated_as
    (operation,) = [one.value for one in found.proposals if one.aspect_name == "operation"]
    assert operation["customProperties"][f"openlineage.{KEY}.snapshotId"] == stated_as
