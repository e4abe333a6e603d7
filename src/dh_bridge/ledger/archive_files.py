"""The files of an archive: a closed segment of the log as compressed lines of JSON, one event each.

What the log knows of the events beside their text (position, time of receipt, location, run) follows the lines, in a frame that
readers of Zstandard skip (RFC 8878, 3.1.2)::

    skippable frame  0x184D2A5B (u32), length (u32), receipts (msgpack, compressed), length of the receipts (u32), b"dhRecpt1"
"""

from __future__ import annotations

import io
import struct
from typing import IO, TYPE_CHECKING

import msgspec
import zstandard

from dh_bridge.errors import SinkError
from dh_bridge.event_log import LoggedEvent, PositionedEvent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

ARCHIVE_SUFFIX = ".ndjson.zst"
_LEVEL = 9
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


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(SegmentReceipts).decode


def list_archive(archive: Path) -> list[Path]:
    """Return the files of an archive, oldest first.

    Raises:
        SinkError: The folder cannot be read, or has no such file.
    """
    try:
        names = [path for path in archive.iterdir() if path.name.endswith(ARCHIVE_SUFFIX)]
    except OSError as error:
        raise _read_error(archive, error) from error
    files = sorted(path for path in names if path.name.removesuffix(ARCHIVE_SUFFIX).isdigit())
    if not files:
        raise SinkError(
            "the folder has no file of `dh-bridge log export`",
            location=str(archive),
            remedy="events of other files can be sent with `dh-bridge emit`",
        )
    return files


def first_position(path: Path) -> int:
    """Return the position of the first event of a file, from its name."""
    return int(path.name.removesuffix(ARCHIVE_SUFFIX))


def write_events(file: IO[bytes], receipts: SegmentReceipts, events: Iterable[PositionedEvent]) -> None:
    """Write the lines of events, and their receipts, which are added to ``receipts``."""
    compressor = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=True)
    with compressor.stream_writer(file, closefd=False) as writer:
        for position, event in events:
            writer.write(_as_line(event.event))
            receipts.receipts.append(Receipt(position, event.received, event.location, event.run_key))
    data = zstandard.ZstdCompressor(write_checksum=True).compress(_encode(receipts))
    file.write(_FRAME_HEAD.pack(_FRAME_MAGIC, len(data) + _TAIL.size) + data + _TAIL.pack(len(data), _TAIL_MAGIC))


def read_receipts(path: Path, log_id: bytes = b"") -> SegmentReceipts:
    """Return the receipts of a file.

    Args:
        path: the file.
        log_id: the id of the log that it must belong to; empty: any.

    Raises:
        SinkError: The file cannot be read, is damaged or has no receipts, or belongs to another log.
    """
    try:
        receipts = _read_receipts(path)
    except (zstandard.ZstdError, msgspec.DecodeError, ValueError) as error:
        raise _damage(path, error) from error
    except OSError as error:
        raise _read_error(path, error) from error
    if receipts is None:
        raise SinkError(
            "the file has no times of receipt",
            location=str(path),
            remedy="it is incomplete, or was compressed again: restore it, or send its events with `dh-bridge emit`",
        )
    if log_id not in (b"", receipts.log_id):
        raise SinkError(
            "the file is of another log than that of the ledger",
            location=str(path),
            remedy="pass the folder that `dh-bridge log export` wrote for this log, or send its events with `dh-bridge emit`",
        )
    return receipts


def read_events(path: Path, receipts: SegmentReceipts) -> Iterator[PositionedEvent]:
    """Yield the events of a file.

    Raises:
        SinkError: The file cannot be read, or is damaged.
    """
    try:
        for receipt, line in zip(receipts.receipts, _read_lines(path), strict=True):
            event = LoggedEvent(receipt.received, receipt.location, receipt.run_key, line)
            yield PositionedEvent(receipt.position, event)
    except (zstandard.ZstdError, ValueError) as error:
        raise _damage(path, error) from error
    except OSError as error:
        raise _read_error(path, error) from error


def _as_line(event: bytes) -> bytes:
    """Return an event as one line; a document of several lines loses its white space."""
    if b"\n" in event or b"\r" in event:
        event = msgspec.json.format(event, indent=-1)
    return event + b"\n"


def _read_lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as reader:
        for line in io.BufferedReader(reader):  # of the first frame; the receipts are the second
            yield line.rstrip(b"\n")


def _read_receipts(path: Path) -> SegmentReceipts | None:
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
        return _decode(zstandard.ZstdDecompressor().decompress(file.read(length), max_output_size=_MAX_BYTES))


def _read_error(path: Path, error: OSError) -> SinkError:
    return SinkError(f"cannot read the archive: {error.strerror or error}", location=str(path))


def _damage(path: Path, error: Exception) -> SinkError:
    return SinkError(
        f"the archived file is damaged: {error}",
        location=str(path),
        remedy="restore it from a copy, or run the command without --archive",
    )
