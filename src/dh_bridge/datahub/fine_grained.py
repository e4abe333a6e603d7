"""Column lineage as patch operations: built here from URNs, so that their check need not take them apart again.

A table brings a hundred new paths, and to read each of them would be a third of the time of an event.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from itertools import chain
from typing import TYPE_CHECKING, Any

from dh_bridge.cache import Memory
from dh_bridge.datahub import pointers, urns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

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
NO_QUERY = NO_OPERATION = "NONE"
"""Where a path names the query or the operation, if none is known."""
_FINE = "/fineGrainedLineages/"


class SoundPairs(frozenset[Pair]):
    """Pairs whose URNs are known to be sound, as those of :class:`~dh_bridge.datahub.urns.FieldUrns` are."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return frozenset, (tuple(self),)  # whoever reads it back has to look


class PlainPairs(AbstractSet[Pair]):
    """Sound pairs between columns alone, none of whose texts has a sign that the segment of a path would escape.

    They are held as what is written of them: the paths of their operations, sorted.
    """

    __slots__ = ("_again", "_operations", "paths")

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = sorted(set(paths))
        self._again = False
        self._operations: Built | None = None

    def __iter__(self) -> Iterator[Pair]:
        for path in self.paths:
            _, _, operation, down, _, up = path.split("/")  # nothing is escaped
            yield None if operation == NO_OPERATION else operation, down, up

    def __len__(self) -> int:
        return len(self.paths)

    def __contains__(self, pair: object) -> bool:
        return pair in frozenset(self)

    def __or__(self, other: AbstractSet[Any]) -> AbstractSet[Any]:
        """Return the pairs of both."""
        return PlainPairs((*self.paths, *other.paths)) if type(other) is PlainPairs else frozenset((*self, *other))

    __ror__ = __or__

    def __eq__(self, other: object) -> bool:
        """Whether ``other`` is a set of the same pairs."""
        return self.paths == other.paths if type(other) is PlainPairs else frozenset(self) == other

    def __hash__(self) -> int:
        return hash(frozenset(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return frozenset, (tuple(self),)  # whoever reads it back has to look

    @property
    def operations(self) -> Built:
        """One addition for each, as of :func:`fine_operations`; kept when they are asked for again."""
        found = self._operations
        if found is None:
            found = _additions(self.paths)
            if self._again:
                self._operations = found
            self._again = True
        return found


class Built(list[dict[str, Any]]):
    """Operations of a patch. The last ``sound`` of them are additions that were built here of sound ends: nothing is left to check."""

    __slots__ = ("sound",)

    def __init__(self, found: Iterable[dict[str, Any]], sound: int) -> None:
        super().__init__(found)
        self.sound = sound

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)  # whoever reads it back has to look


def together(sets: Sequence[AbstractSet[Pair]]) -> AbstractSet[Pair]:
    """Return the pairs of several sets as one."""
    if len(sets) == 1:
        return sets[0]
    plain = [one for one in sets if type(one) is PlainPairs]
    if len(plain) == len(sets):
        return PlainPairs(chain.from_iterable([one.paths for one in plain]))
    sound = all(isinstance(one, _SOUND) for one in sets)
    return (SoundPairs if sound else frozenset)(chain.from_iterable(sets))


_SOUND = PlainPairs | SoundPairs
_remembered: Memory[Built] = Memory()


def fine_operations(pairs: AbstractSet[Pair], query: str = NO_QUERY) -> Built:
    """Return one addition for each (operation, downstream field URN, upstream field URN), sorted, at most 2,000.

    One downstream each; ``query`` is the URN of the one that made them. A set that came twice is remembered:
    do not change what you get.
    """
    if type(pairs) is PlainPairs:
        if query == NO_QUERY:
            return pairs.operations
        pairs = SoundPairs(pairs)
    key = pairs, query
    found = _remembered.get(key)
    if found is None:
        found = _built(pairs, query)
        if _remembered.again(key):
            _remembered.keep(key, found, _bytes(found, pairs))
    return found


def _built(pairs: AbstractSet[Pair], query: str) -> Built:
    paths = [f"{_FINE}{operation or NO_OPERATION}/{down}/{query}/{up}" for operation, down, up in pairs]
    whole = "".join(paths)
    if "~" in whole or whole.count("/") != _SLASHES * len(paths):  # none has fewer
        paths = [path_of(pair, query) for pair in pairs]
    paths.sort()
    operations = _additions(paths)
    if _DATASET in whole:
        of_datasets = [
            {**operation, "value": _SURE_OF_DATASET} if _DATASET in operation["path"] else operation
            for operation in operations
        ]
        operations = Built(of_datasets, len(of_datasets))
    return operations if isinstance(pairs, SoundPairs) or _sound(pairs) else Built(operations, 0)


def _additions(paths: list[str]) -> Built:
    """Return the additions at the first 2,000 of the paths, as if their ends were sound."""
    operations = [{"op": "add", "path": path, "value": _SURE} for path in paths[:_MOST]]
    return Built(operations, len(operations))


def _bytes(found: Built, pairs: AbstractSet[Pair]) -> int:
    """Return about how much is held by what was made of ``pairs``, and by them."""
    return sum([len(operation["path"]) for operation in found], _PAIR_BYTES * (len(pairs) + 1))


def by_query(told: Iterable[tuple[str, AbstractSet[Pair]]]) -> Built:
    """Return the additions of several (query URN or "", pairs), at most 2,000; pairs of one query are rendered together."""
    sets: dict[str, list[AbstractSet[Pair]]] = {}
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
    return sorted(pairs, key=path_of)[_MOST:] if len(pairs) > _MOST else []


def plain_paths(rows: Iterable[tuple[str | None, str, str, str]]) -> list[str]:
    """Return the paths of pairs, where no text has a sign to escape: each an operation, a URN, and a URN without its last word."""
    return [f"{_FINE}{how or NO_OPERATION}/{down}/{NO_QUERY}/{head}{word})" for how, down, head, word in rows]


def path_of(pair: Pair, query: str = NO_QUERY) -> str:
    """Return the path of the operation that adds a pair."""
    operation, down, up = pair
    return f"{_FINE}{_escaped(operation or NO_OPERATION)}/{_escaped(down)}/{query}/{_escaped(up)}"


def ends(path: str) -> tuple[str, str] | None:
    """Return the downstream and upstream URNs of a pair by the path of its operation; None for another text."""
    if not path.startswith(_FINE) or path.count("/") != _SLASHES:
        return None
    _, _, down, _, up = pointers.steps(path)
    return down, up


def _sound(pairs: Iterable[Pair]) -> bool:
    downs, ups = {pair[1] for pair in pairs}, {pair[2] for pair in pairs}
    return _DOWNSTREAM.issuperset(map(urns.type_if_urn, downs)) and _UPSTREAM.issuperset(map(urns.type_if_urn, ups))


def _escaped(segment: str) -> str:
    return segment.replace("~", "~0").replace("/", "~1")
