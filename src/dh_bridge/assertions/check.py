"""A check as a producer reports it, independent of its facet, and the datasets that it is about."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


CheckSource = Literal["dataQualityAssertions", "test", "greatExpectations_assertions"]

NON_SERIALIZABLE_PREFIX = "<<non-serializable"
"""The prefix of a text that a client writes instead of a value that it cannot serialize."""
_MERGED_FIELDS = (
    *("success", "column", "severity", "description", "expected", "actual", "content", "content_type", "failures"),
    *("name", "status"),
)


class Check(msgspec.Struct, gc=False):
    """One entry of ``dataQualityAssertions``, ``test`` or ``greatExpectations_assertions``.

    ``assertion`` is the kind of the check (``type`` of a test, ``expectationType`` of an expectation). ``success`` is
    None if the producer did not state a readable result. ``status`` is the state of a test in the producer's terms. ``source``
    is the key of the facet. ``other_datasets`` are URNs of further datasets that the check is about.
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
    other_datasets: tuple[str, ...] = ()


def meaningful_value(value: Any) -> Any:
    """Return ``value``; None for an empty text, NaN, and a value that a client could not serialize."""
    if isinstance(value, str):
        return None if not value or value.isspace() or value.startswith(NON_SERIALIZABLE_PREFIX) else value
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def merge_checks(assertion: Check, test: Check) -> Check:
    """Return ``assertion`` with the fields that only ``test`` has: two entries of one event with one name."""
    additions = {
        field: getattr(test, field) for field in _MERGED_FIELDS if meaningful_value(getattr(assertion, field)) is None
    }
    return msgspec.structs.replace(assertion, **additions, params={**test.params, **assertion.params})


def distinct_checks(check_lists: Iterable[list[Check]]) -> list[Check]:
    """Return the distinct checks of several facets of one dataset.

    Equal entries of one facet are different checks: Great Expectations may send two equal expectations on one column.
    """
    checks: list[Check] = []
    for check_list in check_lists:
        candidates = list(checks)
        for check in check_list:
            if check in candidates:
                candidates.remove(check)
            else:
                checks.append(check)
    return checks


_HINTS = ("dataset", "model", "column")


def datasets_of_test(
    check: Check, datasets: Sequence[str], *, multi_dataset: Literal["all", "first", "none"] = "all"
) -> list[str]:
    """Return the URNs among ``datasets`` (the event's inputs, else its outputs) that ``check`` is about.

    The parameters ``dataset``, ``model`` or ``column`` may name one; without a hint, ``multi_dataset`` decides: a
    relationship concerns both. "First" is the smallest URN.
    """
    if len(datasets) < 2:
        return list(datasets)
    for hint in _HINTS:
        value = meaningful_value(check.params.get(hint))
        if not isinstance(value, str):
            continue
        dataset_name = value.rpartition(".")[0] if hint == "column" else value
        matches = [urn for urn in datasets if dataset_name and _has_name(urn, dataset_name)]
        if len(matches) == 1:
            return matches
    if multi_dataset == "all":
        return sorted(datasets)
    return [min(datasets)] if multi_dataset == "first" else []


def _has_name(urn: str, name: str) -> bool:
    if urn == name:
        return True
    # urn:li:dataset:(urn:li:dataPlatform:<platform>,<name>,<env>)
    dataset_name = urn.split(",", 1)[-1].rsplit(",", 1)[0].lower()
    return dataset_name == name.lower() or dataset_name.endswith(f".{name.lower()}")
