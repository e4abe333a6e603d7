"""A check, read by the table once: what it is about, and what it is called."""

from __future__ import annotations

from typing import Any

import msgspec

from dh_bridge.translation.assertions.check import Check, said
from dh_bridge.translation.assertions.parameters import Parameters, chosen, operator_and_parameters
from dh_bridge.translation.assertions.table import SCOPES, AssertionTable, Row

_SINGULAR = "singular"


class Reading(msgspec.Struct, frozen=True):
    """What a check says, in DataHub's words.

    ``native`` is the producer's own spelling, ``kind`` its normal form; ``columns`` are the names as sent, the
    check's own first; ``one_of_a_kind`` means that the name alone says which check it is (a singular dbt test);
    ``offers`` is the type that DataHub itself has for it, "" for none; ``rule`` is how the row finds the operator.
    """

    native: str
    kind: str
    scope: str
    aggregation: str
    operator: str
    parameters: Parameters
    columns: tuple[str, ...]
    logic: str | None
    one_of_a_kind: bool
    offers: str
    rule: str


def read(check: Check, platform: str, table: AssertionTable) -> Reading:
    """Return what ``check`` says, reported by ``platform`` (``dbt``, ``airflow`` …)."""
    native, single = _spelling(check, platform, table)
    named = table.named(native)
    kind = named.kind
    if kind in table.words.compared and (measured := _tail(check.name)) in table.words.measured:
        named = table.named(measured)
    own = _own_columns(check, named.columns, table)
    # what dbt expects is a number of failures, not of the thing that is measured
    expected = platform != "dbt"
    row = chosen(check, named, table, column=bool(own), expected=expected)
    operator, parameters = operator_and_parameters(check, named, row, table, expected=expected)
    return Reading(
        native,
        kind,
        SCOPES[row.scope],
        row.aggregation,
        operator,
        parameters,
        _columns(check, own, row),
        _logic(check, own, row),
        single,
        row.offers,
        row.operator,
    )


def _spelling(check: Check, platform: str, table: AssertionTable) -> tuple[str, bool]:
    """Return the producer's spelling of the kind, and whether that is the name of one single test.

    A test without a type is called by its name's tail. dbt reports a singular test as an assertion
    called by its name and as a test ``test.<project>.<name>``: both are one check.
    """
    kind, name = said(check.assertion) or "", said(check.name)
    if (
        check.source == "test"
        and name is not None
        and (not kind or kind == name or table.named(kind).kind == _SINGULAR)
    ):
        return _tail(name) or name, platform == "dbt" or name.startswith("test.")
    single = platform == "dbt" and bool(kind) and kind == name and said(check.column) is None
    return kind or name or "unknown", single


def _tail(name: Any) -> str:
    return (said(name) or "").rpartition(".")[2]


def _own_columns(check: Check, named: tuple[str, ...], table: AssertionTable) -> tuple[str, ...]:
    column = said(check.column)
    if column is not None:
        return (column,)
    if named:
        return named
    found = (check.params.get(name) for name in table.words.column)
    return tuple(value for value in found if isinstance(value, str) and said(value) is not None)[:1]


def _columns(check: Check, own: tuple[str, ...], row: Row) -> tuple[str, ...]:
    found: list[Any] = list(own)
    for name in row.fields:
        value = check.params.get(name)
        found += value if isinstance(value, list) else [value]
    return tuple(dict.fromkeys(name for name in found if isinstance(name, str) and said(name) is not None))


def _logic(check: Check, own: tuple[str, ...], row: Row) -> str | None:
    content: str | None = said(check.content)
    if content is not None or not row.logic:
        return content
    params = check.params
    if row.logic == "expression":
        expression = params.get("expression")
        return expression if isinstance(expression, str) and said(expression) is not None else None
    other, field = params.get("to"), params.get("field")
    if not own or not isinstance(other, str):
        return None
    return f"{own[0]} references {other}.{field}" if isinstance(field, str) else f"{own[0]} references {other}"
