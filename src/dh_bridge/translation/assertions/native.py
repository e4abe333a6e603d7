"""Checks in the types that DataHub evaluates itself: FIELD, VOLUME, FRESHNESS, SQL (setting `assertions.type`).

Which of them a check may be is the word ``offers`` of its row in ``mappings/tables/assertions.yaml``. A type is taken only
where all that it requires is known; nothing is invented to fill it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dh_bridge.redaction import redacted_sql
from dh_bridge.translation.assertions.bounds import number, percent
from dh_bridge.translation.assertions.check import said
from dh_bridge.translation.properties import capped, kept_unmasked

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.translation.assertions.check import Check
    from dh_bridge.translation.assertions.reading import Reading

ColumnOf = Callable[[str], "Mapping[str, Any] | None"]
"""Field path -> the column as it stands in schemaMetadata, None when the schema does not know it."""
UNITS = ("SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")

_STATEMENT_CAP = 32_000
_STATEMENT = re.compile(r"\s*(?:select|with)\b", re.IGNORECASE)
_AGE = re.compile(r"(\d{1,9})\s*([smhdw])", re.IGNORECASE)
_LETTERS = {"s": "SECOND", "m": "MINUTE", "h": "HOUR", "d": "DAY", "w": "WEEK"}
_VALUELESS = frozenset(("NULL", "NOT_NULL", "IS_TRUE", "IS_FALSE"))
_CONDITIONS = ("row_condition", "where", "filter")


def native_form(
    check: Check, found: Reading, dataset: str, path: Callable[[str], str], column: ColumnOf
) -> dict[str, Any] | None:
    """Return ``type`` and the part of the aspect that belongs to it; None when the row offers none or a part is missing."""
    kind, _, how = found.offers.partition(" ")
    form = _FORMS.get(kind)
    return form(check, found, dataset, path, column, how) if form is not None else None


def field_spec(column: Mapping[str, Any]) -> dict[str, str]:
    """Return the SchemaFieldSpec of a column of schemaMetadata; its type is the name of the schema's type, in capitals."""
    (kind,) = column["type"]["type"]
    word = kind.rpartition(".")[2].removesuffix("Type").upper()
    kind = "STRUCT" if word == "RECORD" else word
    return {"path": column["fieldPath"], "type": kind, "nativeType": column["nativeDataType"]}


def sql_filter(sql: str | None) -> dict[str, Any]:
    """Return the filter of an assertion over some rows only."""
    return {} if sql is None else {"filter": {"type": "SQL", "sql": sql}}


def fixed_interval(multiple: int, unit: str) -> dict[str, Any]:
    """Return a schedule: within the last ``multiple`` ``unit`` (one of UNITS)."""
    return {"type": "FIXED_INTERVAL", "fixedInterval": {"unit": unit, "multiple": multiple}}


def _field(  # noqa: PLR0913 - one signature for all forms
    check: Check, found: Reading, dataset: str, path: Callable[[str], str], column: ColumnOf, how: str
) -> dict[str, Any] | None:
    known = column(path(found.columns[0])) if len(found.columns) == 1 else None
    compared = _compared(found)
    if known is None or compared is None:
        return None
    body: dict[str, Any] = {"field": field_spec(known)}
    if how and how != "LENGTH":
        limits = _numbers(compared["parameters"], of_hundred=how.endswith("_PERCENTAGE"))
        if limits is None:
            return None
        compared["parameters"] = limits
        body = {"type": "FIELD_METRIC", "entity": dataset, "fieldMetricAssertion": {**body, "metric": how, **compared}}
        return {"type": "FIELD", "fieldAssertion": body | sql_filter(_condition(check))}
    threshold = _threshold(check)
    if threshold is None:
        return None
    body |= ({"transform": {"type": "LENGTH"}} if how else {}) | compared
    # a check for nulls has to see them
    body |= {"failThreshold": threshold, "excludeNulls": found.operator not in ("NULL", "NOT_NULL")}
    body = {"type": "FIELD_VALUES", "entity": dataset, "fieldValuesAssertion": body}
    return {"type": "FIELD", "fieldAssertion": body | sql_filter(_condition(check))}


def _volume(check: Check, found: Reading, dataset: str, *_: Any) -> dict[str, Any] | None:
    compared = _compared(found)
    if compared is None or _numbers(found.parameters, of_hundred=False) is None:
        return None
    body = {"type": "ROW_COUNT_TOTAL", "entity": dataset, "rowCountTotal": compared}
    return {"type": "VOLUME", "volumeAssertion": body | sql_filter(_condition(check))}


def _sql(check: Check, found: Reading, dataset: str, *_: Any) -> dict[str, Any] | None:
    """Return that the statement finds nothing; a mere expression is no statement, and the form has no filter."""
    if (
        found.logic is None
        or not _STATEMENT.match(found.logic)
        or len(found.logic) > _STATEMENT_CAP
        or _condition(check)
    ):
        return None
    body = {"type": "METRIC", "entity": dataset, "statement": redacted_sql(found.logic), "operator": "EQUAL_TO"}
    return {"type": "SQL", "sqlAssertion": {**body, "parameters": {"value": {"value": "0", "type": "NUMBER"}}}}


def _freshness(check: Check, found: Reading, dataset: str, *_: Any) -> dict[str, Any] | None:
    """Return the age that is allowed: ``datepart`` and ``interval`` (dbt), or ``< 1d`` (Soda)."""
    unit, multiple = str(said(check.params.get("datepart")) or "").upper(), number(check.params.get("interval"))
    if unit not in UNITS or multiple is None:
        value = found.parameters.get("value", {}).get("value", "") if found.operator.startswith("LESS_THAN") else ""
        age = _AGE.fullmatch(value)
        if age is None:
            return None
        unit, multiple = _LETTERS[age[2].lower()], float(age[1])
    if not multiple.is_integer() or not 0 < multiple < 2**31:
        return None
    body = {"type": "DATASET_CHANGE", "entity": dataset, "schedule": fixed_interval(int(multiple), unit)}
    return {"type": "FRESHNESS", "freshnessAssertion": body | sql_filter(_condition(check))}


_FORMS: dict[str, Callable[..., dict[str, Any] | None]] = {
    "FIELD": _field,
    "VOLUME": _volume,
    "SQL": _sql,
    "FRESHNESS": _freshness,
}


def _compared(found: Reading) -> dict[str, Any] | None:
    """Return operator and parameters; None for an operator without the value that it takes."""
    if found.operator in _VALUELESS:
        return {"operator": found.operator}
    if found.operator == "_NATIVE_" or not found.parameters:
        return None
    return {"operator": found.operator, "parameters": found.parameters}


def _numbers(parameters: dict[str, dict[str, str]], *, of_hundred: bool) -> dict[str, Any] | None:
    """Return the limits of a metric, which is a number; DataHub's percentages are of a hundred."""
    if any(one["type"] != "NUMBER" for one in parameters.values()):
        return None
    if not of_hundred:
        return parameters
    return {name: {**one, "value": percent(one["value"])} for name, one in parameters.items()}


def _threshold(check: Check) -> dict[str, Any] | None:
    """Return how many values may differ; ``mostly`` (Great Expectations) as a whole percentage, None when it is none."""
    mostly = said(check.params.get("mostly"))
    if mostly is None:
        return {"type": "COUNT", "value": 0}
    share = number(mostly)
    rest = round((1 - share) * 100, 6) if share is not None and 0 <= share <= 1 else 0.5
    return {"type": "PERCENTAGE", "value": int(rest)} if rest == int(rest) else None


def _condition(check: Check) -> str | None:
    """Return the condition on the rows that are looked at."""
    for key in _CONDITIONS:
        text = said(check.params.get(key))
        if isinstance(text, str) and (written := kept_unmasked(key, text)) is not None:
            return capped(written)
    return None
