"""The comparison of a measured value: DataHub's standard operator and its parameters."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from dh_bridge.assertions import AssertionTable
from dh_bridge.bundled import load_table
from dh_bridge.errors import EventError
from dh_bridge.model.properties import json_text
from dh_bridge.sdk.plain import to_plain

Limit = str | int | float
_OPERATORS_WITHOUT_VALUE = frozenset(("NULL", "NOT_NULL", "IS_TRUE", "IS_FALSE", "_NATIVE_"))


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The allowed values: ``min`` and ``max`` (inclusive), one ``value``, or an ``operator`` with its value.

    ``operator`` is a symbol of DataHub's AssertionStdOperator (``IN``, ``REGEX_MATCH``, ``NOT_NULL`` …) or a sign (``>=``). A
    list or set as value is IN; a value alone EQUAL_TO; one bound alone GREATER_THAN_OR_EQUAL_TO or LESS_THAN_OR_EQUAL_TO.
    """

    operator: str | None = None
    value: Any = None
    min: Limit | None = None
    max: Limit | None = None

    def to_json(self) -> dict[str, Any]:
        """Return ``operator`` and, if it has any, ``parameters``.

        An EventError for a comparison that is empty or contradictory.
        """
        operator, limits = self._operator(), {"maxValue": self.max, "minValue": self.min}
        if operator == "BETWEEN":
            if self.value is not None or None in limits.values():
                raise _comparison_error("BETWEEN requires min and max, and no value")
            return {"operator": operator, "parameters": {name: std_parameter(limit) for name, limit in limits.items()}}
        value = next((candidate for candidate in (self.value, self.min, self.max) if candidate is not None), None)
        if operator in _OPERATORS_WITHOUT_VALUE:
            if value is not None:
                raise _comparison_error(f"{operator} accepts no value")
            return {"operator": operator}
        if value is None or [self.value, self.min, self.max].count(None) != 2:
            raise _comparison_error(f"{operator} requires exactly one value")
        return {"operator": operator, "parameters": {"value": std_parameter(value)}}

    def _operator(self) -> str:
        if self.operator is not None:
            return load_table("assertions", AssertionTable).operators.get(self.operator, self.operator)
        if self.min is not None and self.max is not None:
            return "BETWEEN"
        if self.min is not None:
            return "GREATER_THAN_OR_EQUAL_TO"
        if self.max is not None:
            return "LESS_THAN_OR_EQUAL_TO"
        return "IN" if isinstance(self.value, (list, tuple, set, frozenset)) else "EQUAL_TO"


def std_parameter(value: Any) -> dict[str, str]:
    """Return an AssertionStdParameter: a NUMBER, a LIST, a SET or a STRING."""
    plain_value = to_plain(value)
    if isinstance(plain_value, list):
        return {"value": json_text(plain_value), "type": "SET" if isinstance(value, (set, frozenset)) else "LIST"}
    is_number = isinstance(plain_value, (int, float)) and not isinstance(plain_value, bool)
    return {"value": json_text(plain_value), "type": "NUMBER" if is_number or isinstance(value, Decimal) else "STRING"}


def _comparison_error(problem: str) -> EventError:
    return EventError(problem, location="comparison", remedy="pass min, max, or value with an operator")
