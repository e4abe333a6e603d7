"""icebergCommitReport (output): what a commit to an Iceberg table wrote. https://openlineage.io/spec/registry/iceberg"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.iceberg import (
    nonzero_metrics,
    note_zeros,
    number_properties,
    snapshot_id,
    valid_count,
    whole_number,
)
from dh_bridge.facet_support.sibling_facets import sibling_facet
from dh_bridge.model.facts import (
    AFFECTED_ROWS,
    DATASET_PROPERTIES,
    METRIC,
    OPERATION,
    OPERATION_PROPERTIES,
    Facts,
)
from dh_bridge.model.precedence import OPERATION_ICEBERG
from dh_bridge.model.properties import json_text, present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


class CommitMetrics(Facet):
    """Durations, files and records: added, removed, and the table's totals after the commit."""

    totalDuration: int | float | None = None
    attempts: int | float | None = None
    addedDataFiles: int | float | None = None
    removedDataFiles: int | float | None = None
    totalDataFiles: int | float | None = None
    addedDeleteFiles: int | float | None = None
    addedEqualityDeleteFiles: int | float | None = None
    addedPositionalDeleteFiles: int | float | None = None
    addedDVs: int | float | None = None
    removedDeleteFiles: int | float | None = None
    removedEqualityDeleteFiles: int | float | None = None
    removedPositionalDeleteFiles: int | float | None = None
    removedDVs: int | float | None = None
    totalDeleteFiles: int | float | None = None
    addedRecords: int | float | None = None
    removedRecords: int | float | None = None
    totalRecords: int | float | None = None
    addedFilesSizeInBytes: int | float | None = None
    removedFilesSizeInBytes: int | float | None = None
    totalFilesSizeInBytes: int | float | None = None
    addedPositionalDeletes: int | float | None = None
    removedPositionalDeletes: int | float | None = None
    totalPositionalDeletes: int | float | None = None
    addedEqualityDeletes: int | float | None = None
    removedEqualityDeletes: int | float | None = None
    totalEqualityDeletes: int | float | None = None


class IcebergCommitReport(Facet):
    """The new snapshot, what was done, and the metrics."""

    snapshotId: int | float | None = None
    sequenceNumber: int | float | None = None
    operation: str | None = None
    commitMetrics: CommitMetrics | None = None
    metadata: dict[str, Any] | None = None


_METRIC_NAMES = tuple(name for name in CommitMetrics.__struct_fields__ if name not in Facet.__struct_fields__)
#: Rank among the sources of a profile: below dataQualityMetrics, above statistics of a rewrite.
TOTALS_RANK = 1
_PROPERTY_OUTCOME = as_property(OPERATION_PROPERTIES, DATASET_PROPERTIES)
_ROW_FIELDS = {
    "append": ("addedRecords",), "delete": ("removedRecords",), "overwrite": ("addedRecords", "removedRecords"),
}  # fmt: skip
_DELETE_FIELDS = ("totalPositionalDeletes", "totalEqualityDeletes")


@facet(
    "icebergCommitReport",
    attach="dataset",
    struct=IcebergCommitReport,
    outcomes={
        "snapshotId": as_property(DATASET_PROPERTIES, OPERATION_PROPERTIES),
        "sequenceNumber": _PROPERTY_OUTCOME,
        "operation": mapped(OPERATION, DATASET_PROPERTIES),
        **{f"commitMetrics.{name}": _PROPERTY_OUTCOME for name in _METRIC_NAMES},
        "commitMetrics.totalRecords": mapped(METRIC["rowCount"], *_PROPERTY_OUTCOME.targets),
        "commitMetrics.totalFilesSizeInBytes": mapped(METRIC["sizeInBytes"], *_PROPERTY_OUTCOME.targets),
        "commitMetrics.addedRecords": mapped(AFFECTED_ROWS, *_PROPERTY_OUTCOME.targets),
        "commitMetrics.removedRecords": mapped(AFFECTED_ROWS, *_PROPERTY_OUTCOME.targets),
        "metadata.**": as_property(*_PROPERTY_OUTCOME.targets, allows_empty=True),
    },
    producer="Iceberg",
)
def iceberg_commit_report(facet: IcebergCommitReport, ctx: FacetContext) -> Facts:
    """Type, rows and properties of the operation, totals of the profile, the snapshot as property of the dataset."""
    properties = _build_properties(facet, ctx)
    if ctx.role != "output" or not ctx.run_urn:
        if properties:
            yield property_fact(ctx, properties)
    else:
        if properties:
            yield ctx.dataset_urn, OPERATION_PROPERTIES, "icebergCommitReport", properties
        if (value_text := properties.get("icebergCommitReport.snapshotId")) is not None:
            yield property_fact(ctx, {"icebergCommitReport.snapshotId": value_text})
        if facet.operation:
            yield ctx.dataset_urn, OPERATION, OPERATION_ICEBERG, facet.operation
        yield from _affected_row_facts(facet, ctx)
    if ctx.role != "input":
        yield from _total_facts(facet.commitMetrics, ctx)
    note_zeros("commitMetrics", facet.commitMetrics, _METRIC_NAMES, ctx)


def _build_properties(facet: IcebergCommitReport, ctx: FacetContext) -> dict[str, str]:
    numbers = {"snapshotId": snapshot_id(facet.snapshotId, ctx), "sequenceNumber": whole_number(facet.sequenceNumber)}
    properties = {
        f"icebergCommitReport.{field_name}": json_text(number)
        for field_name, number in numbers.items()
        if number is not None
    }
    if facet.operation:
        properties["icebergCommitReport.operation"] = present_property_text(
            "icebergCommitReport.operation", facet.operation
        )
    properties.update(
        number_properties("icebergCommitReport.commitMetrics", nonzero_metrics(facet.commitMetrics, _METRIC_NAMES))
    )
    if facet.metadata:
        properties["icebergCommitReport.metadata"] = present_property_text(
            "icebergCommitReport.metadata", facet.metadata
        )
    return properties


def _affected_row_facts(facet: IcebergCommitReport, ctx: FacetContext) -> Facts:
    """Yield the rows that were added or removed, by what the commit did; outputStatistics, where it is there, knows better."""
    metrics = facet.commitMetrics
    if metrics is None:
        return
    field_names = _ROW_FIELDS.get((facet.operation or "").strip().lower(), ())
    if "outputStatistics" in ctx.facet_keys and "rowCount" in sibling_facet(ctx, "outputStatistics"):
        field_names = ()
    row_counts: list[int] = []
    for field_name in ("addedRecords", "removedRecords"):
        rows = valid_count(getattr(metrics, field_name)) if field_name in field_names else None
        if rows is not None:
            row_counts.append(rows)
            ctx.note_outcome(f"commitMetrics.{field_name}", AFFECTED_ROWS)  # zero counts, too
        elif getattr(metrics, field_name):
            ctx.note_outcome(f"commitMetrics.{field_name}", OPERATION_PROPERTIES)
    if row_counts:
        yield ctx.dataset_urn, AFFECTED_ROWS, "", sum(row_counts)


def _total_facts(metrics: CommitMetrics | None, ctx: FacetContext) -> Facts:
    """Yield the table's totals; rows that deletes hide at reading are still counted, so such a total is no row count."""
    if metrics is None:
        return
    rows = valid_count(metrics.totalRecords)
    if rows is not None and not any(getattr(metrics, field_name) for field_name in _DELETE_FIELDS):
        yield ctx.dataset_urn, METRIC, (TOTALS_RANK, "rowCount"), rows
        ctx.note_outcome(
            "commitMetrics.totalRecords", METRIC["rowCount"], *_PROPERTY_OUTCOME.targets
        )  # zero counts, too
    size = valid_count(metrics.totalFilesSizeInBytes)
    if size is not None:
        yield ctx.dataset_urn, METRIC, (TOTALS_RANK, "sizeInBytes"), size
        ctx.note_outcome("commitMetrics.totalFilesSizeInBytes", METRIC["sizeInBytes"], *_PROPERTY_OUTCOME.targets)
