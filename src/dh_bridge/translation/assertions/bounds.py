"""What a check allows: the ends of a range, from its parameters or from words."""

from __future__ import annotations

import ast
import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.translation.assertions.check import said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.translation.assertions.check import Check
    from dh_bridge.translation.assertions.table import AssertionTable, Named, Row

_VALUE = r"([^\s,()<>=!%]+)(?:\s*%)?"
_BETWEEN = re.compile(rf"between\s+\(?{_VALUE}\s+and\s+{_VALUE}\)?", re.IGNORECASE)
_PART = re.compile(rf"\s*([<>=!]{{1,2}}|[a-z_ ]+?)\s*{_VALUE}\s*", re.IGNORECASE)
_AND = re.compile(r",|\band\b", re.IGNORECASE)
_COUNT = re.compile(r"\s*count\(\s*\*\s*\)\s*([<>=!]{1,2}\s*-?\d+)\s*", re.IGNORECASE)
#: What a Python list of constants may be made of; anything else is not handed to the parser.
_CONSTANT = re.compile(r"[\s,\[\](){}]+|'[^'\\]*'|\"[^\"\\]*\"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|None|True|False")
_LONGEST_LITERAL = 10_000
_SHORT = 200


class Bounds(msgspec.Struct):
    """The ends of a range; ``above`` and ``below`` mean that the end itself is not allowed."""

    least: Any = None
    greatest: Any = None
    equal: Any = None
    unequal: Any = None
    above: bool = False
    below: bool = False

    def __bool__(self) -> bool:
        return any(end is not None for end in (self.least, self.greatest, self.equal, self.unequal))


def number(value: Any) -> float | None:
    """Return ``value`` as a finite number: a number, or text of one (``"(4,)"``: a row of one)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        if not value or len(value) > _SHORT:
            return None
        text = value.strip()
        if text.startswith(("(", "[")):
            row = literal(text)
            return number(row[0]) if isinstance(row, list) and len(row) == 1 else None
        value = text.replace("_", "x")  # 1_000 is Python's, no producer's
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if math.isfinite(found) else None


def percent(text: str) -> str:
    """Return a share (``0.05``, the text of a number) as a number of a hundred (``5``)."""
    return format((Decimal(repr(number(text) or 0.0)) * 100).normalize(), "f")


def literal(text: str) -> Any:
    """Return a JSON or Python list in ``text`` as a list (tuples and sets too, sorted sets); None when it is none."""
    text = text.strip()
    if not text or text[0] not in "[({" or len(text) > _LONGEST_LITERAL:
        return None
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        if _CONSTANT.sub("", text):
            return None
        try:
            found = ast.literal_eval(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            return None
    if isinstance(found, (set, frozenset)):
        return sorted(found, key=repr)
    return list(found) if isinstance(found, (list, tuple)) else None


def compared(text: str, table: AssertionTable) -> Bounds | None:
    """Return what a comparison says (``< 110.0``, ``>=1, < 7``, ``between 1 and 5``); None when it is none."""
    text = text.strip()
    if len(text) > _SHORT:
        return None
    between = _BETWEEN.fullmatch(text)
    if between is not None:
        return Bounds(least=_scalar(between[1]), greatest=_scalar(between[2]))
    found = Bounds()
    for part in _AND.split(text):
        match = _PART.fullmatch(part)
        operator = table.operators.get(match[1].lower()) if match is not None else None
        if match is None or operator is None:
            return None
        _put(found, operator, _scalar(match[2]))
    return found


def bounds(check: Check, named: Named, row: Row, table: AssertionTable, *, expected: bool) -> Bounds:
    """Return what ``check`` allows; ``expected`` says whether its expected value is one of the thing that is measured.

    dbt's is not: there it is the number of failures.
    """
    if named.comparison and (found := compared(named.comparison, table)):
        return found
    inner = check.params.get(named.kind)
    params = inner if isinstance(inner, dict) else check.params
    found = _ends(params, table)
    if found:
        return found
    for word, operator in table.operators.items():
        if (value := said(params.get(word))) is not None and _is_scalar(value):
            _put(found, operator, value)
    if (
        not found
        and row.aggregation == "ROW_COUNT"
        and check.content
        and (count := _COUNT.fullmatch(check.content[:_SHORT]))
    ):
        found = compared(count[1], table) or found
    if not found and expected and (text := said(check.expected)) is not None:
        found = compared(text, table) or (Bounds(equal=_scalar(text)) if number(text) is not None else found)
    return found


def _ends(params: Mapping[str, Any], table: AssertionTable) -> Bounds:
    names = table.words.range
    exclusive = any(params.get(name) is False for name in names.include)
    return Bounds(
        least=_first(params, names.least),
        greatest=_first(params, names.greatest),
        above=exclusive or any(params.get(name) is True for name in names.exclude_least),
        below=exclusive or any(params.get(name) is True for name in names.exclude_greatest),
    )


def _first(params: Mapping[str, Any], names: list[str]) -> Any:
    found = (said(params.get(name)) for name in names)
    return next((value for value in found if value is not None and _is_scalar(value)), None)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _scalar(text: str) -> Any:
    row = literal(text)
    return row[0] if isinstance(row, list) and len(row) == 1 else text.strip().strip("'\"")


def _put(found: Bounds, operator: str, value: Any) -> None:
    if operator == "EQUAL_TO":
        found.equal = value
    elif operator == "NOT_EQUAL_TO":
        found.unequal = value
    elif operator.startswith("GREATER"):
        found.least, found.above = value, operator == "GREATER_THAN"
    else:
        found.greatest, found.below = value, operator == "LESS_THAN"
