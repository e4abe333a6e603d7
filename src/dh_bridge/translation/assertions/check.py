"""A check as a producer reports it, whichever facet it came in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

Source = Literal["dataQualityAssertions", "test", "greatExpectations_assertions"]

SPOILT = "<<non-serializable"
"""How a text begins that a client wrote in place of what is no JSON."""
_FILLED = (
    *("success", "column", "severity", "description", "expected", "actual", "content", "content_type", "failures"),
    *("name", "status"),
)


class Check(msgspec.Struct, gc=False):
    """One entry of ``dataQualityAssertions``, ``test`` or ``greatExpectations_assertions``.

    ``assertion`` is the kind of the check (``type`` of a test, ``expectationType`` of an expectation); ``success`` is
    None when nothing readable was said; ``status`` is a test's own word; ``source`` the key of the facet; ``others`` are
    the URNs of the datasets that it is about as well, beside the one that it is a check of.
    """

    assertion: str
    success: bool | None = None
    column: str | None = None
    severity: str | None = None
    name: str | None = None
    description: str | None = None
    expected: str | None = None
    actual: str | None = None
    content: str | None = None
    content_type: str | None = None
    params: dict[str, Any] = {}
    failures: int | None = None
    source: str = "dataQualityAssertions"
    status: str | None = None
    others: tuple[str, ...] = ()


def said(value: Any) -> Any:
    """Return ``value``, None for what says nothing: empty text, NaN, what a client could not write."""
    if isinstance(value, str):
        return None if not value or value.isspace() or value.startswith(SPOILT) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def merge(assertion: Check, test: Check) -> Check:
    """Return ``assertion`` with what only ``test`` says: two entries of one event with one name."""
    missing = {field: getattr(test, field) for field in _FILLED if said(getattr(assertion, field)) is None}
    return msgspec.structs.replace(assertion, **missing, params={**test.params, **assertion.params})


def distinct(bags: Iterable[list[Check]]) -> list[Check]:
    """Return the checks of several bags of one dataset: what stands in two of them is one.

    Equal entries of one bag stay apart: Great Expectations cannot tell two expectations on one column.
    """
    found: list[Check] = []
    for bag in bags:
        left = list(found)
        for check in bag:
            if check in left:
                left.remove(check)
            else:
                found.append(check)
    return found
