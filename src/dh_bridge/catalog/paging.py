"""Pages of long answers: how many rows are examined for a page, and the token that continues after it."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TYPE_CHECKING, Generic, TypeVar

import msgspec

from dh_bridge.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Item = TypeVar("Item")
Result = TypeVar("Result")

DEFAULT_PAGE_SIZE = 50
MAX_EXAMINED = 10_000
"""Rows that are examined for one page, to fill it and to count what is left. If a filter rejects all, the next page continues."""

PageKey = tuple[int | str, ...]
"""The position of a row in the order of its list: the values that the list is sorted by."""


class Page(msgspec.Struct, Generic[Item], frozen=True):
    """Some items of a long list.

    Attributes:
        items: the items of this page, in order.
        remaining: the number of items after this page, or of those that were counted.
        is_exact: whether ``remaining`` is the number of all items after this page; else there may be more.
        next_page: the token of the next page; None after the last one.
    """

    items: list[Item]
    remaining: int = 0
    is_exact: bool = True
    next_page: str | None = None

    @property
    def total(self) -> int:
        """The number of items from the beginning of this page on, or of those that were counted."""
        return len(self.items) + self.remaining

    def with_items(self, items: list[Result]) -> Page[Result]:
        """Return a page at the same position with other items, such as rows instead of URNs."""
        return Page(items, self.remaining, self.is_exact, self.next_page)


def encode_key(key: PageKey) -> str:
    """Return the token of the page after a row.

    >>> decode_key(encode_key((1795245236861, 17)), (int, int))
    (1795245236861, 17)
    """
    return urlsafe_b64encode(msgspec.msgpack.encode(key)).decode().rstrip("=")


def decode_key(token: str, types: tuple[type, ...]) -> PageKey:
    """Return the position in a token.

    Args:
        token: The token of a page.
        types: The types of the values.

    Raises:
        SettingsError: The token is not one of this list.
    """
    try:
        values = msgspec.msgpack.decode(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
    except (ValueError, msgspec.DecodeError):
        values = None
    if not isinstance(values, list) or tuple(map(type, values)) != types:
        raise SettingsError(
            f"{token!r} is not a page of this list",
            location="page",
            remedy="use the value that the page before it returned",
        )
    return tuple(values)


def take_page(
    rows: Iterable[tuple[PageKey, Item]],
    *,
    limit: int | None,
    accept: Callable[[Item], bool] | None = None,
) -> Page[Item]:
    """Return the first page of some rows.

    Args:
        rows: The rows from the beginning of the page, each with its key, in the order of the list.
        limit: The maximum number of items; None for all.
        accept: Returns whether an item belongs to the list. At most MAX_EXAMINED rows are examined, unless ``limit`` is None.
    """
    items: list[Item] = []
    remaining = 0
    last_key: PageKey | None = None
    is_exact = True
    for examined, (key, item) in enumerate(rows):
        if limit is not None and examined == MAX_EXAMINED:
            is_exact = False
            break
        is_full = limit is not None and len(items) == limit
        if not is_full:
            last_key = key
        if accept is None or accept(item):
            if is_full:
                remaining += 1
            else:
                items.append(item)
    has_more = remaining or not is_exact
    return Page(items, remaining, is_exact, encode_key(last_key) if has_more and last_key is not None else None)
