"""States as the ledger keeps them: packed, and read back with a word of whose state it is when they cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

from dh_bridge.errors import BridgeError
from dh_bridge.storage.damage import DamageError
from dh_bridge.translation.state_codec import Reader
from dh_bridge.translation.state_codec import packed as written
from dh_bridge.translation.state_codec import unpacked as read

if TYPE_CHECKING:
    import io
    from collections.abc import Callable

_SEALED = b"\x01"
"""First byte of a state with its checksum; one without begins as pickles do, and was written by an older release."""
_START = 5
#: Of a change that makes older bytes unreadable; the ledger then asks for a new file.
FORMAT = 1


def packed(value: Any) -> bytes:
    """Return a state as bytes with their checksum."""
    return sealed(written(value))


def sealed(data: bytes) -> bytes:
    """Return the bytes of a state with their checksum before them."""
    return _SEALED + crc32(data).to_bytes(4, "big") + data


def unpacked(data: bytes, *, where: str, reader: Callable[[io.BytesIO], Reader] = Reader) -> Any:
    """Return the state that ``data`` holds; a SinkError when it holds something else, or was written by another release."""
    if not isinstance(data, bytes):
        raise DamageError("a state is no bytes", where=where)
    if data.startswith(_SEALED):
        if crc32(memoryview(data)[_START:]) != int.from_bytes(data[1:_START], "big"):
            raise DamageError("the checksum of a state does not match", where=where)
        data = data[_START:]
    try:
        return read(data, reader)
    except BridgeError as error:
        raise DamageError(f"a state {error.what}", where=where) from error
