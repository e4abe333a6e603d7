"""States as the ledger keeps them: packed, and read back with a word of whose state it is when they cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.errors import BridgeError, SinkError
from dh_bridge.translation.packing import Reader, packed
from dh_bridge.translation.packing import unpacked as read

if TYPE_CHECKING:
    import io
    from collections.abc import Callable

__all__ = ["FORMAT", "packed", "unpacked"]

#: Of a change that makes older bytes unreadable; the ledger then asks for a new file.
FORMAT = 1


def unpacked(data: bytes, *, where: str, reader: Callable[[io.BytesIO], Reader] = Reader) -> Any:
    """Return the state that ``data`` holds; a SinkError when it holds something else, or was written by another release."""
    try:
        return read(data, reader)
    except BridgeError as error:
        raise SinkError(
            f"holds a state that {error.what}", where=where, now="name a new ledger and send the events again"
        ) from error
