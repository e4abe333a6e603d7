"""Column lineage as patch operations: built here from URNs, so that their check need not take them apart again.

A table brings a hundred new paths, and to read each of them would be a third of the time of an event.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub import urns
from dh_bridge.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

Pair = tuple["str | None", str, str]

_MOST = 2000
_PAIR_BYTES = 900  # what a pair and its operation take beside the path
_SLASHES = 5
_SURE = {"confidenceScore": 1.0}
# A column that was made of a whole dataset. A server joins all upstreams of one operation and downstream into one entry
# with one upstreamType, so statements about datasets need an operation of their own.
_SURE_OF_DATASET = {"confidenceScore": 1.0, "upstreamType": "DATASET"}
_DATASET = "/urn:li:dataset:("
OF_DATASET = "DATASET"
"""The operation, or the end of one (``DIRECT:IDENTITY+DATASET``), of pairs whose upstream is a dataset."""
_UPSTREAM = frozenset({"schemaField", "dataset"})
_DOWNSTREAM = frozenset({"schemaField"})
NO_QUERY = "NONE"
"""Where a path names the query, if none is known."""


class SoundPairs(frozenset[Pair]):
    """Pairs whose URNs are known to be sound, as those of :class:`~dh_bridge.datahub.urns.FieldUrns` are."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return frozenset, (tuple(self),)  # whoever reads it back has to look


class PlainPairs(SoundPairs):
    """Sound pairs between columns alone, none of whose texts has a sign that the segment of a path would escape."""

    __slots__ = ()


class Built(list[dict[str, Any]]):
    """Operations of a patch. The last ``sound`` of them are additions that were built here of sound ends: nothing is left to check."""

    __slots__ = ("sound",)

    def __init__(self, found: Iterable[dict[str, Any]], sound: int) -> None:
        super().__init__(found)
        self.sound = sound

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)  # whoever reads it back has to look


def together(sets: Sequence[frozenset[Pair]]) -> frozenset[Pair]:
    """Return the pairs of several sets as one."""
    if len(sets) == 1:
        return sets[0]
    kind = next(kind for kind in (PlainPairs, SoundPairs, frozenset) if all(isinstance(one, kind) for one in sets))
    return kind(chain.from_iterable(sets))


_remembered: Memory[Built] = Memory()


def fine_operations(pairs: frozenset[Pair], query: str = NO_QUERY) -> Built:
    """Return one addition for each (operation, downstream field URN, upstream field URN), sorted, at most 2,000.

    One downstream each; ``query`` is the URN of the one that made them. A set that came twice is remembered:
    do not change what you get.
    """
    key = pairs, query
    found = _remembered.get(key)
    if found is None:
        found = _built(pairs, query)
        if _remembered.again(key):
            _remembered.keep(key, found, _bytes(found, pairs))
    return found


def _built(pairs: frozenset[Pair], query: str) -> Built:
    paths = [f"/fineGrainedLineages/{operation or 'NONE'}/{down}/{query}/{up}" for operation, down, up in pairs]
    whole = ""
    if type(pairs) is not PlainPairs:
        whole = "".join(paths)
        if "~" in whole or whole.count("/") != _SLASHES * len(paths):  # none has fewer
            paths = [_path(pair, query) for pair in pairs]
    paths.sort()
    operations = [{"op": "add", "path": path, "value": _SURE} for path in paths[:_MOST]]
    if _DATASET in whole:
        operations = [
            {**operation, "value": _SURE_OF_DATASET} if _DATASET in operation["path"] else operation
            for operation in operations
        ]
    return Built(operations, len(operations) if isinstance(pairs, SoundPairs) or _sound(pairs) else 0)


def _bytes(found: Built, pairs: frozenset[Pair]) -> int:
    """Return about how much is held by what was made of ``pairs``, and by them."""
    return sum([len(operation["path"]) for operation in found], _PAIR_BYTES * (len(pairs) + 1))


def by_query(told: Iterable[tuple[str, frozenset[Pair]]]) -> Built:
    """Return the additions of several (query URN or "", pairs), at most 2,000; pairs of one query are rendered together."""
    sets: dict[str, list[frozenset[Pair]]] = {}
    for query, pairs in told:
        sets.setdefault(query, []).append(pairs)
    parts = [fine_operations(together(sets[query]), query or NO_QUERY) for query in sorted(sets)]
    found = list(chain.from_iterable(parts))[:_MOST]
    return Built(found, len(found) if all(part.sound == len(part) for part in parts) else 0)


def behind(others: list[dict[str, Any]], fine: Built) -> Built:
    """Return ``others`` and, behind them, column lineage."""
    return Built([*others, *fine], fine.sound)


def over_cap(pairs: Collection[Pair]) -> list[Pair]:
    """Return the pairs that :func:`fine_operations` leaves out: more beside them, or another query, brings none of them back."""
    return sorted(pairs, key=_path)[_MOST:] if len(pairs) > _MOST else []


def _path(pair: Pair, query: str = NO_QUERY) -> str:
    operation, down, up = pair
    return f"/fineGrainedLineages/{_escaped(operation or 'NONE')}/{_escaped(down)}/{query}/{_escaped(up)}"


def _sound(pairs: Iterable[Pair]) -> bool:
    downs, ups = {pair[1] for pair in pairs}, {pair[2] for pair in pairs}
    return _DOWNSTREAM.issuperset(map(urns.type_if_urn, downs)) and _UPSTREAM.issuperset(map(urns.type_if_urn, ups))


def _escaped(segment: str) -> str:
    return segment.replace("~", "~0").replace("/", "~1")
