"""States as the ledger stores them: encoded, with a checksum; an error names the run or entity whose state cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

from dh_bridge.errors import BridgeError
from dh_bridge.state_codec.codec import StateVersionError
from dh_bridge.storage.damage import DamageError, OtherVersionError

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.ledger.compression import Compression

_Value = TypeVar("_Value")

_CHECKSUM_MARKER = b"\x01"
"""First byte of a state with its checksum."""
_HEADER_BYTES = 5


def seal(data: bytes, compression: Compression) -> bytes:
    """Return the bytes of a state, compressed, with their checksum before them."""
    data = compression.compress(data)
    return _CHECKSUM_MARKER + crc32(data).to_bytes(4, "big") + data


def decode_verified(data: Any, decode: Callable[[bytes], _Value], compression: Compression, *, location: str) -> _Value:
    """Decode a sealed state.

    Raises:
        OtherVersionError: Another version of dh-bridge stored the state.
        DamageError: The bytes are no state.
    """
    if not isinstance(data, bytes):
        raise DamageError("a stored state is not of type bytes", where=location)
    if data.startswith(_CHECKSUM_MARKER):  # else of an earlier version, or damaged: the codec's error says which
        if crc32(memoryview(data)[_HEADER_BYTES:]) != int.from_bytes(data[1:_HEADER_BYTES], "big"):
            raise DamageError("the checksum of a stored state does not match", where=location)
        data = data[_HEADER_BYTES:]
    try:
        return decode(compression.decompress(data))
    except StateVersionError as error:
        raise OtherVersionError(error.format_name, where=location) from error
    except DamageError:
        raise
    except BridgeError as error:
        raise DamageError(f"a stored state {error.problem}", where=location) from error
