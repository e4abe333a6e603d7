"""The log: a folder of segments, to which several processes append.

A position is the number of an event; it grows by one from event to event, and is never used twice.
"""

from __future__ import annotations

import errno
import logging
import time
from contextlib import suppress
from itertools import count, pairwise
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import SinkError
from dh_bridge.event_log.folder_lock import folder_lock
from dh_bridge.event_log.log_reader import LogReader
from dh_bridge.event_log.segment import SegmentReader, list_segments, segment_first
from dh_bridge.event_log.segment_writer import MAX_RECORD_BYTES, MAX_RECORD_EVENTS, SegmentWriter
from dh_bridge.event_log.status import LogStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self

    from dh_bridge.event_log.format import LoggedEvent

log = logging.getLogger("dh_bridge.event_log")

SEGMENT_BYTES = 64 * 1024 * 1024
"""A segment ends at this size, or at an eighth of the maximum size of the log."""
SEGMENT_DAYS = 1
"""A segment ends when it is this old, so that old events can be deleted."""
_SEGMENTS_PER_LOG = 8
_FULL_DISK_ERRNOS = (errno.ENOSPC, errno.EDQUOT)
_DAY_SECONDS = 86_400
_MICROS = 1_000_000


class PositionedEvent(NamedTuple):
    """An event of the log, and its position."""

    position: int
    event: LoggedEvent


class LogBatch(NamedTuple):
    """Events that follow each other, and the position of the last one."""

    events: list[PositionedEvent]
    last: int


class EventLog:
    """The log in ``folder``, which is created with the first event.

    Any number of processes may append and read; the methods of one object may be called by any thread.

    Args:
        folder: the folder of the segments.
        max_bytes: the size from which no more events are accepted, unless :meth:`delete_old` makes room.
        clock: seconds since 1970 UTC.
    """

    def __init__(self, folder: Path, *, max_bytes: int, clock: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self._max_bytes = max_bytes
        self._segment_bytes = min(SEGMENT_BYTES, max_bytes // _SEGMENTS_PER_LOG)
        self._clock = clock
        self._writer = SegmentWriter(folder)
        self._closed_bytes: int | None = None
        self._append_lock, self._read_lock = Lock(), Lock()
        self._reader = LogReader(folder)
        #: events of the record that the last call read in part
        self._rest: list[PositionedEvent] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()

    def append(self, events: Sequence[LoggedEvent], *, min_position: int = 1) -> range:
        """Append events, and wait until they are on the disk.

        Args:
            events: the events, in their order.
            min_position: the smallest position that they may get: a restored log may be older than its ledger.

        Returns:
            The positions of the events, which follow each other.

        Raises:
            SinkError: The log is full, or cannot be written; none of the events is in it.
        """
        now = int(self._clock() * _MICROS)
        with self._append_lock:
            try:
                self.folder.mkdir(mode=0o700, exist_ok=True)
                with folder_lock(self.folder):
                    self._writer.refresh(now)
                    self._require_room()
                    self._begin_due_segment(now, min_position)
                    return self._append_records(events)
            except OSError as error:
                reason = "the disk is full" if error.errno in _FULL_DISK_ERRNOS else error.strerror or str(error)
                raise SinkError(
                    f"cannot write the event log: {reason}",
                    location=str(self.folder),
                    remedy="make room, or check the permissions of the folder",
                    retryable=True,
                ) from error

    def read_after(self, position: int, *, max_events: int, max_bytes: int) -> LogBatch:
        """Return the events after a position.

        Args:
            position: the position of the last event that is already processed; 0: none.
            max_events: maximum number of events.
            max_bytes: maximum bytes of the events. A single event may be larger.

        Returns:
            The events; none at the end of the log.
        """
        events: list[PositionedEvent] = []
        size = 0
        with self._read_lock:
            for record_events in self._events_after(position):
                for index, (_, event) in enumerate(record_events):
                    size += len(event.event)
                    if (events or index) and (len(events) + index >= max_events or size > max_bytes):
                        self._rest = record_events[index:]
                        events += record_events[:index]
                        return LogBatch(events, events[-1].position)
                events += record_events
        return LogBatch(events, events[-1].position if events else position)

    def _events_after(self, position: int) -> Iterator[list[PositionedEvent]]:
        """Yield the events after a position, record by record; first the rest of a record that was read in part."""
        rest, self._rest = self._rest, []
        if rest and rest[0].position == position + 1:
            yield rest
            position = rest[-1].position
        for segment, record in self._reader.records_after(position):
            events = map(PositionedEvent, count(record.head.first), segment.events_of(record))
            yield [event for event in events if event.position > position]

    def log_id(self) -> str:
        """Return the id of the log as text; empty if the log has no event yet."""
        with self._read_lock:
            log_id = self._reader.log_id
        if not log_id:
            with self._append_lock:
                log_id = self._writer.log_id
        if not log_id and (segments := list_segments(self.folder)):
            segment = SegmentReader(segments[-1])
            log_id = segment.header.log_id
            segment.close()
        return log_id.hex()

    def first_position(self) -> int:
        """Return the position of the oldest event that is not deleted; 1 for an empty log."""
        segments = list_segments(self.folder)
        return segment_first(segments[0]) if segments else 1

    def last_position(self) -> int:
        """Return the position of the newest event, without reading the events; 0 for an empty log."""
        segments = list_segments(self.folder)
        if not segments:
            return 0
        segment = SegmentReader(segments[-1])
        try:
            return segment.last_position()
        finally:
            segment.close()

    def position_before_time(self, micros: int) -> int:
        """Return a position after which all events are that were appended at a time or later, from the headers of the segments."""
        start = self.first_position()
        for path in list_segments(self.folder):
            if _created(path) * _MICROS > micros:
                break
            start = segment_first(path)
        return start - 1

    def total_bytes(self) -> int:
        """Return the size of the log in bytes."""
        return sum(_size(path) for path in list_segments(self.folder))

    def status(self, position: int) -> LogStatus:
        """Return the size of the log, and how many events follow a position; it reads those that follow."""
        total = self.total_bytes()
        reader = LogReader(self.folder)
        last, number, size, oldest = position, 0, 0, None
        try:
            for segment, record in reader.records_after(position):
                if oldest is None:
                    events = segment.events_of(record)
                    oldest = events[max(0, position + 1 - record.head.first)].received
                number += record.head.last - max(position, record.head.first - 1)
                last, size = record.head.last, size + len(record.frame)
        finally:
            reader.close()
        return LogStatus(total, self.first_position(), last, number, size, oldest)

    def last_old_position(self, position: int, *, retention_days: float, size_share: float = 1) -> int:
        """Return the position of the last event that :meth:`delete_old` would delete; 0 if it would delete none.

        Args:
            position: the position of the last processed event.
            retention_days: days after which a segment is old, since its last event.
            size_share: the part of its maximum size that the log may have.
        """
        old = self._old_segments(position, retention_days, size_share)
        return max((segment_first(newer) - 1 for _, newer in old), default=0)

    def delete_old(self, position: int, *, retention_days: int) -> int:
        """Delete segments whose events are all processed, if they are old, or if the log is too large.

        Args:
            position: the position of the last processed event.
            retention_days: days after which a segment is old, since its last event.

        Returns:
            The number of deleted segments.
        """
        deleted = 0
        for path, _ in self._old_segments(position, retention_days):
            with suppress(OSError):  # the next call tries it again
                path.unlink()
                deleted += 1
        if deleted:
            self._closed_bytes = None
        return deleted

    def _old_segments(self, position: int, retention_days: float, size_share: float = 1) -> Iterator[tuple[Path, Path]]:
        """Yield the segments to delete, oldest first, each with the one after it."""
        segments = list_segments(self.folder)
        total = sum(map(_size, segments))
        allowed_bytes = (self._max_bytes - self._segment_bytes) * size_share
        cutoff = self._clock() - retention_days * _DAY_SECONDS
        for path, newer in pairwise(segments):
            size = _size(path)
            if segment_first(newer) - 1 > position or not (total > allowed_bytes or _created(newer) < cutoff):
                return
            yield path, newer
            total -= size

    def close(self) -> None:
        """Close the files; a second call does nothing."""
        with self._append_lock:
            self._writer.close()
        with self._read_lock:
            self._reader.close()

    def _append_records(self, events: Sequence[LoggedEvent]) -> range:
        start, end = self._writer.next_position, self._writer.size
        try:
            for record_events in _split_into_records(events):
                self._writer.append(record_events)
            self._writer.sync()
        except OSError:
            self._writer.undo(end, start)
            raise
        return range(start, self._writer.next_position)

    def _begin_due_segment(self, now: int, min_position: int) -> None:
        """Begin a new segment if the last one is large or old, or if positions are to be left out."""
        gap = max(0, min_position - self._writer.next_position)
        age = now - self._writer.header.created
        has_events = self._writer.next_position > self._writer.header.first
        is_due = self._writer.size >= self._segment_bytes or (
            age >= SEGMENT_DAYS * _DAY_SECONDS * _MICROS and has_events
        )
        if gap or is_due:
            self._writer.begin_segment(now, gap=gap)
            self._closed_bytes = None

    def _require_room(self) -> None:
        """Raise a SinkError if the log has its maximum size."""
        if self._closed_bytes is None:
            self._closed_bytes = sum(_size(path) for path in list_segments(self.folder)[:-1])
        if self._closed_bytes + self._writer.size < self._max_bytes:
            return
        self._closed_bytes = None  # another process may delete segments
        raise SinkError(
            f"the event log is full: {self._max_bytes:,} bytes are not processed yet (log.max_bytes)",
            location=str(self.folder),
            remedy="send the events again later; if no process reads the log, start `dh-bridge serve` or `emit`",
            retryable=True,
        )


def _split_into_records(events: Sequence[LoggedEvent]) -> Iterator[Sequence[LoggedEvent]]:
    """Yield the events of each record: bounded, as a record is in memory as a whole."""
    start = size = 0
    for index, event in enumerate(events):
        size += len(event.event)
        if index > start and (index - start >= MAX_RECORD_EVENTS or size > MAX_RECORD_BYTES):
            yield events[start:index]
            start, size = index, len(event.event)
    if events:
        yield events[start:]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _created(path: Path) -> float:
    """Return when a segment was made, in seconds: the one before it ended then."""
    segment = SegmentReader(path)
    segment.close()
    return segment.header.created / _MICROS
