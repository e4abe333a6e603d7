"""The rules that a row may name: how the operator and the standard parameters of a check are found.

``range`` and its kin find the operator from what is allowed; the others fill in what the row's own operator takes.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dh_bridge.redaction import redacted
from dh_bridge.translation.assertions.bounds import Bounds, bounds, literal, number
from dh_bridge.translation.assertions.check import said
from dh_bridge.translation.properties import capped, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.translation.assertions.check import Check
    from dh_bridge.translation.assertions.table import AssertionTable, Named, Row

NATIVE = "_NATIVE_"
VALUE_CAP = 32_000
Parameters = dict[str, dict[str, str]]


def chosen(check: Check, named: Named, table: AssertionTable, *, column: bool, expected: bool) -> Row:
    """Return the first row that fits the check; the table sees to it that one does."""

    def fits(row: Row) -> bool:
        if row.column is not None and row.column is not column:
            return False
        if row.given and not any(said(check.params.get(name)) is not None for name in row.given):
            return False
        return not row.zero or number(bounds(check, named, row, table, expected=expected).equal) == 0

    return next(row for row in named.rows if fits(row))


def operator_and_parameters(
    check: Check, named: Named, row: Row, table: AssertionTable, *, expected: bool
) -> tuple[str, Parameters]:
    """Return the operator and the standard parameters, in the order of their Avro fields."""
    if (rule := _RANGES.get(row.operator)) is not None:
        return rule(check, bounds(check, named, row, table, expected=expected))
    for how, names in row.parameters.items():
        value = _VALUES[how](check, names, expected)
        return row.operator, {"value": value} if value is not None else {}
    return row.operator, {}


def as_compared(rule: str, value: float) -> float:
    """Return a measured value in the unit in which ``rule`` (the operator of a row) writes the limits.

    Of 5 missing values of a hundred the limit is a share (0.05); of values that are there, the share that is not.
    """
    changes = _UNITS.get(rule, ())
    found: Any = value
    for change in changes:
        found = change(found) if found is not None else None
    turned = number(found)
    return value if turned is None else turned


def parameter(value: Any, kind: str = "") -> dict[str, str]:
    """Return an AssertionStdParameter: a NUMBER if it parses, LIST or SET as compact JSON, else STRING."""
    if not kind:
        kind = "NUMBER" if number(value) is not None else "STRING"
    return {"value": capped(redacted(text(value)), VALUE_CAP), "type": kind}


def _range(_: Check, found: Bounds) -> tuple[str, Parameters]:
    least, greatest, equal = found.least, found.greatest, found.equal
    if equal is None and least is not None and least == greatest:
        equal = least
    if equal is not None:
        return "EQUAL_TO", {"value": parameter(equal)}
    if least is not None and greatest is not None:
        return "BETWEEN", {"maxValue": parameter(greatest), "minValue": parameter(least)}
    # one end is not BETWEEN, which wants both
    if least is not None:
        return "GREATER_THAN" if found.above else "GREATER_THAN_OR_EQUAL_TO", {"value": parameter(least)}
    if greatest is not None:
        return "LESS_THAN" if found.below else "LESS_THAN_OR_EQUAL_TO", {"value": parameter(greatest)}
    return (NATIVE, {}) if found.unequal is None else ("NOT_EQUAL_TO", {"value": parameter(found.unequal)})


def _percent_range(check: Check, found: Bounds) -> tuple[str, Parameters]:
    return _range(check, _each(found, _hundredth))


def _rest_range(check: Check, found: Bounds) -> tuple[str, Parameters]:
    return _range(check, _turned(_each(found, _rest)))


def _percent_rest_range(check: Check, found: Bounds) -> tuple[str, Parameters]:
    return _range(check, _turned(_each(_each(found, _hundredth), _rest)))


def _quantile_range(check: Check, found: Bounds) -> tuple[str, Parameters]:
    spec = check.params.get("quantile_ranges")
    pairs = spec.get("value_ranges") if isinstance(spec, dict) else None
    if isinstance(pairs, list):
        one = pairs[0] if len(pairs) == 1 else None
        if isinstance(one, list) and len(one) == 2 and None not in one:
            return _range(check, Bounds(least=one[0], greatest=one[1]))
        return NATIVE, {}
    return _range(check, found) if found.least is not None and found.greatest is not None else (NATIVE, {})


def _age(check: Check, found: Bounds) -> tuple[str, Parameters]:
    # an age has an upper end; an interval without a comparison stays native
    return _range(check, found) if found.greatest is not None and found.least is None else (NATIVE, {})


def _each(found: Bounds, change: Callable[[Any], str | None]) -> Bounds:
    least, greatest, equal, unequal = (
        None if end is None else change(end) for end in (found.least, found.greatest, found.equal, found.unequal)
    )
    return Bounds(least, greatest, equal, unequal, above=found.above, below=found.below)


def _turned(found: Bounds) -> Bounds:
    return Bounds(found.greatest, found.least, found.equal, found.unequal, above=found.below, below=found.above)


def _hundredth(value: Any) -> str | None:
    return _exact(value, lambda decimal: decimal / 100)


def _rest(value: Any) -> str | None:
    return _exact(value, lambda decimal: 1 - decimal)


def _exact(value: Any, change: Callable[[Decimal], Decimal]) -> str | None:
    """Return the changed number as a decimal text (1 - 0.95 is 0.05); None for what is no reasonable number."""
    found = number(value)
    if found is None or abs(found) > 1e12 or 0 < abs(found) < 1e-12:
        return None
    return format(change(Decimal(repr(found))).normalize(), "f")


def _constant(_: Check, value: Any, __: bool) -> dict[str, str]:  # noqa: FBT001 - one signature for all rules
    return parameter(value)


def _value(check: Check, names: list[str], expected: bool) -> dict[str, str] | None:  # noqa: FBT001 - as above
    for name in names:
        value = said(check.params.get(name))
        if value is not None:
            return parameter(value, "LIST" if isinstance(value, (list, dict)) else "")
    value = said(check.expected) if expected else None
    found = number(value)
    if value is None or found is None:
        return None
    row = literal(value)
    return parameter(row[0] if row else value.strip())


def _text(check: Check, names: list[str], _: bool) -> dict[str, str] | None:  # noqa: FBT001 - as above
    found = (said(check.params.get(name)) for name in names)
    value = next((value for value in found if value is not None), None)
    return None if value is None else parameter(value, "STRING")


def _column(check: Check, names: list[str], expected: bool) -> dict[str, str] | None:  # noqa: FBT001 - as above
    return _text(check, names, expected) if said(check.column) is None else parameter(check.column, "STRING")


def _list(check: Check, names: list[str], expected: bool, kind: str = "LIST") -> dict[str, str] | None:  # noqa: FBT001 - as above
    for value in (*(said(check.params.get(name)) for name in names), said(check.expected) if expected else None):
        found = literal(value) if isinstance(value, str) else value
        if isinstance(found, list):
            return parameter(found, kind)
    return None


def _set(check: Check, names: list[str], expected: bool) -> dict[str, str] | None:  # noqa: FBT001 - as above
    return _list(check, names, expected, "SET")


def _rest_of_one(check: Check, names: list[str], _: bool) -> dict[str, str] | None:  # noqa: FBT001 - as above
    found = (_rest(said(check.params.get(name))) for name in names)
    value = next((value for value in found if value is not None), None)
    return None if value is None else parameter(value)


_RANGES: dict[str, Callable[[Check, Bounds], tuple[str, Parameters]]] = {
    "range": _range,
    "percent_range": _percent_range,
    "rest_range": _rest_range,
    "percent_rest_range": _percent_rest_range,
    "quantile_range": _quantile_range,
    "age": _age,
}
_UNITS: dict[str, tuple[Callable[[Any], str | None], ...]] = {
    "percent_range": (_hundredth,),
    "rest_range": (_rest,),
    "percent_rest_range": (_hundredth, _rest),
}
_VALUES: dict[str, Callable[[Check, Any, bool], dict[str, str] | None]] = {
    "constant": _constant,
    "value": _value,
    "text": _text,
    "column": _column,
    "list": _list,
    "set": _set,
    "rest_of_one": _rest_of_one,
}
