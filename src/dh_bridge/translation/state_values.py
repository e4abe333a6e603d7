"""Values of facts that MessagePack has no type for: each has a code of its own in stored states."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.msgpack import Decoder, Encoder, Ext

from dh_bridge.datahub.fine_grained import PlainPairs
from dh_bridge.translation.facts import GONE
from dh_bridge.translation.merge import Digest, restored
from dh_bridge.translation.properties import Joined

_DIGEST, _GONE, _JOINED, _LARGE = 1, 2, 3, 4
"""Codes: never changed, and never used again."""


def to_ext(value: Any) -> Any:
    """Return the stored form of a value that MessagePack has no type for."""
    if type(value) is Digest:
        return Ext(_DIGEST, value.value)
    if value is GONE:
        return Ext(_GONE, b"")
    if type(value) is Joined:
        return Ext(_JOINED, encode((value.name, list(value.members.items()))))
    if type(value) is PlainPairs:
        return frozenset(value)
    raise TypeError(f"a state holds no {type(value).__name__}")


def from_ext(code: int, data: memoryview) -> Any:
    """Return the value of a stored form."""
    if code == _DIGEST:
        return restored(bytes(data))
    if code == _GONE:
        return GONE
    if code == _JOINED:
        name, members = _joined.decode(data)
        return Joined(name, dict(members))
    if code == _LARGE:
        return int(bytes(data))
    raise ValueError(f"code {code} is unknown")


_encode_plain = Encoder(enc_hook=to_ext).encode
_joined = Decoder(tuple[str, list[tuple[str | tuple[str, ...], Any]]], ext_hook=from_ext)


def encode(value: Any) -> bytes:
    """Return a value as MessagePack."""
    try:
        return _encode_plain(value)
    except OverflowError:  # JSON has integers of any size, MessagePack of 64 bits
        return _encode_plain(_with_large(value))


def _with_large(value: Any) -> Any:
    """Return a value whose integers beyond 64 bits are texts of a code of their own."""
    if type(value) is int and not -(1 << 63) <= value < 1 << 64:
        return Ext(_LARGE, str(value).encode())
    if isinstance(value, msgspec.Struct):
        return type(value)(*map(_with_large, msgspec.structs.astuple(value)))
    if isinstance(value, dict):
        return {key: _with_large(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_large(member) for member in value]
    return value
