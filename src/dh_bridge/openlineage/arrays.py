"""The members of a JSON array as raw JSON; if the array has too many members, they are counted without being stored."""

from __future__ import annotations

from itertools import count
from typing import Any

import msgspec

from dh_bridge.errors import EventError
from dh_bridge.openlineage.repair import repair_json


class _Member:
    """Stands for any member while they are counted."""


_decode = msgspec.json.Decoder(list[msgspec.Raw]).decode


def split_array(raw: bytes, location: str, max_members: int | None = None) -> list[msgspec.Raw]:
    """Return the members of the array ``raw``; an EventError if it has more than ``max_members``.

    A member of an array of ``0`` takes forty times the memory of its bytes. Invalid JSON raises msgspec's error.
    """
    try:
        return _split_bounded(raw, location, max_members)
    except msgspec.DecodeError:
        if (repaired := repair_json(raw)) is None:
            raise
        return _split_bounded(repaired, location, max_members)


def _split_bounded(raw: bytes, location: str, max_members: int | None) -> list[msgspec.Raw]:
    if max_members is not None and raw.count(b",") >= max_members and _has_more_members(raw, max_members):
        raise EventError(
            f"more than {max_members:,} events in one array", location=location, remedy="send fewer at once"
        )
    return _decode(raw)


def _has_more_members(raw: bytes, max_members: int) -> bool:
    """Return whether an array has more than ``max_members`` members; later members are not parsed."""
    numbers, placeholder = count(1), _Member()

    def count_member(_type: type, _member: Any) -> _Member:
        if next(numbers) > max_members:
            raise OverflowError
        return placeholder

    # a number of any size, and bytes that are no UTF-8, make one member unusable, and are no reason to stop here
    decode = msgspec.json.Decoder(list[_Member], dec_hook=count_member, float_hook=len).decode
    try:
        decode(raw)
    except UnicodeDecodeError:
        return _has_more_members(raw.decode("latin-1").encode(), max_members)
    except OverflowError:
        return True
    return False
