"""The members of a JSON array, each as it stands there; those of an array that holds too many are counted, and never kept."""

from __future__ import annotations

from itertools import count
from typing import Any

import msgspec

from dh_bridge.errors import EventError
from dh_bridge.openlineage.repair import mended


class _Member:
    """Stands for any member while they are counted."""


_decode = msgspec.json.Decoder(list[msgspec.Raw]).decode


def members(raw: bytes, place: str, most: int | None = None) -> list[msgspec.Raw]:
    """Return the members of the array ``raw``; an EventError when it has more than ``most``.

    Of an array of ``0`` a member takes forty times the memory that it has bytes. What is no JSON raises msgspec's own error.
    """
    try:
        return _bounded(raw, place, most)
    except msgspec.DecodeError:
        if (sound := mended(raw)) is None:
            raise
        return _bounded(sound, place, most)


def _bounded(raw: bytes, place: str, most: int | None) -> list[msgspec.Raw]:
    if most is not None and raw.count(b",") >= most and _exceeds(raw, most):
        raise EventError(f"more than {most:,} events in one array", where=place, now="send fewer at a time")
    return _decode(raw)


def _exceeds(raw: bytes, most: int) -> bool:
    """Return whether an array has more than ``most`` members; what is behind those is not looked at."""
    numbers, any_of_them = count(1), _Member()

    def seen(_type: type, _member: Any) -> _Member:
        if next(numbers) > most:
            raise OverflowError
        return any_of_them

    # a number of any size, and bytes that are no UTF-8, make one member unusable, and are no reason to stop here
    decode = msgspec.json.Decoder(list[_Member], dec_hook=seen, float_hook=len).decode
    try:
        decode(raw)
    except UnicodeDecodeError:
        return _exceeds(raw.decode("latin-1").encode(), most)
    except OverflowError:
        return True
    return False
