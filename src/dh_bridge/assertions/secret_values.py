"""Checks of columns with secrets by their names: values of such a column are in no profile, and not in its checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.assertions.bounds import parse_comparison, parse_number
from dh_bridge.assertions.check import meaningful_value
from dh_bridge.assertions.reading import parse_check
from dh_bridge.redaction import REDACTED, is_hidden_key

if TYPE_CHECKING:
    from dh_bridge.assertions.bounds import Bounds
    from dh_bridge.assertions.check import Check
    from dh_bridge.assertions.table import AssertionTable


def redact_check_values(check: Check, platform: str, table: AssertionTable) -> tuple[Check, list[str]]:
    """Return the check without texts that may be values of a column with a secret name, and the fields of these texts.

    Numbers are not removed, because most are counts and limits. Parameters that state the method (``how`` of the
    table) are not removed either. The URN is made from the original check; it reveals no value and does not depend on redaction.
    """
    field_names = [
        field_name for field_name in ("expected", "actual") if not _is_plain(getattr(check, field_name), table)
    ]
    secret_params = [
        key for key, value in check.params.items() if key not in table.method_parameters and not _is_plain(value, table)
    ]
    if not (field_names or secret_params) or not any(map(is_hidden_key, parse_check(check, platform, table).columns)):
        return check, []
    values = {**check.params, **dict.fromkeys(secret_params, REDACTED)}
    redacted_check = msgspec.structs.replace(check, **dict.fromkeys(field_names, REDACTED), params=values)
    return redacted_check, [*field_names, *(f"params.{key}" for key in secret_params)]


def _is_plain(value: Any, table: AssertionTable) -> bool:
    """Whether a value is a number, a truth value or nothing, a comparison with numbers, or made of these alone."""
    if isinstance(value, (list, dict)):
        return all(_is_plain(element, table) for element in (value.values() if isinstance(value, dict) else value))
    if (
        not isinstance(value, str)
        or meaningful_value(value) is None
        or set(value) == {"*"}
        or value.lower() in ("true", "false")
    ):
        return True
    return parse_number(value) is not None or _has_numeric_ends(parse_comparison(value, table))


def _has_numeric_ends(bounds: Bounds | None) -> bool:
    return bounds is not None and all(
        end is None or parse_number(end) is not None
        for end in (bounds.least, bounds.greatest, bounds.equal, bounds.unequal)
    )
