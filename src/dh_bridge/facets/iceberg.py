"""Facets of Iceberg's reports (https://openlineage.io/spec/registry/iceberg)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.urns import is_urn, schema_field_urn
from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.sibling_facets import sibling_facet
from dh_bridge.facet_support.statistics import is_meaningful_count
from dh_bridge.facet_support.subsets import hash_value
from dh_bridge.model.facts import (
    AFFECTED_ROWS,
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    INPUT_FIELD,
    METRIC,
    OPERATION,
    OPERATION_PROPERTIES,
    RUN_BY_DATASET,
    STATISTIC,
    Facts,
)
from dh_bridge.model.precedence import OPERATION_ICEBERG
from dh_bridge.model.properties import json_text, present_property_text, property_text, truncate

if TYPE_CHECKING:
    from msgspec import Struct

    from dh_bridge.facet_support.context import FacetContext


# -- What Iceberg's two reports share: numbers that arrive as floats, and metrics without the zeros.

Number = int | float
_MAX_EXACT_FLOAT = 2**53  # a float beyond is one of several whole numbers


def whole_number(number: Number | None) -> Number | None:
    """Return a number as it was meant: JSON's ``12.0`` is 12."""
    return (
        int(number) if isinstance(number, float) and number.is_integer() and abs(number) < _MAX_EXACT_FLOAT else number
    )


def snapshot_id(number: Number | None, ctx: FacetContext) -> Number | None:
    """Return the id of a snapshot; if JSON has it as a float, without its last digits, as the facet ``version`` has it."""
    if isinstance(number, float) and abs(number) >= _MAX_EXACT_FLOAT:
        version = str(sibling_facet(ctx, "version").get("datasetVersion"))
        if version.isdecimal() and float(version) == number:
            return int(version)
    return whole_number(number)


def valid_count(number: Number | None) -> int | None:
    """Return a number that is to be a count; None when it cannot be one."""
    value = whole_number(number)
    return value if isinstance(value, int) and is_meaningful_count(value) else None


def nonzero_metrics(report: Struct | None, names: tuple[str, ...]) -> dict[str, Number]:
    """Return the metrics of a report that are not zero."""
    values = {name: whole_number(getattr(report, name)) for name in names} if report is not None else {}
    return {name: number for name, number in values.items() if number}


def note_zeros(path: str, report: Struct | None, names: tuple[str, ...], ctx: FacetContext) -> None:
    """Report the zeros that :func:`nonzero_metrics` leaves out.

    Except those that are already reported as written elsewhere.
    """
    if ctx.notes is not None and report is not None:
        for name in names:
            if getattr(report, name) == 0:
                ctx.note_dropped(f"{path}.{name}", "empty:zero")


def number_properties(prefix: str, numbers: dict[str, Number]) -> dict[str, str]:
    """Return numbers as properties."""
    return {f"{prefix}.{name}": json_text(number) for name, number in numbers.items()}


# -- icebergScanReport (input): a scan of an Iceberg table. https://openlineage.io/spec/registry/iceberg


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


_SCAN_METRIC_NAMES = tuple(name for name in ScanMetrics.__struct_fields__ if name not in Facet.__struct_fields__)
_SCAN_PROPERTY_OUTCOME = as_property(RUN_BY_DATASET, EDGE_PROPERTIES, DATASET_PROPERTIES)
#: fields of inputStatistics that the report adds if the facet does not have them
_STATISTIC_FIELDS = {"resultDataFiles": "fileCount", "totalFileSizeInBytes": "size"}


@facet(
    "icebergScanReport",
    attach="dataset",
    struct=IcebergScanReport,
    outcomes={
        **dict.fromkeys(("snapshotId", "schemaId", "filterDescription"), _SCAN_PROPERTY_OUTCOME),
        "projectedFieldNames[]": mapped(INPUT_FIELD, *_SCAN_PROPERTY_OUTCOME.targets),
        **{f"scanMetrics.{name}": _SCAN_PROPERTY_OUTCOME for name in _SCAN_METRIC_NAMES},
        **{
            f"scanMetrics.{name}": as_property(*_SCAN_PROPERTY_OUTCOME.targets, STATISTIC[field])
            for name, field in _STATISTIC_FIELDS.items()
        },
        "metadata.**": as_property(*_SCAN_PROPERTY_OUTCOME.targets, allows_empty=True),
    },
    producer="Iceberg",
)
def iceberg_scan_report(facet: IcebergScanReport, ctx: FacetContext) -> Facts:
    """Snapshot, schema and filter are properties of the job's edge, all fields a property of the run. Read columns are input fields of the job. Counts replace a missing inputStatistics."""
    edge_values = _scan_attributes(facet, ctx)
    report: dict[str, Any] = {
        **edge_values,
        "scanMetrics": nonzero_metrics(facet.scanMetrics, _SCAN_METRIC_NAMES),
        "metadata": facet.metadata or {},
    }
    report = {field_name: value for field_name, value in report.items() if value != {}}
    if ctx.task_urn and ctx.role == "input":
        yield from _field_facts(facet, ctx)
        yield from _statistic_facts(facet, ctx)
    elif facet.projectedFieldNames:
        report["projectedFieldNames"] = facet.projectedFieldNames
    note_zeros("scanMetrics", facet.scanMetrics, _SCAN_METRIC_NAMES, ctx)
    if not report:
        return
    direction = "output" if ctx.role == "output" else "input"
    if ctx.run_urn:
        yield ctx.run_urn, RUN_BY_DATASET, (f"{direction}s.icebergScanReport", ctx.dataset_urn), report
    property_values = edge_values if ctx.run_urn else report
    properties = {
        f"icebergScanReport.{field_name}": value_text
        for field_name, value in property_values.items()
        if (value_text := property_text(f"icebergScanReport.{field_name}", value)) is not None
    }
    if properties and ctx.task_urn:
        yield ctx.task_urn, EDGE_PROPERTIES, (direction, ctx.dataset_urn, "icebergScanReport"), properties
    elif properties:
        yield property_fact(ctx, properties)


def _scan_attributes(facet: IcebergScanReport, ctx: FacetContext) -> dict[str, Any]:
    """Return snapshot, schema and filter; a filter holds literals, so it follows `subset.literals`."""
    numbers = {"snapshotId": snapshot_id(facet.snapshotId, ctx), "schemaId": whole_number(facet.schemaId)}
    attributes: dict[str, Any] = {field_name: number for field_name, number in numbers.items() if number is not None}
    literals = ctx.options.settings.subset.literals
    if facet.filterDescription and literals == "drop":
        ctx.note_dropped("filterDescription", "policy:subset.literals")
    elif facet.filterDescription:
        is_hashed = literals == "hash"
        filter_text = hash_value(facet.filterDescription) if is_hashed else truncate(facet.filterDescription)
        attributes["filterDescription"] = filter_text
    return attributes


def _field_facts(facet: IcebergScanReport, ctx: FacetContext) -> Facts:
    for position, field in enumerate(facet.projectedFieldNames or ()):
        urn = schema_field_urn(ctx.dataset_urn, ctx.name.spell_column(field) if ctx.name is not None else field)
        if field and is_urn(urn):
            yield ctx.task_urn, INPUT_FIELD, urn, None
        else:
            ctx.note_dropped(f"projectedFieldNames[{position}]", "too-large" if field else "malformed")


def _statistic_facts(facet: IcebergScanReport, ctx: FacetContext) -> Facts:
    if facet.scanMetrics is None:
        return
    statistics = sibling_facet(ctx, "inputStatistics") if "inputStatistics" in ctx.facet_keys else {}
    for metric, field_name in _STATISTIC_FIELDS.items():
        if field_name in statistics:
            continue
        number = valid_count(getattr(facet.scanMetrics, metric))
        if number is not None:
            yield ctx.task_urn, STATISTIC, ("input", ctx.dataset_urn, field_name), number
            ctx.note_outcome(
                f"scanMetrics.{metric}", *_SCAN_PROPERTY_OUTCOME.targets, STATISTIC[field_name]
            )  # zero counts, too


# -- icebergCommitReport (output): a commit to an Iceberg table. https://openlineage.io/spec/registry/iceberg


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
    """The new snapshot, the operation, and the metrics."""

    snapshotId: int | float | None = None
    sequenceNumber: int | float | None = None
    operation: str | None = None
    commitMetrics: CommitMetrics | None = None
    metadata: dict[str, Any] | None = None


_COMMIT_METRIC_NAMES = tuple(name for name in CommitMetrics.__struct_fields__ if name not in Facet.__struct_fields__)
#: Rank among the sources of a profile: below dataQualityMetrics, above statistics of a rewrite.
TOTALS_RANK = 1
_COMMIT_PROPERTY_OUTCOME = as_property(OPERATION_PROPERTIES, DATASET_PROPERTIES)
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
        "sequenceNumber": _COMMIT_PROPERTY_OUTCOME,
        "operation": mapped(OPERATION, DATASET_PROPERTIES),
        **{f"commitMetrics.{name}": _COMMIT_PROPERTY_OUTCOME for name in _COMMIT_METRIC_NAMES},
        "commitMetrics.totalRecords": mapped(METRIC["rowCount"], *_COMMIT_PROPERTY_OUTCOME.targets),
        "commitMetrics.totalFilesSizeInBytes": mapped(METRIC["sizeInBytes"], *_COMMIT_PROPERTY_OUTCOME.targets),
        "commitMetrics.addedRecords": mapped(AFFECTED_ROWS, *_COMMIT_PROPERTY_OUTCOME.targets),
        "commitMetrics.removedRecords": mapped(AFFECTED_ROWS, *_COMMIT_PROPERTY_OUTCOME.targets),
        "metadata.**": as_property(*_COMMIT_PROPERTY_OUTCOME.targets, allows_empty=True),
    },
    producer="Iceberg",
)
def iceberg_commit_report(facet: IcebergCommitReport, ctx: FacetContext) -> Facts:
    """Operation with its type, rows and properties; profile with the totals; the snapshot is a property of the dataset."""
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
    note_zeros("commitMetrics", facet.commitMetrics, _COMMIT_METRIC_NAMES, ctx)


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
        number_properties(
            "icebergCommitReport.commitMetrics", nonzero_metrics(facet.commitMetrics, _COMMIT_METRIC_NAMES)
        )
    )
    if facet.metadata:
        properties["icebergCommitReport.metadata"] = present_property_text(
            "icebergCommitReport.metadata", facet.metadata
        )
    return properties


def _affected_row_facts(facet: IcebergCommitReport, ctx: FacetContext) -> Facts:
    """Yield the rows that the commit added or removed; outputStatistics, if present, is more exact."""
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
    """Yield the table's totals; rows that are hidden by delete files are still counted, so such a total is no row count."""
    if metrics is None:
        return
    rows = valid_count(metrics.totalRecords)
    if rows is not None and not any(getattr(metrics, field_name) for field_name in _DELETE_FIELDS):
        yield ctx.dataset_urn, METRIC, (TOTALS_RANK, "rowCount"), rows
        ctx.note_outcome(
            "commitMetrics.totalRecords", METRIC["rowCount"], *_COMMIT_PROPERTY_OUTCOME.targets
        )  # zero counts, too
    size = valid_count(metrics.totalFilesSizeInBytes)
    if size is not None:
        yield ctx.dataset_urn, METRIC, (TOTALS_RANK, "sizeInBytes"), size
        ctx.note_outcome(
            "commitMetrics.totalFilesSizeInBytes", METRIC["sizeInBytes"], *_COMMIT_PROPERTY_OUTCOME.targets
        )
