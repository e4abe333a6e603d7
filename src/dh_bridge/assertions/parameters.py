"""The rules that a row may name: they find the operator and the standard parameters of a check.

``range`` and similar rules find the operator from the allowed values; the others fill in the parameters of the row's operator.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dh_bridge.assertions.bounds import Bounds, check_bounds, parse_list, parse_number
from dh_bridge.assertions.check import meaningful_value
from dh_bridge.model.properties import json_text, truncate
from dh_bridge.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.assertions.check import Check
    from dh_bridge.assertions.table import AssertionRow, AssertionTable, CheckName

NATIVE = "_NATIVE_"
MAX_VALUE_CHARS = 32_000
Parameters = dict[str, dict[str, str]]


def find_row(
    check: Check, check_name: CheckName, table: AssertionTable, *, has_column: bool, can_use_expected: bool
) -> AssertionRow:
    """Return the first row that fits the check; the table sees to it that one does."""

    def is_match(row: AssertionRow) -> bool:
        if row.column is not None and row.column is not has_column:
            return False
        if row.given and not any(meaningful_value(check.params.get(name)) is not None for name in row.given):
            return False
        return (
            not row.zero
            or parse_number(check_bounds(check, check_name, row, table, can_use_expected=can_use_expected).equal) == 0
        )

    return next(row for row in check_name.rows if is_match(row))


def operator_and_parameters(
    check: Check, check_name: CheckName, row: AssertionRow, table: AssertionTable, *, can_use_expected: bool
) -> tuple[str, Parameters]:
    """Return the operator and the standard parameters, in the order of their Avro fields."""
    if (rule := _RANGE_RULES.get(row.operator)) is not None:
        return rule(check, check_bounds(check, check_name, row, table, can_use_expected=can_use_expected))
    for value_rule, names in row.parameters.items():
        value = _VALUE_RULES[value_rule](check, names, can_use_expected)
        return row.operator, {"value": value} if value is not None else {}
    return row.operator, {}


def convert_to_limit_unit(rule: str, value: float) -> float:
    """Return a measured value in the unit in which ``rule`` (the operator of a row) writes the limits.

    Of 5 missing values of a hundred the limit is a share (0.05); of values that are there, the share that is not.
    """
    conversions = _UNIT_CONVERSIONS.get(rule, ())
    result: Any = value
    for convert in conversions:
        result = convert(result) if result is not None else None
    numeric = parse_number(result)
    return value if numeric is None else numeric


def standard_parameter(value: Any, kind: str = "") -> dict[str, str]:
    """Return an AssertionStdParameter: a NUMBER if it parses, LIST or SET as compact JSON, else STRING."""
    if not kind:
        kind = "NUMBER" if parse_number(value) is not None else "STRING"
    return {"value": truncate(redact(json_text(value)), MAX_VALUE_CHARS), "type": kind}


def _range_parameters(_: Check, bounds: Bounds) -> tuple[str, Parameters]:
    least, greatest, equal = bounds.least, bounds.greatest, bounds.equal
    if equal is None and least is not None and least == greatest:
        equal = least
    if equal is not None:
        return "EQUAL_TO", {"value": standard_parameter(equal)}
    if least is not None and greatest is not None:
        return "BETWEEN", {"maxValue": standard_parameter(greatest), "minValue": standard_parameter(least)}
    # one end is not BETWEEN, which wants both
    if least is not None:
        return "GREATER_THAN" if bounds.is_least_exclusive else "GREATER_THAN_OR_EQUAL_TO", {
            "value": standard_parameter(least)
        }
    if greatest is not None:
        return "LESS_THAN" if bounds.is_greatest_exclusive else "LESS_THAN_OR_EQUAL_TO", {
            "value": standard_parameter(greatest)
        }
    return (NATIVE, {}) if bounds.unequal is None else ("NOT_EQUAL_TO", {"value": standard_parameter(bounds.unequal)})


def _percent_range_parameters(check: Check, bounds: Bounds) -> tuple[str, Parameters]:
    return _range_parameters(check, _convert_bounds(bounds, _percent_to_fraction))


def _complement_range_parameters(check: Check, bounds: Bounds) -> tuple[str, Parameters]:
    return _range_parameters(check, _swap_bounds(_convert_bounds(bounds, _complement)))


def _percent_complement_range_parameters(check: Check, bounds: Bounds) -> tuple[str, Parameters]:
    return _range_parameters(
        check, _swap_bounds(_convert_bounds(_convert_bounds(bounds, _percent_to_fraction), _complement))
    )


def _quantile_range_parameters(check: Check, bounds: Bounds) -> tuple[str, Parameters]:
    spec = check.params.get("quantile_ranges")
    ranges = spec.get("value_ranges") if isinstance(spec, dict) else None
    if isinstance(ranges, list):
        single_range = ranges[0] if len(ranges) == 1 else None
        if isinstance(single_range, list) and len(single_range) == 2 and None not in single_range:
            return _range_parameters(check, Bounds(least=single_range[0], greatest=single_range[1]))
        return NATIVE, {}
    return (
        _range_parameters(check, bounds) if bounds.least is not None and bounds.greatest is not None else (NATIVE, {})
    )


def _age_parameters(check: Check, bounds: Bounds) -> tuple[str, Parameters]:
    # an age has an upper end; an interval without a comparison stays native
    return _range_parameters(check, bounds) if bounds.greatest is not None and bounds.least is None else (NATIVE, {})


def _convert_bounds(bounds: Bounds, convert: Callable[[Any], str | None]) -> Bounds:
    least, greatest, equal, unequal = (
        None if end is None else convert(end) for end in (bounds.least, bounds.greatest, bounds.equal, bounds.unequal)
    )
    return Bounds(
        least,
        greatest,
        equal,
        unequal,
        is_least_exclusive=bounds.is_least_exclusive,
        is_greatest_exclusive=bounds.is_greatest_exclusive,
    )


def _swap_bounds(bounds: Bounds) -> Bounds:
    return Bounds(
        bounds.greatest,
        bounds.least,
        bounds.equal,
        bounds.unequal,
        is_least_exclusive=bounds.is_greatest_exclusive,
        is_greatest_exclusive=bounds.is_least_exclusive,
    )


def _percent_to_fraction(value: Any) -> str | None:
    return _convert_exactly(value, lambda decimal: decimal / 100)


def _complement(value: Any) -> str | None:
    return _convert_exactly(value, lambda decimal: 1 - decimal)


def _convert_exactly(value: Any, convert: Callable[[Decimal], Decimal]) -> str | None:
    """Return the changed number as a decimal text (1 - 0.95 is 0.05); None for a value that is not a number in range."""
    numeric = parse_number(value)
    if numeric is None or abs(numeric) > 1e12 or 0 < abs(numeric) < 1e-12:
        return None
    return format(convert(Decimal(repr(numeric))).normalize(), "f")


def _constant_parameter(_: Check, value: Any, __: bool) -> dict[str, str]:  # noqa: FBT001 - one signature for all rules
    return standard_parameter(value)


def _value_parameter(check: Check, names: list[str], can_use_expected: bool) -> dict[str, str] | None:  # noqa: FBT001 - as above
    for name in names:
        value = meaningful_value(check.params.get(name))
        if value is not None:
            return standard_parameter(value, "LIST" if isinstance(value, (list, dict)) else "")
    value = meaningful_value(check.expected) if can_use_expected else None
    numeric = parse_number(value)
    if value is None or numeric is None:
        return None
    row = parse_list(value)
    return standard_parameter(row[0] if row else value.strip())


def _text_parameter(check: Check, names: list[str], _: bool) -> dict[str, str] | None:  # noqa: FBT001 - as above
    values = (meaningful_value(check.params.get(name)) for name in names)
    value = next((value for value in values if value is not None), None)
    return None if value is None else standard_parameter(value, "STRING")


def _column_parameter(check: Check, names: list[str], can_use_expected: bool) -> dict[str, str] | None:  # noqa: FBT001 - as above
    return (
        _text_parameter(check, names, can_use_expected)
        if meaningful_value(check.column) is None
        else standard_parameter(check.column, "STRING")
    )


def _list_parameter(
    check: Check,
    names: list[str],
    can_use_expected: bool,  # noqa: FBT001 - one of several rules
    kind: str = "LIST",
) -> dict[str, str] | None:
    for value in (
        *(meaningful_value(check.params.get(name)) for name in names),
        meaningful_value(check.expected) if can_use_expected else None,
    ):
        elements = parse_list(value) if isinstance(value, str) else value
        if isinstance(elements, list):
            return standard_parameter(elements, kind)
    return None


def _set_parameter(check: Check, names: list[str], can_use_expected: bool) -> dict[str, str] | None:  # noqa: FBT001 - as above
    return _list_parameter(check, names, can_use_expected, "SET")


def _complement_parameter(check: Check, names: list[str], _: bool) -> dict[str, str] | None:  # noqa: FBT001 - as above
    values = (_complement(meaningful_value(check.params.get(name))) for name in names)
    value = next((value for value in values if value is not None), None)
    return None if value is None else standard_parameter(value)


_RANGE_RULES: dict[str, Callable[[Check, Bounds], tuple[str, Parameters]]] = {
    "range": _range_parameters,
    "percent_range": _percent_range_parameters,
    "rest_range": _complement_range_parameters,
    "percent_rest_range": _percent_complement_range_parameters,
    "quantile_range": _quantile_range_parameters,
    "age": _age_parameters,
}
_UNIT_CONVERSIONS: dict[str, tuple[Callable[[Any], str | None], ...]] = {
    "percent_range": (_percent_to_fraction,),
    "rest_range": (_complement,),
    "percent_rest_range": (_percent_to_fraction, _complement),
}
_VALUE_RULES: dict[str, Callable[[Check, Any, bool], dict[str, str] | None]] = {
    "constant": _constant_parameter,
    "value": _value_parameter,
    "text": _text_parameter,
    "column": _column_parameter,
    "list": _list_parameter,
    "set": _set_parameter,
    "rest_of_one": _complement_parameter,
}
