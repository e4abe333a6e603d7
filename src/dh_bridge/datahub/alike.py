"""Schema fields that are alike: built here of read types, so that their check need not walk each of them again.

A table brings dozens of columns of a few types, and to look at every field of every column would be a twelfth of the time of
an event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


class AlikeFields(list[dict[str, Any]]):
    """Fields of which each differs from one of its ``kinds`` by the texts of its path and description alone.

    To check the ``kinds`` is to check them all: do not change what you get.
    """

    __slots__ = ("kinds",)

    def __init__(self, found: Iterable[dict[str, Any]], kinds: list[dict[str, Any]]) -> None:
        super().__init__(found)
        self.kinds = kinds

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)  # whoever reads it back has to look
