"""Checks of columns whose names tell of secrets: what is in such a column is in no profile, nor in what checks say of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.redaction import REDACTED, hides
from dh_bridge.translation.assertions.bounds import compared, number
from dh_bridge.translation.assertions.check import said
from dh_bridge.translation.assertions.reading import read

if TYPE_CHECKING:
    from dh_bridge.translation.assertions.bounds import Bounds
    from dh_bridge.translation.assertions.check import Check
    from dh_bridge.translation.assertions.table import AssertionTable


def without_values(check: Check, platform: str, table: AssertionTable) -> tuple[Check, list[str]]:
    """Return the check without texts that may be values of a column with a telling name, and the leaves that they are.

    Numbers stay, which are counts and their limits mostly, and so do the parameters that say how is looked (``how`` of the
    table). Its URN is made of the check as it was: it does not tell, and stays when redaction is switched on.
    """
    leaves = [leaf for leaf in ("expected", "actual") if not _is_plain(getattr(check, leaf), table)]
    params = [key for key, value in check.params.items() if key not in table.how and not _is_plain(value, table)]
    if not (leaves or params) or not any(map(hides, read(check, platform, table).columns)):
        return check, []
    values = {**check.params, **dict.fromkeys(params, REDACTED)}
    hidden = msgspec.structs.replace(check, **dict.fromkeys(leaves, REDACTED), params=values)
    return hidden, [*leaves, *(f"params.{key}" for key in params)]


def _is_plain(value: Any, table: AssertionTable) -> bool:
    """Whether a value is a number, a truth value or nothing, a comparison with numbers, or made of these alone."""
    if isinstance(value, (list, dict)):
        return all(_is_plain(one, table) for one in (value.values() if isinstance(value, dict) else value))
    if not isinstance(value, str) or said(value) is None or set(value) == {"*"} or value.lower() in ("true", "false"):
        return True
    return number(value) is not None or _are_numbers(compared(value, table))


def _are_numbers(found: Bounds | None) -> bool:
    return found is not None and all(
        end is None or number(end) is not None for end in (found.least, found.greatest, found.equal, found.unequal)
    )
