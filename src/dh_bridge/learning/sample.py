"""A sample of bounded size: what is kept of a long input, the same whatever its order."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_Value = TypeVar("_Value")

_WHOLE = 1 << 64


class Sample(Generic[_Value]):
    """Notes about keys: of at most ``limit``, chosen by a hash, so that what is said of a kept key is all of it.

    Over the limit the keys with the larger hashes are forgotten, and never taken again (bottom-k sampling).
    """

    def __init__(self, limit: int, new: Callable[[], _Value]) -> None:
        self._limit = limit
        self._new = new
        self._bound = _WHOLE
        self._kept: dict[str, _Value] = {}

    def at(self, key: str) -> _Value | None:
        """Return the note about ``key``, a new one where there is none; None when the key is not in the sample."""
        found = self._kept.get(key)
        if found is not None:
            return found
        if self._bound < _WHOLE and _mark(key) >= self._bound:
            return None
        found = self._kept[key] = self._new()
        if len(self._kept) > self._limit:
            self._shrink()
            return self._kept.get(key)
        return found

    def items(self) -> Iterator[tuple[str, _Value]]:
        """Yield keys and notes, sorted by key."""
        yield from sorted(self._kept.items(), key=lambda item: item[0])

    @property
    def share(self) -> float:
        """The part of all keys that is kept, 0 to 1."""
        return self._bound / _WHOLE

    def _shrink(self) -> None:
        marks = {key: _mark(key) for key in self._kept}
        self._bound = sorted(marks.values())[len(marks) // 2]
        self._kept = {key: note for key, note in self._kept.items() if marks[key] < self._bound}


def _mark(key: str) -> int:
    return int.from_bytes(blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
