"""Caches that are bounded in bytes, and settings of the garbage collector."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

Value = TypeVar("Value")

_DEFAULT_MAX_BYTES = 32 * 1024 * 1024
_MAX_SEEN_HASHES = 65_536


def relax_garbage_collection() -> None:
    """Run the garbage collector rarely, in a process of the bridge alone.

    Translation makes no reference cycles, and searching the open runs of a window for cycles took a tenth of the time.
    """
    gc.set_threshold(2_000_000, 20, 50)


class GenerationalCache(Generic[Value]):
    """Key -> value, in two generations of about ``max_bytes`` bytes each; the older one is dropped as a whole.

    A value is stored when its key is used the second time: a key that is used once costs only its hash (storing all values made
    new tables 15 % slower). A key may refer to objects by their ``id()``: the cache references these objects, so that no other
    object gets the same id.
    """

    def __init__(self, max_bytes: int = _DEFAULT_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._young: dict[int, tuple[Hashable, Value, int, Any]] = {}
        self._old: dict[int, tuple[Hashable, Value, int, Any]] = {}
        self._size = 0
        self._seen_hashes: set[int] = set()

    def get(self, key: Hashable) -> Value | None:
        """Return the value of ``key``, None when it is not known."""
        key_hash = hash(key)
        entry = self._young.get(key_hash)
        if entry is None and (entry := self._old.get(key_hash)) is not None:
            self._store_entry(key_hash, entry)
        return entry[1] if entry is not None and entry[0] == key else None

    def is_repeated(self, key: Hashable) -> bool:
        """Return whether ``key`` was requested before, so that its value should be cached."""
        key_hash = hash(key)
        if key_hash in self._seen_hashes:
            return True
        if len(self._seen_hashes) >= _MAX_SEEN_HASHES:
            self._seen_hashes.clear()
        self._seen_hashes.add(key_hash)
        return False

    def store(self, key: Hashable, value: Value, size: int, key_objects: Any = None) -> None:
        """Remember a value of about ``size`` bytes; ``key_objects``: the objects that ``key`` names by id."""
        self._store_entry(hash(key), (key, value, size, key_objects))

    def _store_entry(self, key_hash: int, entry: tuple[Hashable, Value, int, Any]) -> None:
        if self._size >= self._max_bytes:
            self._old, self._young, self._size = self._young, {}, 0
        self._young[key_hash] = entry
        self._size += entry[2]
