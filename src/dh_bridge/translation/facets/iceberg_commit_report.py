"""icebergCommitReport (output): what a commit to an Iceberg table wrote. https://openlineage.io/spec/registry/iceberg"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Facet, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import (
    AFFECTED_ROWS,
    DATASET_PROPERTIES,
    METRIC,
    OPERATION,
    OPERATION_PROPERTIES,
    Statements,
)
from dh_bridge.translation.precedence import OPERATION_ICEBERG
from dh_bridge.translation.properties import text, worded
from dh_bridge.translation.reading.beside import beside
from dh_bridge.translation.reading.iceberg import count, flat, metrics, snapshot, whole, zeros

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


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


_METRICS = tuple(name for name in CommitMetrics.__struct_fields__ if name not in Facet.__struct_fields__)
#: Rank among the sources of a profile: below dataQualityMetrics, above statistics of a rewrite.
TOTALS_RANK = 1
_KEPT = kept(OPERATION_PROPERTIES, DATASET_PROPERTIES)
_COUNTED = {
    "append": ("addedRecords",), "delete": ("removedRecords",), "overwrite": ("addedRecords", "removedRecords"),
}  # fmt: skip
_DELETES = ("totalPositionalDeletes", "totalEqualityDeletes")


@facet(
    "icebergCommitReport",
    at="dataset",
    reads=IcebergCommitReport,
    leaves={
        "snapshotId": kept(DATASET_PROPERTIES, OPERATION_PROPERTIES),
        "sequenceNumber": _KEPT,
        "operation": mapped(OPERATION, DATASET_PROPERTIES),
        **{f"commitMetrics.{name}": _KEPT for name in _METRICS},
        "commitMetrics.totalRecords": mapped(METRIC["rowCount"], *_KEPT.targets),
        "commitMetrics.totalFilesSizeInBytes": mapped(METRIC["sizeInBytes"], *_KEPT.targets),
        "commitMetrics.addedRecords": mapped(AFFECTED_ROWS, *_KEPT.targets),
        "commitMetrics.removedRecords": mapped(AFFECTED_ROWS, *_KEPT.targets),
        "metadata.**": kept(*_KEPT.targets, empty=True),
    },
    producer="Iceberg",
)
def iceberg_commit_report(facet: IcebergCommitReport, at: Place) -> Statements:
    """Type, rows and properties of the operation, totals of the profile, the snapshot as property of the dataset."""
    properties = _properties(facet, at)
    if at.role != "output" or not at.run:
        if properties:
            yield property_statement(at, properties)
    else:
        if properties:
            yield at.dataset, OPERATION_PROPERTIES, "icebergCommitReport", properties
        if (written := properties.get("icebergCommitReport.snapshotId")) is not None:
            yield property_statement(at, {"icebergCommitReport.snapshotId": written})
        if facet.operation:
            yield at.dataset, OPERATION, OPERATION_ICEBERG, facet.operation
        yield from _affected(facet, at)
    if at.role != "input":
        yield from _totals(facet.commitMetrics, at)
    zeros("commitMetrics", facet.commitMetrics, _METRICS, at)


def _properties(facet: IcebergCommitReport, at: Place) -> dict[str, str]:
    found = {"snapshotId": snapshot(facet.snapshotId, at), "sequenceNumber": whole(facet.sequenceNumber)}
    properties = {f"icebergCommitReport.{leaf}": text(number) for leaf, number in found.items() if number is not None}
    if facet.operation:
        properties["icebergCommitReport.operation"] = worded("icebergCommitReport.operation", facet.operation)
    properties.update(flat("icebergCommitReport.commitMetrics", metrics(facet.commitMetrics, _METRICS)))
    if facet.metadata:
        properties["icebergCommitReport.metadata"] = worded("icebergCommitReport.metadata", facet.metadata)
    return properties


def _affected(facet: IcebergCommitReport, at: Place) -> Statements:
    """Yield the rows that were added or removed, by what the commit did; outputStatistics, where it is there, knows better."""
    said = facet.commitMetrics
    if said is None:
        return
    leaves = _COUNTED.get((facet.operation or "").strip().lower(), ())
    if "outputStatistics" in at.keys and "rowCount" in beside(at, "outputStatistics"):
        leaves = ()
    found: list[int] = []
    for leaf in ("addedRecords", "removedRecords"):
        rows = count(getattr(said, leaf)) if leaf in leaves else None
        if rows is not None:
            found.append(rows)
            at.reached(f"commitMetrics.{leaf}", AFFECTED_ROWS)  # zero counts, too
        elif getattr(said, leaf):
            at.reached(f"commitMetrics.{leaf}", OPERATION_PROPERTIES)
    if found:
        yield at.dataset, AFFECTED_ROWS, "", sum(found)


def _totals(said: CommitMetrics | None, at: Place) -> Statements:
    """Yield the table's totals; rows that deletes hide at reading are still counted, so such a total is no row count."""
    if said is None:
        return
    rows = count(said.totalRecords)
    if rows is not None and not any(getattr(said, leaf) for leaf in _DELETES):
        yield at.dataset, METRIC, (TOTALS_RANK, "rowCount"), rows
        at.reached("commitMetrics.totalRecords", METRIC["rowCount"], *_KEPT.targets)  # zero counts, too
    size = count(said.totalFilesSizeInBytes)
    if size is not None:
        yield at.dataset, METRIC, (TOTALS_RANK, "sizeInBytes"), size
        at.reached("commitMetrics.totalFilesSizeInBytes", METRIC["sizeInBytes"], *_KEPT.targets)
