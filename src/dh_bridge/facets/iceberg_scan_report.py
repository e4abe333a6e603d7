"""icebergScanReport (input): what a scan of an Iceberg table read. https://openlineage.io/spec/registry/iceberg"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.urns import is_urn, schema_field_urn
from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.iceberg import nonzero_metrics, note_zeros, snapshot_id, valid_count, whole_number
from dh_bridge.facet_support.sibling_facets import sibling_facet
from dh_bridge.facet_support.subsets import hash_value
from dh_bridge.model.facts import (
    DATASET_PROPERTIES,
    EDGE_PROPERTIES,
    INPUT_FIELD,
    RUN_BY_DATASET,
    STATISTIC,
    Facts,
)
from dh_bridge.model.properties import property_text, truncate

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


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


_METRIC_NAMES = tuple(name for name in ScanMetrics.__struct_fields__ if name not in Facet.__struct_fields__)
_PROPERTY_OUTCOME = as_property(RUN_BY_DATASET, EDGE_PROPERTIES, DATASET_PROPERTIES)
#: inputStatistics that the report tells when the facet itself does not
_STATISTIC_FIELDS = {"resultDataFiles": "fileCount", "totalFileSizeInBytes": "size"}


@facet(
    "icebergScanReport",
    attach="dataset",
    struct=IcebergScanReport,
    outcomes={
        **dict.fromkeys(("snapshotId", "schemaId", "filterDescription"), _PROPERTY_OUTCOME),
        "projectedFieldNames[]": mapped(INPUT_FIELD, *_PROPERTY_OUTCOME.targets),
        **{f"scanMetrics.{name}": _PROPERTY_OUTCOME for name in _METRIC_NAMES},
        **{
            f"scanMetrics.{name}": as_property(*_PROPERTY_OUTCOME.targets, STATISTIC[field])
            for name, field in _STATISTIC_FIELDS.items()
        },
        "metadata.**": as_property(*_PROPERTY_OUTCOME.targets, allows_empty=True),
    },
    producer="Iceberg",
)
def iceberg_scan_report(facet: IcebergScanReport, ctx: FacetContext) -> Facts:
    """Snapshot, schema and filter on the edge, all of it on the run; columns read as input fields; missing counts filled in."""
    edge_values = _scan_attributes(facet, ctx)
    report: dict[str, Any] = {
        **edge_values,
        "scanMetrics": nonzero_metrics(facet.scanMetrics, _METRIC_NAMES),
        "metadata": facet.metadata or {},
    }
    report = {field_name: value for field_name, value in report.items() if value != {}}
    if ctx.task_urn and ctx.role == "input":
        yield from _field_facts(facet, ctx)
        yield from _statistic_facts(facet, ctx)
    elif facet.projectedFieldNames:
        report["projectedFieldNames"] = facet.projectedFieldNames
    note_zeros("scanMetrics", facet.scanMetrics, _METRIC_NAMES, ctx)
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
                f"scanMetrics.{metric}", *_PROPERTY_OUTCOME.targets, STATISTIC[field_name]
            )  # zero counts, too
