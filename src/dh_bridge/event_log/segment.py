"""Reads a segment: its records from an offset, up to the first one that is not complete."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import msgspec

from dh_bridge.errors import SinkError
from dh_bridge.event_log.compression import FrameCodec, FrameError
from dh_bridge.event_log.format import (
    FORMAT_VERSION,
    HEADER_PREFIX_BYTES,
    RECORD_HEAD_BYTES,
    LoggedEvent,
    RecordHead,
    SegmentHeader,
    decode_events,
    decode_header,
    decode_record_head,
    find_marker,
    header_bytes_after,
    is_intact,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

log = logging.getLogger("dh_bridge.event_log")

SUFFIX = ".log"
_POSITION_DIGITS = 20


class Record(NamedTuple):
    """A record of a segment: its head, its frame, and the offset at which it ends."""

    head: RecordHead
    frame: bytes
    end: int

    @property
    def size(self) -> int:
        """The bytes of the record."""
        return RECORD_HEAD_BYTES + len(self.frame)


class SegmentReader:
    """An open segment.

    ``header`` is its header, ``first_offset`` the offset of its first record. Another process may append meanwhile.

    Raises:
        SinkError: The segment cannot be opened, its header is damaged, or its format is newer than FORMAT_VERSION.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file: BinaryIO = path.open("rb", buffering=0)  # an old buffer would hide what another process wrote
        except OSError as error:
            raise read_error(path, error) from error
        try:
            prefix = self._file.read(HEADER_PREFIX_BYTES)
            decoded = decode_header(prefix + self._file.read(header_bytes_after(prefix)))
        except OSError as error:
            self._file.close()
            raise read_error(path, error) from error
        if decoded is None:
            self._file.close()
            raise SinkError(
                "the header of the segment is damaged",
                location=str(path),
                remedy="move the file away, or restore it from a backup",
            )
        self.header: SegmentHeader
        self.header, self.first_offset = decoded
        if self.header.version > FORMAT_VERSION:
            self._file.close()
            raise SinkError(
                f"the event log has format {self.header.version}, newer than {FORMAT_VERSION}",
                location=str(path),
                remedy="use a newer dh-bridge",
            )
        self._codec: FrameCodec | None = None

    def records(self, offset: int = 0) -> Iterator[Record]:
        """Yield the intact records from an offset (0: from the first one).

        A damaged record is skipped, and reported, if an intact one follows. Otherwise it is the tail of a record that was not
        written completely.
        """
        offset = max(offset, self.first_offset)
        while True:
            record = self._read_record(offset)
            if record is None:
                intact_offset = self._find_intact(offset + 1)
                if intact_offset is None:
                    return
                log.error(
                    "%s: %s bytes are damaged from byte %s: their events are lost (restore the file from a backup)",
                    self.path, f"{intact_offset - offset:,}", f"{offset:,}",
                )  # fmt: skip
                offset = intact_offset
                continue
            yield record
            offset = record.end

    def last_position(self) -> int:
        """Return the position of the last event; before the first event, the position before it.

        It skips the frames: it reads only the heads of the records, and checks only the last of them.
        """
        size = os.fstat(self._file.fileno()).st_size
        last, offset = self.header.first - 1, self.first_offset
        while True:
            self._file.seek(offset)
            head = decode_record_head(self._file.read(RECORD_HEAD_BYTES))
            end = size if head is None else offset + RECORD_HEAD_BYTES + head.frame_length
            if head is None or end >= size:
                break
            last, offset = head.last, end
        for record in self.records(offset):
            last = record.head.last
        return last

    def events_of(self, record: Record) -> list[LoggedEvent]:
        """Return the events of a record.

        Raises:
            SinkError: The record has a right checksum, but cannot be read: it is of a newer format.
        """
        if self._codec is None:
            self._codec = FrameCodec(self.header.dictionary)
        try:
            return decode_events(self._codec.decompress(record.frame))
        except (FrameError, msgspec.DecodeError) as error:
            raise SinkError(
                f"cannot read the events from {record.head.first:,} on: {error}",
                location=str(self.path),
                remedy="use the version of dh-bridge that wrote the log",
            ) from error

    @property
    def is_deleted(self) -> bool:
        """Whether the file is no longer in its folder."""
        return not is_file_at(self.path, self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read_record(self, offset: int) -> Record | None:
        try:
            self._file.seek(offset)
            head = decode_record_head(self._file.read(RECORD_HEAD_BYTES))
            if head is None:
                return None
            frame = self._file.read(head.frame_length)
        except OSError as error:
            raise read_error(self.path, error) from error
        return Record(head, frame, offset + RECORD_HEAD_BYTES + head.frame_length) if is_intact(head, frame) else None

    def _find_intact(self, offset: int) -> int | None:
        """Return the offset of the next intact record; None if there is none."""
        self._file.seek(offset)
        rest = self._file.read()
        start = find_marker(rest, 0)
        while start >= 0:
            if self._read_record(offset + start) is not None:
                return offset + start
            start = find_marker(rest, start + 1)
        return None


def is_file_at(path: Path, descriptor: int) -> bool:
    """Return whether an open file is the one at a path; a deleted file may still have a link elsewhere."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except OSError:
        return False


def segment_name(first: int) -> str:
    """Return the name of the segment whose first event has a position.

    >>> segment_name(42)
    '00000000000000000042.log'
    """
    return f"{first:0{_POSITION_DIGITS}}{SUFFIX}"


def segment_first(path: Path) -> int:
    """Return the position of the first event of a segment, from its name."""
    return int(path.name.removesuffix(SUFFIX))


def list_segments(folder: Path) -> list[Path]:
    """Return the segments of a log, oldest first; none if the folder does not exist."""
    try:
        names = [path for path in folder.iterdir() if path.suffix == SUFFIX and path.stem.isdigit()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise read_error(folder, error) from error
    return sorted(names)


def read_error(path: Path, error: OSError) -> SinkError:
    """Return the error for a file of the log that cannot be read."""
    return SinkError(f"cannot read the event log: {error.strerror or error}", location=str(path), retryable=True)
