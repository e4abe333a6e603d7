"""dataQualityMetrics (dataset, input): measured rows and columns.

https://openlineage.io/docs/spec/facets/dataset-facets/data_quality_metrics
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.openlineage.times import instant
from dh_bridge.translation.beside import beside
from dh_bridge.translation.facet import Facet, facet, kept, mapped, property_statement
from dh_bridge.translation.properties import worded
from dh_bridge.translation.slots import LAST_MODIFIED, METRIC, Statements
from dh_bridge.translation.statistics import MOST_COLUMNS, meaningful, share_of

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place


class ColumnMetrics(Facet):
    """What was measured of a column."""

    nullCount: int | None = None
    distinctCount: int | None = None
    sum: int | float | None = None
    count: int | float | None = None
    min: int | float | str | None = None
    max: int | float | str | None = None
    quantiles: dict[str, int | float] | None = None


class DataQualityMetrics(Facet):
    """What was measured of a table."""

    rowCount: int | None = None
    bytes: int | None = None
    fileCount: int | None = None
    lastUpdated: str | None = None
    columnMetrics: dict[str, ColumnMetrics] | None = None


#: Rank of the sources of a profile's numbers (facets.md 4.5): metrics win over Iceberg totals, those over statistics.
METRICS_RANK = 0
_PROFILE = "datasetProfile.fieldProfiles"
_LEAVES = ("rowCount", "bytes", "fileCount", "lastUpdated", "columnMetrics")
_PROPERTIES = "datasetProperties.customProperties"
_KEPT = kept(_PROPERTIES)


@facet(
    "dataQualityMetrics",
    "dataQuality",
    at="dataset",
    reads=DataQualityMetrics,
    leaves={
        "rowCount": mapped("datasetProfile.rowCount"),
        "bytes": mapped("datasetProfile.sizeInBytes"),
        "fileCount": _KEPT,
        "lastUpdated": mapped("datasetProperties.lastModified"),
        "columnMetrics.*.nullCount": mapped(_PROFILE),
        "columnMetrics.*.distinctCount": mapped(_PROFILE),
        "columnMetrics.*.sum": _KEPT,
        "columnMetrics.*.count": _KEPT,
        "columnMetrics.*.min": mapped(_PROFILE),
        "columnMetrics.*.max": mapped(_PROFILE),
        "columnMetrics.*.quantiles.*": mapped(_PROFILE),
    },
)
def data_quality_metrics(facet: DataQualityMetrics, at: Place) -> Statements:
    """DatasetProfile of the dataset; what it has no field for (files, sums, counts) becomes properties."""
    if (
        at.key == "dataQuality"
        and "dataQualityMetrics" in at.keys
        and not beside(at, "dataQualityMetrics").keys().isdisjoint(_LEAVES)
    ):
        for leaf in _LEAVES:
            at.withheld(leaf, "duplicate-of:dataQualityMetrics")  # Great Expectations writes it twice (producers.md 36)
        return
    for leaf, field in (("rowCount", "rowCount"), ("bytes", "sizeInBytes")):
        count = getattr(facet, leaf)
        if count is not None and meaningful(count):
            yield at.dataset, METRIC, (METRICS_RANK, field), count
        elif count is not None:
            at.withheld(leaf, "malformed")
    properties: dict[str, str] = {}
    if facet.fileCount is not None:
        properties["dataQualityMetrics.fileCount"] = str(facet.fileCount)
    if facet.lastUpdated:
        properties["dataQualityMetrics.lastUpdated"] = worded("dataQualityMetrics.lastUpdated", facet.lastUpdated)
        try:
            yield at.dataset, LAST_MODIFIED, "", instant(facet.lastUpdated)[0]
        except (ValueError, OverflowError):
            at.reached("lastUpdated", "kept", f"{_PROPERTIES}[openlineage.dataQualityMetrics.lastUpdated]")
    yield from _columns(facet, at)
    if at.notes is not None:
        _note_columns(facet.columnMetrics or {}, at)
    sums = {
        _path(name, at): {
            leaf: getattr(metrics, leaf) for leaf in ("sum", "count") if getattr(metrics, leaf) is not None
        }
        for name, metrics in (facet.columnMetrics or {}).items()
    }
    if any(sums.values()):
        stated = {name: counts for name, counts in sums.items() if counts}
        properties["dataQualityMetrics.columns"] = worded("dataQualityMetrics.columns", stated)
    if properties:
        yield property_statement(at, properties)


def _columns(facet: DataQualityMetrics, at: Place) -> Statements:
    for name, metrics in (facet.columnMetrics or {}).items():
        column = _path(name, at)
        for leaf in ("nullCount", "distinctCount", "sum", "count", "min", "max"):
            value = getattr(metrics, leaf)
            if value is not None and leaf in ("nullCount", "distinctCount") and not meaningful(value):
                at.withheld(f"columnMetrics.{name}.{leaf}", "malformed")
            elif value is not None:
                yield at.dataset, METRIC, (METRICS_RANK, "column", column, leaf), value
        for quantile, value in (metrics.quantiles or {}).items():
            if share_of(quantile) is None:
                at.withheld(f"columnMetrics.{name}.quantiles.{quantile}", "malformed")
                continue
            yield at.dataset, METRIC, (METRICS_RANK, "quantile", column, quantile), value


def _note_columns(columns: dict[str, ColumnMetrics], at: Place) -> None:
    """Note for the report which columns a profile has no room for, and where the sums and counts of the others are."""
    for name in sorted(columns, key=lambda name: _path(name, at))[MOST_COLUMNS:]:
        for leaf in ("nullCount", "distinctCount", "min", "max", "quantiles"):
            at.withheld(f"columnMetrics.{name}.{leaf}", "too-large")
    for name, metrics in columns.items():
        _note_derived(metrics, f"columnMetrics.{name}", at)


def _path(column: str, at: Place) -> str:
    return at.name.column(column) if at.name is not None else column


def _note_derived(metrics: ColumnMetrics, path: str, at: Place) -> None:
    """Note for the report that a sum or a count is in the profile too where it gives a mean or a share of the distinct."""
    if metrics.count and metrics.sum is not None:
        at.reached(f"{path}.sum", "kept", _PROPERTIES, _PROFILE)
    if metrics.count and (metrics.sum is not None or metrics.distinctCount is not None):
        at.reached(f"{path}.count", "kept", _PROPERTIES, _PROFILE)
