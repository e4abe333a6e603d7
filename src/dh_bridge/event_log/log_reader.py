"""Follows a log from any position to its end, while other processes append to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.event_log.segment import SegmentReader, list_segments, segment_first

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dh_bridge.event_log.segment import Record


class LogReader:
    """Reads the records of the log in ``folder``; one thread at a time.

    A reader that continues where it stopped does not search the position again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._segment: SegmentReader | None = None
        self._offset = 0
        self._next_position = 0

    @property
    def log_id(self) -> bytes:
        """The id of the log; empty if no segment is open."""
        return b"" if self._segment is None or self._segment.is_deleted else self._segment.header.log_id

    def records_after(self, position: int) -> Iterator[tuple[SegmentReader, Record]]:
        """Yield the records with events after a position, each with its segment, to the end of the log."""
        if self._segment is None or self._next_position != position + 1 or self._segment.is_deleted:
            self._seek(position)
        while self._segment is not None:
            segment = self._segment
            is_ended = False
            for record in segment.records(self._offset):
                self._offset, self._next_position = record.end, record.head.last + 1
                is_ended = record.head.is_end_mark
                if record.head.last > position and not is_ended:
                    yield segment, record
                    if self._segment is not segment:  # the caller started again elsewhere
                        return
            if not self._open_next(segment, is_ended=is_ended):
                return

    def close(self) -> None:
        """Close the open segment."""
        if self._segment is not None:
            self._segment.close()
            self._segment = None

    def _seek(self, position: int) -> None:
        """Open the segment that has the event after a position."""
        self.close()
        segments = list_segments(self._folder)
        older = [path for path in segments if segment_first(path) <= position + 1]
        if segments:
            self._open(older[-1] if older else segments[0])

    def _open(self, path: Path) -> None:
        self.close()
        self._segment = SegmentReader(path)
        self._offset = self._segment.first_offset
        self._next_position = segment_first(path)

    def _open_next(self, segment: SegmentReader, *, is_ended: bool) -> bool:
        """Open the segment after one that was read to its end; return False if the log ends there."""
        newer = [path for path in list_segments(self._folder) if path > segment.path]
        if not newer:
            return False
        if not is_ended and next(segment.records(self._offset), None) is not None:
            return True  # a record that was written before the newer segment began
        self._open(newer[0])
        return True
