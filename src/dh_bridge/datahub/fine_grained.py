"""Column lineage as patch operations: built from valid URNs, so that the check need not parse the paths again.

An event of a table may have a hundred new paths. To parse each of them would take a third of the time of an event.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from itertools import chain
from typing import TYPE_CHECKING, Any

from dh_bridge.cache import GenerationalCache
from dh_bridge.datahub import pointers, urns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

Pair = tuple["str | None", str, str]

_MAX_OPERATIONS = 2000
_PAIR_BYTES = 900  # memory of a pair and its operation, without the path
_PATH_SLASHES = 5
_CONFIDENCE = {"confidenceScore": 1.0}
# A column that was made of a whole dataset. A server joins all upstreams of one operation and downstream into one entry
# with one upstreamType, so statements about datasets need an operation of their own.
_DATASET_CONFIDENCE = {"confidenceScore": 1.0, "upstreamType": "DATASET"}
_DATASET = "/urn:li:dataset:("
OF_DATASET = "DATASET"
"""The operation, or the end of one (``DIRECT:IDENTITY+DATASET``), of pairs whose upstream is a dataset."""
_UPSTREAM = frozenset({"schemaField", "dataset"})
_DOWNSTREAM = frozenset({"schemaField"})
NO_QUERY = NO_OPERATION = "NONE"
"""Where a path names the query or the operation, if none is known."""
_PATH_PREFIX = "/fineGrainedLineages/"


class ValidPairs(frozenset[Pair]):
    """Pairs whose URNs are known to be sound, as those of :class:`~dh_bridge.datahub.urns.FieldUrns` are."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return frozenset, (tuple(self),)  # an unpickled copy is checked again


class PlainPairs(AbstractSet[Pair]):
    """Valid pairs between columns. None of their texts has a character that must be escaped in a path.

    They are stored as the sorted paths of their operations.
    """

    __slots__ = ("_operations", "_was_requested", "paths")

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = sorted(set(paths))
        self._was_requested = False
        self._operations: PatchOperations | None = None

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
        return frozenset, (tuple(self),)  # an unpickled copy is checked again

    @property
    def operations(self) -> PatchOperations:
        """One addition for each path, as :func:`fine_operations` returns them; cached at the second request."""
        additions = self._operations
        if additions is None:
            additions = _build_additions(self.paths)
            if self._was_requested:
                self._operations = additions
            self._was_requested = True
        return additions


class PatchOperations(list[dict[str, Any]]):
    """Operations of a patch. The last ``valid_count`` of them are additions that were built here of sound ends: nothing is left to check."""

    __slots__ = ("valid_count",)

    def __init__(self, operations: Iterable[dict[str, Any]], valid_count: int) -> None:
        super().__init__(operations)
        self.valid_count = valid_count

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)  # an unpickled copy is checked again


def merge_pairs(sets: Sequence[AbstractSet[Pair]]) -> AbstractSet[Pair]:
    """Return the pairs of several sets as one."""
    if len(sets) == 1:
        return sets[0]
    plain_sets = [pairs for pairs in sets if type(pairs) is PlainPairs]
    if len(plain_sets) == len(sets):
        return PlainPairs(chain.from_iterable([pairs.paths for pairs in plain_sets]))
    is_valid = all(isinstance(pairs, _VALID_TYPES) for pairs in sets)
    return (ValidPairs if is_valid else frozenset)(chain.from_iterable(sets))


_VALID_TYPES = PlainPairs | ValidPairs
_cache: GenerationalCache[PatchOperations] = GenerationalCache()


def fine_operations(pairs: AbstractSet[Pair], query: str = NO_QUERY) -> PatchOperations:
    """Return one addition for each (operation, downstream field URN, upstream field URN), sorted, at most 2,000.

    One downstream each; ``query`` is the URN of the one that made them. A set that came twice is remembered:
    do not change what you get.
    """
    if type(pairs) is PlainPairs:
        if query == NO_QUERY:
            return pairs.operations
        pairs = ValidPairs(pairs)
    key = pairs, query
    operations = _cache.get(key)
    if operations is None:
        operations = _build_operations(pairs, query)
        if _cache.is_repeated(key):
            _cache.store(key, operations, _size_of(operations, pairs))
    return operations


def _build_operations(pairs: AbstractSet[Pair], query: str) -> PatchOperations:
    paths = [f"{_PATH_PREFIX}{operation or NO_OPERATION}/{down}/{query}/{up}" for operation, down, up in pairs]
    joined_paths = "".join(paths)
    if "~" in joined_paths or joined_paths.count("/") != _PATH_SLASHES * len(paths):  # none has fewer
        paths = [path_of(pair, query) for pair in pairs]
    paths.sort()
    operations = _build_additions(paths)
    if _DATASET in joined_paths:
        of_datasets = [
            {**operation, "value": _DATASET_CONFIDENCE} if _DATASET in operation["path"] else operation
            for operation in operations
        ]
        operations = PatchOperations(of_datasets, len(of_datasets))
    return operations if isinstance(pairs, ValidPairs) or _are_valid(pairs) else PatchOperations(operations, 0)


def _build_additions(paths: list[str]) -> PatchOperations:
    """Return the additions at the first 2,000 of the paths, as if their ends were sound."""
    operations = [{"op": "add", "path": path, "value": _CONFIDENCE} for path in paths[:_MAX_OPERATIONS]]
    return PatchOperations(operations, len(operations))


def _size_of(operations: PatchOperations, pairs: AbstractSet[Pair]) -> int:
    """Return the approximate memory of ``pairs`` and of the objects that were built from them."""
    return sum([len(operation["path"]) for operation in operations], _PAIR_BYTES * (len(pairs) + 1))


def operations_by_query(query_pairs: Iterable[tuple[str, AbstractSet[Pair]]]) -> PatchOperations:
    """Return the additions of several (query URN or "", pairs), at most 2,000; pairs of one query are rendered together."""
    sets: dict[str, list[AbstractSet[Pair]]] = {}
    for query, pairs in query_pairs:
        sets.setdefault(query, []).append(pairs)
    parts = [fine_operations(merge_pairs(sets[query]), query or NO_QUERY) for query in sorted(sets)]
    operations = list(chain.from_iterable(parts))[:_MAX_OPERATIONS]
    return PatchOperations(operations, len(operations) if all(part.valid_count == len(part) for part in parts) else 0)


def append_lineage(operations: list[dict[str, Any]], lineage: PatchOperations) -> PatchOperations:
    """Return ``operations`` and, behind them, column lineage."""
    return PatchOperations([*operations, *lineage], lineage.valid_count)


def pairs_over_limit(pairs: Collection[Pair]) -> list[Pair]:
    """Return the pairs that :func:`fine_operations` leaves out: more beside them, or another query, brings none of them back."""
    return sorted(pairs, key=path_of)[_MAX_OPERATIONS:] if len(pairs) > _MAX_OPERATIONS else []


def plain_paths(rows: Iterable[tuple[str | None, str, str, str]]) -> list[str]:
    """Return the paths of pairs, where no text has a sign to escape: each an operation, a URN, and a URN without its last word."""
    return [
        f"{_PATH_PREFIX}{operation or NO_OPERATION}/{down}/{NO_QUERY}/{head}{column})"
        for operation, down, head, column in rows
    ]


def path_of(pair: Pair, query: str = NO_QUERY) -> str:
    """Return the path of the operation that adds a pair."""
    operation, down, up = pair
    return f"{_PATH_PREFIX}{_escape(operation or NO_OPERATION)}/{_escape(down)}/{query}/{_escape(up)}"


def path_ends(path: str) -> tuple[str, str] | None:
    """Return the downstream and upstream URNs of a pair by the path of its operation; None for another text."""
    if not path.startswith(_PATH_PREFIX) or path.count("/") != _PATH_SLASHES:
        return None
    _, _, down, _, up = pointers.steps(path)
    return down, up


def _are_valid(pairs: Iterable[Pair]) -> bool:
    downs, ups = {pair[1] for pair in pairs}, {pair[2] for pair in pairs}
    return _DOWNSTREAM.issuperset(map(urns.type_if_urn, downs)) and _UPSTREAM.issuperset(map(urns.type_if_urn, ups))


def _escape(segment: str) -> str:
    return segment.replace("~", "~0").replace("/", "~1")
