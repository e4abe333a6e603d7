"""dbt's singular tests: one check each, however many tables they read and in whichever form they come.

Such a test is a query of its own over any tables. It is a check of the first input that carries it, else of the first that
carries checks at all, else of the first; "first" is the smallest URN, since inputs come in any order. The other
tables are named with each result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.assertions import parse_check

if TYPE_CHECKING:
    from dh_bridge.assertions import Check
    from dh_bridge.facet_support.context import FacetContext

_PLATFORM = "dbt"
_KEY = "dataQualityAssertions"


class _NamedCheck(msgspec.Struct):
    name: str | None = None


class _Checks(msgspec.Struct):
    assertions: list[_NamedCheck | None] | None = None


_decode = msgspec.json.Decoder(_Checks).decode


def is_singular(check: Check, ctx: FacetContext) -> bool:
    """Return whether it is a test of dbt with a name of its own, in an event about several datasets."""
    return (
        ctx.assertion_platform == _PLATFORM
        and len(ctx.tested_urns) > 1
        and parse_check(check, _PLATFORM, ctx.options.tables.assertions).is_unique
    )


def asserted_dataset(check: Check, ctx: FacetContext) -> str:
    """Return the URN of the dataset that it is a check of."""
    names_by_dataset = _check_names_by_dataset(ctx)
    name = _short_name(check.name)
    matches = [urn for urn, names in names_by_dataset.items() if name in names]
    return min(matches or names_by_dataset or ctx.tested_urns)


def matching_check_name(test: Check, dataset: str, ctx: FacetContext) -> str | None:
    """Return the name of the check of ``dataset`` in this event that a test is: the test's own, or of a singular one its tail."""
    if (dataset, test.name) in ctx.checks:
        return test.name
    short_name = _short_name(test.name)
    return (
        short_name
        if (dataset, short_name) in ctx.checks
        and parse_check(test, ctx.assertion_platform, ctx.options.tables.assertions).is_unique
        else None
    )


def other_datasets(dataset: str, ctx: FacetContext) -> tuple[str, ...]:
    """Return the URNs of the other datasets of the event, in order."""
    return tuple(sorted(set(ctx.tested_urns) - {dataset}))


def _check_names_by_dataset(ctx: FacetContext) -> dict[str, set[str]]:
    """Return the names of the checks that each input of the event carries; none for an input without the facet."""
    names_by_dataset: dict[str, set[str]] = {}
    for dataset in ctx.event.inputs:
        urn = ctx.dataset_name(dataset.namespace, dataset.name).endpoint
        for facets in (dataset.facets, dataset.input_facets):
            if urn is not None and urn in ctx.inputs and _KEY in facets:
                names_by_dataset.setdefault(urn, set()).update(_parse_names(facets[_KEY]))
    return names_by_dataset


def _parse_names(raw: msgspec.Raw) -> set[str]:
    try:
        return {_short_name(check.name) for check in _decode(raw).assertions or () if check is not None and check.name}
    except (msgspec.MsgspecError, RecursionError):
        return set()


def _short_name(name: str | None) -> str:
    """Return ``test.<project>.<name>`` as the checks of its tables call it."""
    return (name or "").rpartition(".")[2]
