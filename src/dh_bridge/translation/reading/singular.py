"""dbt's singular tests: one check each, however many tables they read and in whichever form they come.

Such a test is a query of its own over any tables. It is a check of the first input that carries it, else of the first that
carries checks at all, else of the first; "first" is the smallest URN, since inputs come in any order. The other
tables are named with each result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.translation.assertions import read

if TYPE_CHECKING:
    from dh_bridge.translation.assertions import Check
    from dh_bridge.translation.context import Place

_PLATFORM = "dbt"
_KEY = "dataQualityAssertions"


class _Named(msgspec.Struct):
    name: str | None = None


class _Checks(msgspec.Struct):
    assertions: list[_Named | None] | None = None


_decode = msgspec.json.Decoder(_Checks).decode


def is_singular(check: Check, at: Place) -> bool:
    """Return whether it is a test of dbt with a name of its own, in an event about several datasets."""
    return (
        at.assertion_platform == _PLATFORM
        and len(at.tested) > 1
        and read(check, _PLATFORM, at.options.tables.assertions).one_of_a_kind
    )


def asserted(check: Check, at: Place) -> str:
    """Return the URN of the dataset that it is a check of."""
    carrying = _carrying(at)
    name = _short(check.name)
    same = [urn for urn, names in carrying.items() if name in names]
    return min(same or carrying or at.tested)


def same_name(test: Check, dataset: str, at: Place) -> str | None:
    """Return the name of the check of ``dataset`` in this event that a test is: the test's own, or of a singular one its tail."""
    if (dataset, test.name) in at.checks:
        return test.name
    short = _short(test.name)
    return (
        short
        if (dataset, short) in at.checks
        and read(test, at.assertion_platform, at.options.tables.assertions).one_of_a_kind
        else None
    )


def others(dataset: str, at: Place) -> tuple[str, ...]:
    """Return the URNs of the other datasets of the event, in order."""
    return tuple(sorted(set(at.tested) - {dataset}))


def _carrying(at: Place) -> dict[str, set[str]]:
    """Return the names of the checks that each input of the event carries; none for an input without the facet."""
    found: dict[str, set[str]] = {}
    for dataset in at.event.inputs:
        urn = at.endpoint(dataset.namespace, dataset.name).endpoint
        for bag in (dataset.facets, dataset.input_facets):
            if urn is not None and urn in at.inputs and _KEY in bag:
                found.setdefault(urn, set()).update(_names(bag[_KEY]))
    return found


def _names(raw: msgspec.Raw) -> set[str]:
    try:
        return {_short(one.name) for one in _decode(raw).assertions or () if one is not None and one.name}
    except (msgspec.MsgspecError, RecursionError):
        return set()


def _short(name: str | None) -> str:
    """Return ``test.<project>.<name>`` as the checks of its tables call it."""
    return (name or "").rpartition(".")[2]
