"""Facets of the quality of a dataset: checks and measured values."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from dh_bridge.aggregate.skipped import PROPERTY, is_skipped_test
from dh_bridge.assertions import Check
from dh_bridge.facet_support.checks import (
    CHECK_FIELD_OUTCOMES,
    CheckFields,
    check_facts,
    note_not_run,
    note_unreadable,
    parse_success,
    unquote_column,
)
from dh_bridge.facet_support.dbt_singular_tests import asserted_dataset, is_singular, other_datasets
from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.sibling_facets import sibling_facet
from dh_bridge.facet_support.statistics import MAX_COLUMNS, MAX_QUANTILES, is_meaningful_count, quantile_fraction
from dh_bridge.facets.dagster_asset_check import check_severities
from dh_bridge.model.facts import (
    CAPTURE_TIME,
    CHECKS,
    DATASET_PROPERTIES,
    LAST_MODIFIED,
    METRIC,
    RESULTS,
    RUN_PROPERTIES,
    Facts,
)
from dh_bridge.model.properties import present_property_text, truncate
from dh_bridge.openlineage.times import is_date, parse_time
from dh_bridge.redaction import REDACTED, is_hidden_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.facet_support.context import FacetContext


# -- dataQualityAssertions (dataset, input): checks and how they ended.
#
# https://openlineage.io/docs/spec/facets/dataset-facets/input-dataset-facets/data_quality_assertions


class DataQualityAssertion(CheckFields):
    """One check on a dataset."""

    assertion: str = ""
    success: bool | str | None = None
    column: str | None = None
    name: str | None = None


class DataQualityAssertions(Facet):
    """The checks."""

    assertions: list[DataQualityAssertion] | None = None


@facet(
    "dataQualityAssertions",
    attach="dataset",
    struct=DataQualityAssertions,
    outcomes={
        f"assertions[].{field_name}": outcome
        for field_name, outcome in {
            **CHECK_FIELD_OUTCOMES, "assertion": mapped(CHECKS), "success": mapped(RESULTS), "column": mapped(CHECKS)
        }.items()
    },
)  # fmt: skip
def data_quality_assertions(facet: DataQualityAssertions, ctx: FacetContext) -> Facts:
    """One assertion for each check on the dataset, with one result for each end event of the run."""
    checks, outcome_paths = [], []
    is_run_skipped, severity_by_name = is_skipped_test(ctx), check_severities(ctx)
    for position, assertion in enumerate(facet.assertions or ()):
        is_success = (
            None if is_run_skipped else parse_success(assertion.success, f"assertions[{position}].success", ctx)
        )
        if ctx.notes is not None:
            note_unreadable(assertion, f"assertions[{position}]", ctx)
            if is_run_skipped:
                note_not_run(f"assertions[{position}]", ctx)
        check = Check(
            assertion=assertion.assertion or assertion.name or "unknown", success=is_success, column=unquote_column(assertion.column),
            severity=assertion.severity or severity_by_name.get(assertion.assertion), name=assertion.name, description=assertion.description, expected=assertion.expected, actual=assertion.actual,
            content=assertion.content, content_type=assertion.contentType, params=assertion.params or {}, failures=assertion.failures,
            source="dataQualityAssertions",
        )  # fmt: skip
        if ctx.role == "input" and is_singular(check, ctx):
            dataset = asserted_dataset(check, ctx)
            if dataset != ctx.dataset_urn:
                ctx.note_dropped(f"assertions[{position}]", f"duplicate-of:the same test of {dataset}")
                continue
            check.other_datasets = other_datasets(ctx.dataset_urn, ctx)
        checks.append(check)
        outcome_paths.append(f"assertions[{position}].success")
    yield from check_facts(checks, ctx.dataset_urn, ctx, outcome_paths=outcome_paths if ctx.notes is not None else None)
    if is_run_skipped and checks:
        names = present_property_text(PROPERTY, [check.name or check.assertion for check in checks])
        yield ctx.run_urn, RUN_PROPERTIES, f"{ctx.key} {ctx.dataset_urn}", {PROPERTY: names}


# -- dataQualityMetrics (dataset, input): measured rows and columns.
#
# https://openlineage.io/docs/spec/facets/dataset-facets/data_quality_metrics


class ColumnMetrics(Facet):
    """The measurements of a column."""

    nullCount: int | None = None
    distinctCount: int | None = None
    sum: int | float | None = None
    count: int | float | None = None
    min: int | float | str | None = None
    max: int | float | str | None = None
    quantiles: dict[str, int | float] | None = None


ColumnsByName = dict[str, tuple[str, ColumnMetrics]]


class DataQualityMetrics(Facet):
    """The measurements of a table."""

    rowCount: int | None = None
    bytes: int | None = None
    fileCount: int | None = None
    lastUpdated: str | None = None
    captureDate: str | None = None
    columnMetrics: dict[str, ColumnMetrics] | None = None


#: Rank of the sources of a profile's numbers: metrics win over Iceberg totals, those over statistics.
METRICS_RANK = 0
_FIELD_NAMES = ("rowCount", "bytes", "fileCount", "lastUpdated", "captureDate", "columnMetrics")
_PROFILE = METRIC["column"]
_MEDIAN = 0.5
_COUNT_FIELDS = ("nullCount", "distinctCount")
#: Metrics about the values of a column; their number is no such metric.
_VALUE_FIELDS = ("sum", "min", "max")
#: Fields that give no profile alone, and the fields of which one is required beside them.
_REQUIRED_WITH = {"sum": ("count",), "count": ("sum", "distinctCount")}
_COLUMNS = DATASET_PROPERTIES["dataQualityMetrics.columns"]


@facet(
    "dataQualityMetrics",
    "dataQuality",
    attach="dataset",
    struct=DataQualityMetrics,
    outcomes={
        "rowCount": mapped(METRIC["rowCount"]),
        "bytes": mapped(METRIC["sizeInBytes"]),
        "fileCount": as_property(),
        "lastUpdated": mapped(LAST_MODIFIED, DATASET_PROPERTIES),
        "captureDate": mapped(CAPTURE_TIME, DATASET_PROPERTIES),
        "columnMetrics.*.nullCount": mapped(_PROFILE),
        "columnMetrics.*.distinctCount": mapped(_PROFILE),
        "columnMetrics.*.sum": as_property(_COLUMNS),
        "columnMetrics.*.count": as_property(_COLUMNS),
        "columnMetrics.*.min": mapped(_PROFILE),
        "columnMetrics.*.max": mapped(_PROFILE),
        "columnMetrics.*.quantiles.*": mapped(METRIC["quantile"]),
    },
)
def data_quality_metrics(facet: DataQualityMetrics, ctx: FacetContext) -> Facts:
    """Profile of the dataset. Values without a field in DataHub's profile (files, sums, counts) are properties."""
    if (
        ctx.key == "dataQuality"
        and "dataQualityMetrics" in ctx.facet_keys
        and not sibling_facet(ctx, "dataQualityMetrics").keys().isdisjoint(_FIELD_NAMES)
    ):
        for field_name in _FIELD_NAMES:
            ctx.note_dropped(field_name, "duplicate-of:dataQualityMetrics")  # Great Expectations writes it twice
        return
    for field_name, profile_field in (("rowCount", "rowCount"), ("bytes", "sizeInBytes")):
        count = getattr(facet, field_name)
        if count is not None and is_meaningful_count(count):
            yield ctx.dataset_urn, METRIC, (METRICS_RANK, profile_field), count
        elif count is not None:
            ctx.note_dropped(field_name, "malformed")
    properties: dict[str, str] = {}
    if facet.fileCount is not None:
        properties["dataQualityMetrics.fileCount"] = str(facet.fileCount)
    if facet.lastUpdated == "":
        ctx.note_dropped("lastUpdated", "empty")
    elif facet.lastUpdated is not None:
        properties["dataQualityMetrics.lastUpdated"] = present_property_text(
            "dataQualityMetrics.lastUpdated", facet.lastUpdated
        )
        with suppress(ValueError, OverflowError):  # a text that is no time is a property alone
            yield ctx.dataset_urn, LAST_MODIFIED, "", parse_time(facet.lastUpdated).micros
    if facet.captureDate is not None:
        yield from _capture_facts(facet.captureDate, properties, ctx)
    columns = dict(_columns_by_schema_name(facet.columnMetrics or {}, ctx))
    column_facts = list(_column_facts(columns, ctx))
    yield from column_facts
    if ctx.notes is not None:
        _note_columns(columns, {key[2] for _, _, key, _ in column_facts}, ctx)
    sums = {
        column: {
            field_name: getattr(metrics, field_name)
            for field_name in ("sum", "count")
            if getattr(metrics, field_name) is not None
        }
        for column, (_, metrics) in columns.items()
    }
    if any(sums.values()):
        column_sums = {name: counts for name, counts in sums.items() if counts}
        properties["dataQualityMetrics.columns"] = present_property_text("dataQualityMetrics.columns", column_sums)
    if properties:
        yield property_fact(ctx, properties)


def _capture_facts(text: str, properties: dict[str, str], ctx: FacetContext) -> Facts:
    """When the numbers were measured; a text that is no time is a property alone."""
    if not text.strip():
        ctx.note_dropped("captureDate", "empty")
        return
    properties["dataQualityMetrics.captureDate"] = present_property_text("dataQualityMetrics.captureDate", text)
    with suppress(ValueError, OverflowError):
        moment = parse_time(f"{text.strip()}T00:00:00Z" if is_date(text) else text).micros
        yield ctx.dataset_urn, CAPTURE_TIME, f"{ctx.version[0]}:{ctx.version[1]}", moment


def _columns_by_schema_name(
    columns: dict[str, ColumnMetrics], ctx: FacetContext
) -> Iterator[tuple[str, tuple[str, ColumnMetrics]]]:
    """Yield the columns as the schema of the dataset spells them, each with its name here; one that is named twice counts once."""
    original_names: dict[str, str] = {}
    for name in sorted(columns):
        column = ctx.name.spell_column(name) if ctx.name is not None else name
        if not name:
            ctx.note_dropped("columnMetrics.", "malformed")
        elif column in original_names:
            ctx.note_dropped(f"columnMetrics.{name}", f"duplicate-of:columnMetrics.{original_names[column]}")
        else:
            original_names[column] = name
            yield column, (name, columns[name])


def _column_facts(columns: ColumnsByName, ctx: FacetContext) -> Facts:
    for column, (name, metrics) in columns.items():
        is_hidden = is_hidden_key(name)
        for field_name in ("nullCount", "distinctCount", "sum", "count", "min", "max"):
            value = getattr(metrics, field_name)
            if value is None:
                continue
            if field_name in _COUNT_FIELDS and not is_meaningful_count(value):
                ctx.note_dropped(f"columnMetrics.{name}.{field_name}", "malformed")
            elif (is_hidden and field_name in _VALUE_FIELDS) or value == REDACTED:
                ctx.note_dropped(f"columnMetrics.{name}.{field_name}", "secret")
            elif any(
                getattr(metrics, required) is not None for required in _REQUIRED_WITH.get(field_name, (field_name,))
            ):
                metric_value = truncate(value) if isinstance(value, str) else value
                yield ctx.dataset_urn, METRIC, (METRICS_RANK, "column", column, field_name), metric_value
        if is_hidden and metrics.quantiles:
            ctx.note_dropped(f"columnMetrics.{name}.quantiles", "secret")
        elif metrics.quantiles:
            for fraction, value in _parse_quantiles(metrics.quantiles, f"columnMetrics.{name}.quantiles", ctx).items():
                yield ctx.dataset_urn, METRIC, (METRICS_RANK, "quantile", column, repr(fraction)), value


def _parse_quantiles(quantiles: dict[str, int | float], path: str, ctx: FacetContext) -> dict[float, int | float]:
    """Return the values by the part of the column; of two spellings of one part the first counts."""
    spellings: dict[float, str] = {}
    for quantile in sorted(quantiles):
        fraction = quantile_fraction(quantile)
        if fraction is None:
            ctx.note_dropped(f"{path}.{quantile}", "malformed")
        elif fraction in spellings:
            ctx.note_dropped(f"{path}.{quantile}", f"duplicate-of:{spellings[fraction]}")
        else:
            spellings[fraction] = quantile
    for fraction in sorted(spellings)[MAX_QUANTILES:]:
        if fraction != _MEDIAN:
            ctx.note_dropped(f"{path}.{spellings[fraction]}", "too-large")
    return {fraction: quantiles[quantile] for fraction, quantile in spellings.items()}


def _note_columns(columns: ColumnsByName, written_columns: set[str], ctx: FacetContext) -> None:
    """Note for the report which of the columns that are ``written_columns`` have no room, and where the sums and counts are."""
    for column in sorted(written_columns)[MAX_COLUMNS:]:
        for field_name in ("nullCount", "distinctCount", "min", "max", "quantiles"):
            ctx.note_dropped(f"columnMetrics.{columns[column][0]}.{field_name}", "too-large")
    for name, metrics in columns.values():
        _note_derived(metrics, f"columnMetrics.{name}", ctx, is_hidden=is_hidden_key(name))


def _note_derived(metrics: ColumnMetrics, path: str, ctx: FacetContext, *, is_hidden: bool) -> None:
    """Note for the report that a sum or a count is also in the profile, if a mean or a proportion of distinct values uses it."""
    properties = () if is_hidden else (_COLUMNS,)
    if metrics.count and metrics.sum is not None:
        ctx.note_outcome(f"{path}.sum", *properties, _PROFILE)
    if metrics.count and ((metrics.sum is not None and not is_hidden) or metrics.distinctCount is not None):
        ctx.note_outcome(f"{path}.count", *properties, _PROFILE)
