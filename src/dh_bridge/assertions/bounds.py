"""The range of values that a check allows, from its parameters or from its text."""

from __future__ import annotations

import ast
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.assertions.check import meaningful_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.assertions.check import Check
    from dh_bridge.assertions.table import AssertionRow, AssertionTable, CheckName

_VALUE = r"([^\s,()<>=!%]+)(?:\s*%)?"
_BETWEEN = re.compile(rf"between\s+\(?{_VALUE}\s+and\s+{_VALUE}\)?", re.IGNORECASE)
_COMPARISON = re.compile(rf"\s*([<>=!]{{1,2}}|[a-z_ ]+?)\s*{_VALUE}\s*", re.IGNORECASE)
_SEPARATOR = re.compile(r",|\band\b", re.IGNORECASE)
_COUNT = re.compile(r"\s*count\(\s*\*\s*\)\s*([<>=!]{1,2}\s*-?\d+)\s*", re.IGNORECASE)
#: Characters of a Python list of constants; other texts are not passed to the parser.
_CONSTANT = re.compile(r"[\s,\[\](){}]+|'[^'\\]*'|\"[^\"\\]*\"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|None|True|False")
_MAX_LITERAL_CHARS = 10_000
_MAX_TEXT_CHARS = 200


class Bounds(msgspec.Struct):
    """The ends of a range; ``is_least_exclusive`` and ``is_greatest_exclusive`` mean that the end itself is not allowed."""

    least: Any = None
    greatest: Any = None
    equal: Any = None
    unequal: Any = None
    is_least_exclusive: bool = False
    is_greatest_exclusive: bool = False

    def __bool__(self) -> bool:
        return any(end is not None for end in (self.least, self.greatest, self.equal, self.unequal))


def parse_number(value: Any) -> float | None:
    """Return ``value`` as a finite number: a number, or text of one (``"(4,)"``: a row of one)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        if not value or len(value) > _MAX_TEXT_CHARS:
            return None
        text = value.strip()
        if text.startswith(("(", "[")):
            row = parse_list(text)
            return parse_number(row[0]) if isinstance(row, list) and len(row) == 1 else None
        value = text.replace("_", "x")  # 1_000 is Python's, no producer's
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return result if math.isfinite(result) else None


def percentage_text(text: str) -> str:
    """Return a share (``0.05``, the text of a number) as a number of a hundred (``5``)."""
    return format((Decimal(repr(parse_number(text) or 0.0)) * 100).normalize(), "f")


def parse_list(text: str) -> Any:
    """Return a JSON or Python list in ``text`` as a list (also tuples and sets; sets are sorted); None if it is not a list."""
    text = text.strip()
    if not text or text[0] not in "[({" or len(text) > _MAX_LITERAL_CHARS:
        return None
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        if _CONSTANT.sub("", text):
            return None
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return None
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    return list(value) if isinstance(value, (list, tuple)) else None


def parse_comparison(text: str, table: AssertionTable) -> Bounds | None:
    """Return the bounds of a comparison (``< 110.0``, ``>=1, < 7``, ``between 1 and 5``); None if it is not a comparison."""
    text = text.strip()
    if len(text) > _MAX_TEXT_CHARS:
        return None
    between = _BETWEEN.fullmatch(text)
    if between is not None:
        return Bounds(least=_parse_scalar(between[1]), greatest=_parse_scalar(between[2]))
    bounds = Bounds()
    for clause in _SEPARATOR.split(text):
        match = _COMPARISON.fullmatch(clause)
        operator = table.operators.get(match[1].lower()) if match is not None else None
        if match is None or operator is None:
            return None
        _set_bound(bounds, operator, _parse_scalar(match[2]))
    return bounds


def check_bounds(
    check: Check, check_name: CheckName, row: AssertionRow, table: AssertionTable, *, can_use_expected: bool
) -> Bounds:
    """Return the bounds of ``check``; ``can_use_expected`` states whether its expected value has the unit of the measured value.

    That of dbt does not: it is a number of failures.
    """
    if check_name.comparison and (bounds := parse_comparison(check_name.comparison, table)):
        return bounds
    nested_params = check.params.get(check_name.kind)
    params = nested_params if isinstance(nested_params, dict) else check.params
    bounds = _parse_ends(params, table)
    if bounds:
        return bounds
    for spelling, operator in table.operators.items():
        if (value := meaningful_value(params.get(spelling))) is not None and _is_scalar(value):
            _set_bound(bounds, operator, value)
    if (
        not bounds
        and row.aggregation == "ROW_COUNT"
        and check.content
        and (count_match := _COUNT.fullmatch(check.content[:_MAX_TEXT_CHARS]))
    ):
        bounds = parse_comparison(count_match[1], table) or bounds
    if not bounds and can_use_expected and (text := meaningful_value(check.expected)) is not None:
        bounds = parse_comparison(text, table) or (
            Bounds(equal=_parse_scalar(text)) if parse_number(text) is not None else bounds
        )
    return bounds


def _parse_ends(params: Mapping[str, Any], table: AssertionTable) -> Bounds:
    names = table.vocabulary.range
    is_exclusive = any(params.get(name) is False for name in names.include)
    return Bounds(
        least=_first_scalar(params, names.least),
        greatest=_first_scalar(params, names.greatest),
        is_least_exclusive=is_exclusive or any(params.get(name) is True for name in names.exclude_least),
        is_greatest_exclusive=is_exclusive or any(params.get(name) is True for name in names.exclude_greatest),
    )


def _first_scalar(params: Mapping[str, Any], names: list[str]) -> Any:
    values = (meaningful_value(params.get(name)) for name in names)
    return next((value for value in values if value is not None and _is_scalar(value)), None)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _parse_scalar(text: str) -> Any:
    row = parse_list(text)
    return row[0] if isinstance(row, list) and len(row) == 1 else text.strip().strip("'\"")


def _set_bound(bounds: Bounds, operator: str, value: Any) -> None:
    if operator == "EQUAL_TO":
        bounds.equal = value
    elif operator == "NOT_EQUAL_TO":
        bounds.unequal = value
    elif operator.startswith("GREATER"):
        bounds.least, bounds.is_least_exclusive = value, operator == "GREATER_THAN"
    else:
        bounds.greatest, bounds.is_greatest_exclusive = value, operator == "LESS_THAN"
