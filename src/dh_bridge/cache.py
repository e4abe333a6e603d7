"""What was worked out before: kept when it comes the second time, within bounds that count bytes; and garbage."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable

Value = TypeVar("Value")

_BYTES = 32 * 1024 * 1024
_ONCE = 65_536


def collect_rarely() -> None:
    """Let the garbage collector look seldom, in a process that is ours alone.

    Translation leaves no cycles behind, and to look through the open runs of a window for some took a tenth of the time.
    """
    gc.set_threshold(2_000_000, 20, 50)


class Memory(Generic[Value]):
    """Key -> value, in two generations of about ``most`` bytes each; the older one is forgotten whole.

    A value is kept when its key comes the second time: what comes once, and there may be much of it, costs its hash alone
    (to keep all of it made new tables 15 % slower). A key may name objects by their ``id``: the memory holds those, so
    that no other object gets it meanwhile.
    """

    def __init__(self, most: int = _BYTES) -> None:
        self._most = most
        self._young: dict[int, tuple[Hashable, Value, int, Any]] = {}
        self._old: dict[int, tuple[Hashable, Value, int, Any]] = {}
        self._size = 0
        self._once: set[int] = set()

    def get(self, key: Hashable) -> Value | None:
        """Return the value of ``key``, None when it is not known."""
        mark = hash(key)
        found = self._young.get(mark)
        if found is None and (found := self._old.get(mark)) is not None:
            self._put(mark, found)
        return found[1] if found is not None and found[0] == key else None

    def again(self, key: Hashable) -> bool:
        """Say whether ``key`` came before, so that its value is worth keeping."""
        mark = hash(key)
        if mark in self._once:
            return True
        if len(self._once) >= _ONCE:
            self._once.clear()
        self._once.add(mark)
        return False

    def keep(self, key: Hashable, value: Value, size: int, held: Any = None) -> None:
        """Remember a value of about ``size`` bytes; ``held``: the objects that ``key`` names by id."""
        self._put(hash(key), (key, value, size, held))

    def _put(self, mark: int, entry: tuple[Hashable, Value, int, Any]) -> None:
        if self._size >= self._most:
            self._old, self._young, self._size = self._young, {}, 0
        self._young[mark] = entry
        self._size += entry[2]
