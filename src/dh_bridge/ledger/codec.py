"""States as the ledger stores them: encoded, with a checksum; an error names the run or entity whose state cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

from dh_bridge.errors import BridgeError
from dh_bridge.storage.damage import DamageError, OtherVersionError
from dh_bridge.translation.state_codec import StateVersionError

if TYPE_CHECKING:
    from collections.abc import Callable

_Value = TypeVar("_Value")

_SEALED = b"\x01"
"""First byte of a state with its checksum."""
_START = 5


def sealed(data: bytes) -> bytes:
    """Return the bytes of a state with their checksum before them."""
    return _SEALED + crc32(data).to_bytes(4, "big") + data


def unsealed(data: Any, decode: Callable[[bytes], _Value], *, where: str) -> _Value:
    """Return the state that sealed bytes hold.

    Raises:
        OtherVersionError: Another version of dh-bridge stored the state.
        DamageError: The bytes are no state.
    """
    if not isinstance(data, bytes):
        raise DamageError("a state is no bytes", where=where)
    if data.startswith(_SEALED):  # else of an earlier version, or damaged: the codec's error says which
        if crc32(memoryview(data)[_START:]) != int.from_bytes(data[1:_START], "big"):
            raise DamageError("the checksum of a state does not match", where=where)
        data = data[_START:]
    try:
        return decode(data)
    except StateVersionError as error:
        raise OtherVersionError(error.found, where=where) from error
    except DamageError:
        raise
    except BridgeError as error:
        raise DamageError(f"a state {error.what}", where=where) from error
