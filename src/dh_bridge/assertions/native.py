"""Checks in the types that DataHub evaluates itself: FIELD, VOLUME, FRESHNESS, SQL (setting `assertions.type`).

The word ``offers`` of a row in ``mappings/tables/assertions.yaml`` names the type that a check may have. The type is used only
if all values that it requires are known; no value is invented.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dh_bridge.assertions.bounds import parse_number, percentage_text
from dh_bridge.assertions.check import meaningful_value
from dh_bridge.model.properties import masked_property_text, truncate
from dh_bridge.redaction import redact_sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.assertions.check import Check
    from dh_bridge.assertions.reading import ParsedCheck

ColumnLookup = Callable[[str], "Mapping[str, Any] | None"]
"""Field path -> the column in schemaMetadata, None if the schema does not have it."""
TIME_UNITS = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")

_MAX_STATEMENT_CHARS = 32_000
_STATEMENT = re.compile(r"\s*(?:select|with)\b", re.IGNORECASE)
_AGE = re.compile(r"(\d{1,9})\s*([smhdw])", re.IGNORECASE)
_UNITS_BY_LETTER = {"s": "SECOND", "m": "MINUTE", "h": "HOUR", "d": "DAY", "w": "WEEK"}
_OPERATORS_WITHOUT_VALUE = frozenset(("NULL", "NOT_NULL", "IS_TRUE", "IS_FALSE"))
_CONDITION_KEYS = ("row_condition", "where", "filter")


def build_native_form(
    check: Check,
    parsed_check: ParsedCheck,
    dataset_urn: str,
    column_path: Callable[[str], str],
    find_column: ColumnLookup,
) -> dict[str, Any] | None:
    """Return ``type`` and the part of the aspect that belongs to it; None when the row offers none or a part is missing."""
    kind, _, variant = parsed_check.offers.partition(" ")
    build_form = _FORM_BUILDERS.get(kind)
    return (
        build_form(check, parsed_check, dataset_urn, column_path, find_column, variant)
        if build_form is not None
        else None
    )


def field_spec(column: Mapping[str, Any]) -> dict[str, str]:
    """Return the SchemaFieldSpec of a column of schemaMetadata; its type is the name of the schema's type, in capitals."""
    (kind,) = column["type"]["type"]
    type_name = kind.rpartition(".")[2].removesuffix("Type").upper()
    kind = "STRUCT" if type_name == "RECORD" else type_name
    return {"path": column["fieldPath"], "type": kind, "nativeType": column["nativeDataType"]}


def sql_filter(sql: str | None) -> dict[str, Any]:
    """Return the filter of an assertion over some rows only."""
    return {} if sql is None else {"filter": {"type": "SQL", "sql": sql}}


def fixed_interval(multiple: int, unit: str) -> dict[str, Any]:
    """Return a schedule: within the last ``multiple`` ``unit`` (one of TIME_UNITS)."""
    return {"type": "FIXED_INTERVAL", "fixedInterval": {"unit": unit, "multiple": multiple}}


def _build_field_form(  # noqa: PLR0913 - one signature for all forms
    check: Check,
    parsed_check: ParsedCheck,
    dataset_urn: str,
    column_path: Callable[[str], str],
    find_column: ColumnLookup,
    variant: str,
) -> dict[str, Any] | None:
    schema_column = find_column(column_path(parsed_check.columns[0])) if len(parsed_check.columns) == 1 else None
    comparison = _build_comparison(parsed_check)
    if schema_column is None or comparison is None:
        return None
    assertion: dict[str, Any] = {"field": field_spec(schema_column)}
    if variant and variant != "LENGTH":
        limits = _numeric_limits(comparison["parameters"], is_percentage=variant.endswith("_PERCENTAGE"))
        if limits is None:
            return None
        comparison["parameters"] = limits
        assertion = {
            "type": "FIELD_METRIC",
            "entity": dataset_urn,
            "fieldMetricAssertion": {**assertion, "metric": variant, **comparison},
        }
        return {"type": "FIELD", "fieldAssertion": assertion | sql_filter(_row_condition(check))}
    threshold = _fail_threshold(check)
    if threshold is None:
        return None
    assertion |= ({"transform": {"type": "LENGTH"}} if variant else {}) | comparison
    # a check for nulls has to see them
    assertion |= {"failThreshold": threshold, "excludeNulls": parsed_check.operator not in ("NULL", "NOT_NULL")}
    assertion = {"type": "FIELD_VALUES", "entity": dataset_urn, "fieldValuesAssertion": assertion}
    return {"type": "FIELD", "fieldAssertion": assertion | sql_filter(_row_condition(check))}


def _build_volume_form(check: Check, parsed_check: ParsedCheck, dataset_urn: str, *_: Any) -> dict[str, Any] | None:
    comparison = _build_comparison(parsed_check)
    if comparison is None or _numeric_limits(parsed_check.parameters, is_percentage=False) is None:
        return None
    assertion = {"type": "ROW_COUNT_TOTAL", "entity": dataset_urn, "rowCountTotal": comparison}
    return {"type": "VOLUME", "volumeAssertion": assertion | sql_filter(_row_condition(check))}


def _build_sql_form(check: Check, parsed_check: ParsedCheck, dataset_urn: str, *_: Any) -> dict[str, Any] | None:
    """Return that the statement finds nothing; a mere expression is no statement, and the form has no filter."""
    if (
        parsed_check.logic is None
        or not _STATEMENT.match(parsed_check.logic)
        or len(parsed_check.logic) > _MAX_STATEMENT_CHARS
        or _row_condition(check)
    ):
        return None
    assertion = {
        "type": "METRIC",
        "entity": dataset_urn,
        "statement": redact_sql(parsed_check.logic),
        "operator": "EQUAL_TO",
    }
    return {"type": "SQL", "sqlAssertion": {**assertion, "parameters": {"value": {"value": "0", "type": "NUMBER"}}}}


def _build_freshness_form(check: Check, parsed_check: ParsedCheck, dataset_urn: str, *_: Any) -> dict[str, Any] | None:
    """Return the age that is allowed: ``datepart`` and ``interval`` (dbt), or ``< 1d`` (Soda)."""
    unit, multiple = (
        str(meaningful_value(check.params.get("datepart")) or "").upper(),
        parse_number(check.params.get("interval")),
    )
    if unit not in TIME_UNITS or multiple is None:
        value = (
            parsed_check.parameters.get("value", {}).get("value", "")
            if parsed_check.operator.startswith("LESS_THAN")
            else ""
        )
        age = _AGE.fullmatch(value)
        if age is None:
            return None
        unit, multiple = _UNITS_BY_LETTER[age[2].lower()], float(age[1])
    if not multiple.is_integer() or not 0 < multiple < 2**31:
        return None
    assertion = {"type": "DATASET_CHANGE", "entity": dataset_urn, "schedule": fixed_interval(int(multiple), unit)}
    return {"type": "FRESHNESS", "freshnessAssertion": assertion | sql_filter(_row_condition(check))}


_FORM_BUILDERS: dict[str, Callable[..., dict[str, Any] | None]] = {
    "FIELD": _build_field_form,
    "VOLUME": _build_volume_form,
    "SQL": _build_sql_form,
    "FRESHNESS": _build_freshness_form,
}


def _build_comparison(parsed_check: ParsedCheck) -> dict[str, Any] | None:
    """Return operator and parameters; None for an operator without the value that it takes."""
    if parsed_check.operator in _OPERATORS_WITHOUT_VALUE:
        return {"operator": parsed_check.operator}
    if parsed_check.operator == "_NATIVE_" or not parsed_check.parameters:
        return None
    return {"operator": parsed_check.operator, "parameters": parsed_check.parameters}


def _numeric_limits(parameters: dict[str, dict[str, str]], *, is_percentage: bool) -> dict[str, Any] | None:
    """Return the limits of a metric, which is a number; DataHub's percentages are of a hundred."""
    if any(parameter["type"] != "NUMBER" for parameter in parameters.values()):
        return None
    if not is_percentage:
        return parameters
    return {name: {**parameter, "value": percentage_text(parameter["value"])} for name, parameter in parameters.items()}


def _fail_threshold(check: Check) -> dict[str, Any] | None:
    """Return how many values may differ; ``mostly`` (Great Expectations) as an integer percentage, None if it is not one."""
    mostly = meaningful_value(check.params.get("mostly"))
    if mostly is None:
        return {"type": "COUNT", "value": 0}
    fraction = parse_number(mostly)
    allowed_percentage = round((1 - fraction) * 100, 6) if fraction is not None and 0 <= fraction <= 1 else 0.5
    return (
        {"type": "PERCENTAGE", "value": int(allowed_percentage)}
        if allowed_percentage == int(allowed_percentage)
        else None
    )


def _row_condition(check: Check) -> str | None:
    """Return the condition on the rows that are looked at."""
    for key in _CONDITION_KEYS:
        text = meaningful_value(check.params.get(key))
        if isinstance(text, str) and (value_text := masked_property_text(key, text)) is not None:
            return truncate(value_text)
    return None
