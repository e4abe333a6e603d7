"""Values of facts that MessagePack has no type for: each has a code of its own in stored states."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.msgpack import Decoder, Encoder, Ext

from dh_bridge.datahub.fine_grained import PlainPairs
from dh_bridge.model.facts import TOMBSTONE
from dh_bridge.model.merge import Digest, restore_digest
from dh_bridge.model.properties import MergedProperty

_DIGEST, _TOMBSTONE, _MERGED_PROPERTY, _LARGE_INTEGER = 1, 2, 3, 4
"""Codes: never changed, and never used again."""


def to_ext(value: Any) -> Any:
    """Return the stored form of a value that MessagePack has no type for."""
    if type(value) is Digest:
        return Ext(_DIGEST, value.value)
    if value is TOMBSTONE:
        return Ext(_TOMBSTONE, b"")
    if type(value) is MergedProperty:
        return Ext(_MERGED_PROPERTY, encode((value.name, list(value.members.items()))))
    if type(value) is PlainPairs:
        return frozenset(value)
    raise TypeError(f"a state cannot contain a {type(value).__name__}")


def from_ext(code: int, data: memoryview) -> Any:
    """Return the value of a stored form."""
    if code == _DIGEST:
        return restore_digest(bytes(data))
    if code == _TOMBSTONE:
        return TOMBSTONE
    if code == _MERGED_PROPERTY:
        name, members = _merged_property_decoder.decode(data)
        return MergedProperty(name, dict(members))
    if code == _LARGE_INTEGER:
        return int(bytes(data))
    raise ValueError(f"unknown code {code}")


_encode_plain = Encoder(enc_hook=to_ext).encode
_merged_property_decoder = Decoder(tuple[str, list[tuple[str | tuple[str, ...], Any]]], ext_hook=from_ext)


def encode(value: Any) -> bytes:
    """Return a value as MessagePack."""
    try:
        return _encode_plain(value)
    except OverflowError:  # JSON has integers of any size, MessagePack of 64 bits
        return _encode_plain(_replace_large_integers(value))


def _replace_large_integers(value: Any) -> Any:
    """Return a value whose integers beyond 64 bits are texts of a code of their own."""
    if type(value) is int and not -(1 << 63) <= value < 1 << 64:
        return Ext(_LARGE_INTEGER, str(value).encode())
    if isinstance(value, msgspec.Struct):
        return type(value)(*map(_replace_large_integers, msgspec.structs.astuple(value)))
    if isinstance(value, dict):
        return {key: _replace_large_integers(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replace_large_integers(member) for member in value]
    return value
