"""A sample of bounded size: what is kept of a long input, the same whatever its order."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Value = TypeVar("_Value")

_HASH_RANGE = 1 << 64


class Sample(Generic[_Value]):
    """Notes about keys: of at most ``limit``, chosen by a hash, so that what is said of a kept key is all of it.

    Over the limit the keys with the larger hashes are forgotten, and never taken again (bottom-k sampling).
    """

    def __init__(self, limit: int, make_note: Callable[[], _Value]) -> None:
        self._limit = limit
        self._make_note = make_note
        self._max_hash = _HASH_RANGE
        self._notes: dict[str, _Value] = {}

    def note_of(self, key: str) -> _Value | None:
        """Return the note about ``key``, a new one where there is none; None when the key is not in the sample."""
        note = self._notes.get(key)
        if note is not None:
            return note
        if self._max_hash < _HASH_RANGE and _hash_of(key) >= self._max_hash:
            return None
        note = self._notes[key] = self._make_note()
        if len(self._notes) > self._limit:
            self._shrink()
            return self._notes.get(key)
        return note

    def items(self) -> Iterator[tuple[str, _Value]]:
        """Yield keys and notes, sorted by key."""
        yield from sorted(self._notes.items(), key=lambda item: item[0])

    @property
    def sampled_fraction(self) -> float:
        """The part of all keys that is kept, 0 to 1."""
        return self._max_hash / _HASH_RANGE

    def _shrink(self) -> None:
        hashes = {key: _hash_of(key) for key in self._notes}
        self._max_hash = sorted(hashes.values())[len(hashes) // 2]
        self._notes = {key: note for key, note in self._notes.items() if hashes[key] < self._max_hash}


def _hash_of(key: str) -> int:
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
