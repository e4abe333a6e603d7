"""What the facets that carry checks share: the rows of their leaves, and the statement of a check on a dataset."""

from __future__ import annotations

from dh_bridge.translation.assertions import Check, assertion_urns
from dh_bridge.translation.facet import Leaf, kept, mapped, withheld
from dh_bridge.translation.place import Place
from dh_bridge.translation.slots import CHECKS, Statements

INFO = "assertionInfo"
RESULT = "assertionRunEvent.result"
CHECK_LEAVES: dict[str, Leaf] = {
    "severity": mapped(INFO, RESULT),
    "name": mapped(INFO),
    "description": mapped(INFO),
    "expected": mapped(INFO, RESULT),
    "actual": mapped(RESULT),
    "content": mapped(INFO),
    "contentType": kept(INFO),
    "params.**": mapped(INFO),
    "params": withheld("envelope"),
}


def stated_checks(checks: list[Check], dataset: str, at: Place) -> Statements:
    """Yield each check under its assertion URN: the same check in two bags is one (producers.md 2)."""
    column = at.name.column if at.name is not None and at.name.endpoint == dataset else None
    urns = assertion_urns(checks, dataset, at.assertion_platform, column_path=column)
    for urn, check in zip(urns, checks, strict=True):
        yield dataset, CHECKS, urn, check
