"""Appends to the last segment of a log; the caller holds the lock of the log."""

from __future__ import annotations

import logging
import os
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING

from dh_bridge.event_log.compression import FrameCodec, default_dictionary
from dh_bridge.event_log.format import FORMAT_VERSION, SegmentHeader, encode_events, encode_header, encode_record
from dh_bridge.event_log.segment import SegmentReader, is_file_at, list_segments, segment_first, segment_name
from dh_bridge.private_files import replacing

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dh_bridge.event_log.format import LoggedEvent

log = logging.getLogger("dh_bridge.event_log")

MAX_RECORD_EVENTS, MAX_RECORD_BYTES = 5_000, 8 * 1024 * 1024
"""Events of a record, and their bytes without compression, at most; a single event may be larger."""
POSITIONS_AFTER_DAMAGE = 10_000
"""Positions that are left out after a damaged tail: a reader may have seen events of it, and their positions are not used again."""
_LOG_ID_BYTES = 16
_EMPTY_FRAME = b""


class SegmentWriter:
    """The end of a log, where events are appended.

    ``next_position`` is the position of the next event. All methods raise an OSError if a file cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._descriptor = -1
        self._path = folder
        self._codec: FrameCodec | None = None
        self._end = 0
        self.header = SegmentHeader(FORMAT_VERSION, 1, b"", 0, b"")
        self.next_position = 1

    @property
    def size(self) -> int:
        """The size of the segment in bytes."""
        return self._end

    @property
    def log_id(self) -> bytes:
        """The id of the log; empty if no segment of it is open."""
        return self.header.log_id if self._descriptor >= 0 and self._is_current() else b""

    def refresh(self, now: int) -> None:
        """Follow what other processes appended, and cut an incomplete tail; ``now`` in microseconds."""
        while True:
            if self._descriptor < 0 or not self._is_current():
                self._open_last(now)
            if self._read_tail():
                return
            self.close()
            if list_segments(self._folder)[-1] == self._path:  # who ended the segment could not begin the next one
                self._create(self.next_position + POSITIONS_AFTER_DAMAGE, self.header.log_id, now)

    def append(self, events: Sequence[LoggedEvent]) -> None:
        """Append a record of at most MAX_RECORD_EVENTS events, without a sync."""
        if self._codec is None:
            self._codec = FrameCodec(self.header.dictionary)
        record = encode_record(self.next_position, len(events), self._codec.compress(encode_events(events)))
        self._write(record)
        self.next_position += len(events)

    def sync(self) -> None:
        """Wait until all records are on the disk."""
        os.fsync(self._descriptor)

    def undo(self, end: int, next_position: int) -> None:
        """Cut records that could not be written completely: back to a size and a position."""
        with suppress(OSError):
            os.ftruncate(self._descriptor, end)
        self.close()  # the next append reads the file again
        self.next_position = next_position

    def begin_segment(self, now: int, *, gap: int = 0) -> None:
        """End the segment, and begin a newer one after a gap of positions."""
        self._write(encode_record(self.next_position, 0, _EMPTY_FRAME))
        self.sync()
        self.close()
        self._create(self.next_position + gap, self.header.log_id, now)

    def close(self) -> None:
        """Close the file; the next refresh opens the last segment."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _is_current(self) -> bool:
        """Return whether the open file is still in the folder, and not shorter than before."""
        return is_file_at(self._path, self._descriptor) and os.fstat(self._descriptor).st_size >= self._end

    def _open_last(self, now: int) -> None:
        self.close()
        segments = list_segments(self._folder)
        if segments:
            self._open(segments[-1])
        else:
            self._create(1, secrets.token_bytes(_LOG_ID_BYTES), now)

    def _open(self, path: Path) -> None:
        reader = SegmentReader(path)
        try:
            self.header = reader.header
            self._end = reader.first_offset
        finally:
            reader.close()
        self._path = path
        self.next_position = segment_first(path)
        self._codec = None
        self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND)

    def _create(self, first: int, log_id: bytes, now: int) -> None:
        """Create a segment that has its header from its first moment."""
        header = SegmentHeader(FORMAT_VERSION, first, log_id, now, default_dictionary())
        path = self._folder / segment_name(first)
        with replacing(path) as file:
            file.write(encode_header(header))
        self._open(path)

    def _read_tail(self) -> bool:
        """Read the records behind the known end; return False if the segment is ended by a mark."""
        size = os.fstat(self._descriptor).st_size
        if size == self._end:
            return True
        reader = SegmentReader(self._path)
        try:
            for record in reader.records(self._end):
                if record.head.is_end_mark:
                    return False
                self._end, self.next_position = record.end, record.head.last + 1
        finally:
            reader.close()
        if size > self._end:
            self._cut_tail(size)
        return True

    def _cut_tail(self, size: int) -> None:
        log.warning(
            "%s: the last %s bytes are an incomplete record, and are cut off: its events were not acknowledged",
            self._path, f"{size - self._end:,}",
        )  # fmt: skip
        os.ftruncate(self._descriptor, self._end)
        self.begin_segment(self.header.created, gap=POSITIONS_AFTER_DAMAGE)

    def _write(self, data: bytes) -> None:
        _write_all(self._descriptor, data)
        self._end += len(data)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
