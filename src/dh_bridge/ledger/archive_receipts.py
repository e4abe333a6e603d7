"""What the log knows of archived events beside their text: position, time of receipt, location, run.

They follow the compressed lines of a file, in a frame that readers of Zstandard skip (RFC 8878, 3.1.2)::

    skippable frame  0x184D2A5B (u32), length (u32), receipts (msgpack, compressed), length of the receipts (u32), b"dhRecpt1"
"""

from __future__ import annotations

import io
import struct
from typing import IO, TYPE_CHECKING

import msgspec
import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dh_bridge.event_log import LoggedEvent

_FRAME_HEAD = struct.Struct("<II")
_FRAME_MAGIC = 0x184D2A5B
_TAIL = struct.Struct("<I8s")
_TAIL_MAGIC = b"dhRecpt1"
_MAX_BYTES = 1024 * 1024 * 1024


class Receipt(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """An event of a file: its position in the log, its time of receipt in microseconds, its location, and the id of its run."""

    position: int
    received: int
    location: str
    run_key: str


class SegmentReceipts(msgspec.Struct, array_like=True):
    """The receipts of a segment, in the order of the lines.

    ``log_id``: of the log. ``created``: when the segment was made, in microseconds. ``first``: the position with which it begins;
    ``end``: the one with which the next segment may begin.
    """

    log_id: bytes
    created: int
    first: int
    end: int
    receipts: list[Receipt]

    def add(self, position: int, event: LoggedEvent) -> None:
        """Add the receipt of an event."""
        self.receipts.append(Receipt(position, event.received, event.location, event.run_key))


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(SegmentReceipts).decode


def write_receipts(file: IO[bytes], receipts: SegmentReceipts) -> None:
    """Append receipts to a file after its lines."""
    data = zstandard.ZstdCompressor(write_checksum=True).compress(_encode(receipts))
    file.write(_FRAME_HEAD.pack(_FRAME_MAGIC, len(data) + _TAIL.size) + data + _TAIL.pack(len(data), _TAIL_MAGIC))


def read_receipts(path: Path) -> SegmentReceipts | None:
    """Return the receipts of a file; None if it has none.

    Raises:
        OSError: The file cannot be read.
        ValueError: The receipts are damaged.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _TAIL.size))
        tail = file.read()
        if len(tail) < _TAIL.size or not tail.endswith(_TAIL_MAGIC):
            return None
        (length, _) = _TAIL.unpack(tail)
        if length > size - _TAIL.size:
            raise ValueError("the length of its receipts is wrong")
        file.seek(size - _TAIL.size - length)
        try:
            return _decode(zstandard.ZstdDecompressor().decompress(file.read(length), max_output_size=_MAX_BYTES))
        except (zstandard.ZstdError, msgspec.DecodeError) as error:
            raise ValueError(f"its receipts cannot be read: {error}") from error


def read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file without their ends.

    Raises:
        OSError: The file cannot be read.
        zstandard.ZstdError: It is damaged.
    """
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as reader:
        for line in io.BufferedReader(reader):  # of the first frame; the receipts are the second
            yield line.rstrip(b"\n")
