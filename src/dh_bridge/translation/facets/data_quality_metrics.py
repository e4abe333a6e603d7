"""dataQualityMetrics (dataset, input): measured rows and columns.

https://openlineage.io/docs/spec/facets/dataset-facets/data_quality_metrics
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dh_bridge.openlineage.times import instant
from dh_bridge.redaction import REDACTED, hides
from dh_bridge.translation.facet import Facet, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import DATASET_PROPERTIES, LAST_MODIFIED, METRIC, Statements
from dh_bridge.translation.properties import capped, worded
from dh_bridge.translation.reading.beside import beside
from dh_bridge.translation.reading.statistics import MOST_COLUMNS, MOST_QUANTILES, meaningful, share_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.context import Place

    Columns = dict[str, tuple[str, "ColumnMetrics"]]


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


#: Rank of the sources of a profile's numbers: metrics win over Iceberg totals, those over statistics.
METRICS_RANK = 0
_LEAVES = ("rowCount", "bytes", "fileCount", "lastUpdated", "columnMetrics")
_PROFILE = METRIC["column"]
_MEDIAN = 0.5
_COUNTS = ("nullCount", "distinctCount")
#: What tells of the values in a column; how many they are tells nothing of them.
_VALUES = ("sum", "min", "max")
#: What gives a profile nothing by itself, and what it takes beside it: one of these.
_WITH = {"sum": ("count",), "count": ("sum", "distinctCount")}
_COLUMNS = DATASET_PROPERTIES["dataQualityMetrics.columns"]


@facet(
    "dataQualityMetrics",
    "dataQuality",
    at="dataset",
    reads=DataQualityMetrics,
    leaves={
        "rowCount": mapped(METRIC["rowCount"]),
        "bytes": mapped(METRIC["sizeInBytes"]),
        "fileCount": kept(),
        "lastUpdated": mapped(LAST_MODIFIED, DATASET_PROPERTIES),
        "columnMetrics.*.nullCount": mapped(_PROFILE),
        "columnMetrics.*.distinctCount": mapped(_PROFILE),
        "columnMetrics.*.sum": kept(_COLUMNS),
        "columnMetrics.*.count": kept(_COLUMNS),
        "columnMetrics.*.min": mapped(_PROFILE),
        "columnMetrics.*.max": mapped(_PROFILE),
        "columnMetrics.*.quantiles.*": mapped(METRIC["quantile"]),
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
            at.withheld(leaf, "duplicate-of:dataQualityMetrics")  # Great Expectations writes it twice
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
    if facet.lastUpdated == "":
        at.withheld("lastUpdated", "no-home:empty")
    elif facet.lastUpdated is not None:
        properties["dataQualityMetrics.lastUpdated"] = worded("dataQualityMetrics.lastUpdated", facet.lastUpdated)
        with suppress(ValueError, OverflowError):  # a text that is no time is a property alone
            yield at.dataset, LAST_MODIFIED, "", instant(facet.lastUpdated)[0]
    columns = dict(_named(facet.columnMetrics or {}, at))
    told = list(_columns(columns, at))
    yield from told
    if at.notes is not None:
        _note_columns(columns, {key[2] for _, _, key, _ in told}, at)
    sums = {
        column: {leaf: getattr(metrics, leaf) for leaf in ("sum", "count") if getattr(metrics, leaf) is not None}
        for column, (_, metrics) in columns.items()
    }
    if any(sums.values()):
        stated = {name: counts for name, counts in sums.items() if counts}
        properties["dataQualityMetrics.columns"] = worded("dataQualityMetrics.columns", stated)
    if properties:
        yield property_statement(at, properties)


def _named(columns: dict[str, ColumnMetrics], at: Place) -> Iterator[tuple[str, tuple[str, ColumnMetrics]]]:
    """Yield the columns as the schema of the dataset spells them, each with its name here; one that is named twice counts once."""
    found: dict[str, str] = {}
    for name in sorted(columns):
        column = at.name.column(name) if at.name is not None else name
        if not name:
            at.withheld("columnMetrics.", "malformed")
        elif column in found:
            at.withheld(f"columnMetrics.{name}", f"duplicate-of:columnMetrics.{found[column]}")
        else:
            found[column] = name
            yield column, (name, columns[name])


def _columns(columns: Columns, at: Place) -> Statements:
    for column, (name, metrics) in columns.items():
        hidden = hides(name)
        for leaf in ("nullCount", "distinctCount", "sum", "count", "min", "max"):
            value = getattr(metrics, leaf)
            if value is None:
                continue
            if leaf in _COUNTS and not meaningful(value):
                at.withheld(f"columnMetrics.{name}.{leaf}", "malformed")
            elif (hidden and leaf in _VALUES) or value == REDACTED:
                at.withheld(f"columnMetrics.{name}.{leaf}", "secret")
            elif any(getattr(metrics, other) is not None for other in _WITH.get(leaf, (leaf,))):
                found = capped(value) if isinstance(value, str) else value
                yield at.dataset, METRIC, (METRICS_RANK, "column", column, leaf), found
        if hidden and metrics.quantiles:
            at.withheld(f"columnMetrics.{name}.quantiles", "secret")
        elif metrics.quantiles:
            for share, value in _quantiles(metrics.quantiles, f"columnMetrics.{name}.quantiles", at).items():
                yield at.dataset, METRIC, (METRICS_RANK, "quantile", column, repr(share)), value


def _quantiles(stated: dict[str, int | float], path: str, at: Place) -> dict[float, int | float]:
    """Return the values by what part of the column lies below them; of two spellings of one part the first counts."""
    spelled: dict[float, str] = {}
    for quantile in sorted(stated):
        share = share_of(quantile)
        if share is None:
            at.withheld(f"{path}.{quantile}", "malformed")
        elif share in spelled:
            at.withheld(f"{path}.{quantile}", f"duplicate-of:{spelled[share]}")
        else:
            spelled[share] = quantile
    for share in sorted(spelled)[MOST_QUANTILES:]:
        if share != _MEDIAN:
            at.withheld(f"{path}.{spelled[share]}", "too-large")
    return {share: stated[quantile] for share, quantile in spelled.items()}


def _note_columns(columns: Columns, told: set[str], at: Place) -> None:
    """Note for the report which of the columns that are ``told`` have no room, and where the sums and counts are."""
    for column in sorted(told)[MOST_COLUMNS:]:
        for leaf in ("nullCount", "distinctCount", "min", "max", "quantiles"):
            at.withheld(f"columnMetrics.{columns[column][0]}.{leaf}", "too-large")
    for name, metrics in columns.values():
        _note_derived(metrics, f"columnMetrics.{name}", at, hidden=hides(name))


def _note_derived(metrics: ColumnMetrics, path: str, at: Place, *, hidden: bool) -> None:
    """Note for the report that a sum or a count is in the profile too where it gives a mean or a share of the distinct."""
    properties = () if hidden else (_COLUMNS,)
    if metrics.count and metrics.sum is not None:
        at.reached(f"{path}.sum", *properties, _PROFILE)
    if metrics.count and ((metrics.sum is not None and not hidden) or metrics.distinctCount is not None):
        at.reached(f"{path}.count", *properties, _PROFILE)
