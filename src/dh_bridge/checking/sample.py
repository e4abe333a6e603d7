"""A sample of bounded size of a long input, which does not depend on the order of the input."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Value = TypeVar("_Value")

_HASH_RANGE = 1 << 64


class Sample(Generic[_Value]):
    """Values by key, for at most ``limit`` keys, chosen by a hash, so that all values of a stored key are stored.

    Beyond the limit, the keys with the larger hashes are dropped, and never stored again (bottom-k sampling).
    """

    def __init__(self, limit: int, make_note: Callable[[], _Value]) -> None:
        self._limit = limit
        self._make_note = make_note
        self._max_hash = _HASH_RANGE
        self._notes: dict[str, _Value] = {}

    def note_of(self, key: str) -> _Value | None:
        """Return the note about ``key``, a new one if there is none; None if the key is not in the sample."""
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
        """The share of all keys that is stored, 0 to 1."""
        return self._max_hash / _HASH_RANGE

    def _shrink(self) -> None:
        hashes = {key: _hash_of(key) for key in self._notes}
        self._max_hash = sorted(hashes.values())[len(hashes) // 2]
        self._notes = {key: note for key, note in self._notes.items() if hashes[key] < self._max_hash}


def _hash_of(key: str) -> int:
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
