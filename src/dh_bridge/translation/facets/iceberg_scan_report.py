"""icebergScanReport (input): what a scan of an Iceberg table read. https://openlineage.io/spec/registry/iceberg"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.urns import is_urn, schema_field_urn
from dh_bridge.translation.facet import Facet, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import (
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    INPUT_FIELD,
    RUN_BY_DATASET,
    STATISTIC,
    Statements,
)
from dh_bridge.translation.properties import capped
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.reading.beside import beside
from dh_bridge.translation.reading.iceberg import count, metrics, snapshot, whole, zeros
from dh_bridge.translation.reading.subsets import hashed

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


class ScanMetrics(Facet):
    """Durations, files and manifests; Iceberg writes some numbers as floats."""

    totalPlanningDuration: int | float | None = None
    resultDataFiles: int | float | None = None
    resultDeleteFiles: int | float | None = None
    totalDataManifests: int | float | None = None
    totalDeleteManifests: int | float | None = None
    scannedDataManifests: int | float | None = None
    skippedDataManifests: int | float | None = None
    totalFileSizeInBytes: int | float | None = None
    totalDeleteFileSizeInBytes: int | float | None = None
    skippedDataFiles: int | float | None = None
    skippedDeleteFiles: int | float | None = None
    scannedDeleteManifests: int | float | None = None
    skippedDeleteManifests: int | float | None = None
    indexedDeleteFiles: int | float | None = None
    equalityDeleteFiles: int | float | None = None
    positionalDeleteFiles: int | float | None = None


class IcebergScanReport(Facet):
    """The snapshot that was read, the columns, the filter, and the metrics."""

    snapshotId: int | float | None = None
    filterDescription: str | None = None
    schemaId: int | float | None = None
    projectedFieldNames: list[str] | None = None
    scanMetrics: ScanMetrics | None = None
    metadata: dict[str, Any] | None = None


_METRICS = tuple(name for name in ScanMetrics.__struct_fields__ if name not in Facet.__struct_fields__)
_KEPT = kept(RUN_BY_DATASET, EDGE_PROPERTIES, DATASET_PROPERTIES)
#: inputStatistics that the report tells when the facet itself does not
_COUNTS = {"resultDataFiles": "fileCount", "totalFileSizeInBytes": "size"}


@facet(
    "icebergScanReport",
    at="dataset",
    reads=IcebergScanReport,
    leaves={
        **dict.fromkeys(("snapshotId", "schemaId", "filterDescription"), _KEPT),
        "projectedFieldNames[]": mapped(INPUT_FIELD, *_KEPT.targets),
        **{f"scanMetrics.{name}": _KEPT for name in _METRICS},
        **{f"scanMetrics.{name}": kept(*_KEPT.targets, STATISTIC[field]) for name, field in _COUNTS.items()},
        "metadata.**": kept(*_KEPT.targets, empty=True),
    },
    producer="Iceberg",
)
def iceberg_scan_report(facet: IcebergScanReport, at: Place) -> Statements:
    """Snapshot, schema and filter on the edge, all of it on the run; columns read as input fields; missing counts filled in."""
    edge = _described(facet, at)
    report: dict[str, Any] = {
        **edge,
        "scanMetrics": metrics(facet.scanMetrics, _METRICS),
        "metadata": facet.metadata or {},
    }
    report = {leaf: value for leaf, value in report.items() if value != {}}
    if at.task and at.role == "input":
        yield from _fields(facet, at)
        yield from _filled(facet, at)
    elif facet.projectedFieldNames:
        report["projectedFieldNames"] = facet.projectedFieldNames
    zeros("scanMetrics", facet.scanMetrics, _METRICS, at)
    if not report:
        return
    direction = "output" if at.role == "output" else "input"
    if at.run:
        yield at.run, RUN_BY_DATASET, (f"{direction}s.icebergScanReport", at.dataset), report
    shown = edge if at.run else report
    properties = {
        f"icebergScanReport.{leaf}": written
        for leaf, value in shown.items()
        if (written := kept_text(f"icebergScanReport.{leaf}", value)) is not None
    }
    if properties and at.task:
        yield at.task, EDGE_PROPERTIES, (direction, at.dataset, "icebergScanReport"), properties
    elif properties:
        yield property_statement(at, properties)


def _described(facet: IcebergScanReport, at: Place) -> dict[str, Any]:
    """Return snapshot, schema and filter; a filter holds literals, so it follows `subset.literals`."""
    found = {"snapshotId": snapshot(facet.snapshotId, at), "schemaId": whole(facet.schemaId)}
    described: dict[str, Any] = {leaf: number for leaf, number in found.items() if number is not None}
    literals = at.options.settings.subset.literals
    if facet.filterDescription and literals == "drop":
        at.withheld("filterDescription", "policy:subset.literals")
    elif facet.filterDescription:
        hidden = literals == "hash"
        text_ = hashed(facet.filterDescription) if hidden else capped(facet.filterDescription)
        described["filterDescription"] = text_
    return described


def _fields(facet: IcebergScanReport, at: Place) -> Statements:
    for position, field in enumerate(facet.projectedFieldNames or ()):
        urn = schema_field_urn(at.dataset, at.name.column(field) if at.name is not None else field)
        if field and is_urn(urn):
            yield at.task, INPUT_FIELD, urn, None
        else:
            at.withheld(f"projectedFieldNames[{position}]", "too-large" if field else "malformed")


def _filled(facet: IcebergScanReport, at: Place) -> Statements:
    if facet.scanMetrics is None:
        return
    said = beside(at, "inputStatistics") if "inputStatistics" in at.keys else {}
    for metric, leaf in _COUNTS.items():
        if leaf in said:
            continue
        number = count(getattr(facet.scanMetrics, metric))
        if number is not None:
            yield at.task, STATISTIC, ("input", at.dataset, leaf), number
            at.reached(f"scanMetrics.{metric}", *_KEPT.targets, STATISTIC[leaf])  # zero counts, too
