"""A check, parsed once with the table: its subject and its names."""

from __future__ import annotations

from typing import Any

import msgspec

from dh_bridge.assertions.check import Check, meaningful_value
from dh_bridge.assertions.parameters import Parameters, find_row, operator_and_parameters
from dh_bridge.assertions.table import SCOPES, AssertionRow, AssertionTable

_SINGULAR = "singular"


class ParsedCheck(msgspec.Struct, frozen=True):
    """A parsed check in DataHub's terms.

    ``native`` is the producer's spelling of the name, ``kind`` its normal form; ``columns`` are the names as sent, that of the
    check first; ``is_unique``: the name identifies the check without its parameters (a singular dbt test);
    ``offers`` is DataHub's own type for it, "" for none; ``rule`` is the rule that finds the operator.
    """

    native: str
    kind: str
    scope: str
    aggregation: str
    operator: str
    parameters: Parameters
    columns: tuple[str, ...]
    logic: str | None
    is_unique: bool
    offers: str
    rule: str


def parse_check(check: Check, platform: str, table: AssertionTable) -> ParsedCheck:
    """Return the parsed ``check``, reported by ``platform`` (``dbt``, ``airflow`` …)."""
    native, is_unique = _native_name(check, platform, table)
    check_name = table.parse_name(native)
    kind = check_name.kind
    if kind in table.vocabulary.compared and (metric_name := _last_part(check.name)) in table.vocabulary.measured:
        check_name = table.parse_name(metric_name)
    check_columns = _check_columns(check, check_name.columns, table)
    # what dbt expects is a number of failures, not of the thing that is measured
    can_use_expected = platform != "dbt"
    row = find_row(check, check_name, table, has_column=bool(check_columns), can_use_expected=can_use_expected)
    operator, parameters = operator_and_parameters(check, check_name, row, table, can_use_expected=can_use_expected)
    return ParsedCheck(
        native,
        kind,
        SCOPES[row.scope],
        row.aggregation,
        operator,
        parameters,
        _all_columns(check, check_columns, row),
        _logic(check, check_columns, row),
        is_unique,
        row.offers,
        row.operator,
    )


def _native_name(check: Check, platform: str, table: AssertionTable) -> tuple[str, bool]:
    """Return the producer's spelling of the kind, and whether that is the name of one single test.

    A test without a type is called by its name's tail. dbt reports a singular test as an assertion
    called by its name and as a test ``test.<project>.<name>``: both are one check.
    """
    kind, name = meaningful_value(check.assertion) or "", meaningful_value(check.name)
    if (
        check.source == "test"
        and name is not None
        and (not kind or kind == name or table.parse_name(kind).kind == _SINGULAR)
    ):
        return _last_part(name) or name, platform == "dbt" or name.startswith("test.")
    is_unique = platform == "dbt" and bool(kind) and kind == name and meaningful_value(check.column) is None
    return kind or name or "unknown", is_unique


def _last_part(name: Any) -> str:
    return (meaningful_value(name) or "").rpartition(".")[2]


def _check_columns(check: Check, name_columns: tuple[str, ...], table: AssertionTable) -> tuple[str, ...]:
    column = meaningful_value(check.column)
    if column is not None:
        return (column,)
    if name_columns:
        return name_columns
    values = (check.params.get(name) for name in table.vocabulary.column)
    return tuple(value for value in values if isinstance(value, str) and meaningful_value(value) is not None)[:1]


def _all_columns(check: Check, check_columns: tuple[str, ...], row: AssertionRow) -> tuple[str, ...]:
    names: list[Any] = list(check_columns)
    for name in row.fields:
        value = check.params.get(name)
        names += value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str) and meaningful_value(name) is not None))


def _logic(check: Check, check_columns: tuple[str, ...], row: AssertionRow) -> str | None:
    content: str | None = meaningful_value(check.content)
    if content is not None or not row.logic:
        return content
    params = check.params
    if row.logic == "expression":
        expression = params.get("expression")
        return expression if isinstance(expression, str) and meaningful_value(expression) is not None else None
    target_table, field = params.get("to"), params.get("field")
    if not check_columns or not isinstance(target_table, str):
        return None
    return (
        f"{check_columns[0]} references {target_table}.{field}"
        if isinstance(field, str)
        else f"{check_columns[0]} references {target_table}"
    )
