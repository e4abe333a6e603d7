"""Exports the closed segments of a log as lines of JSON, so that events outlive ``log.retention_days``."""

from __future__ import annotations

from collections import deque
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import SinkError
from dh_bridge.event_log import PositionedEvent
from dh_bridge.event_log.segment import SegmentReader, list_segments
from dh_bridge.ledger.archive_files import ARCHIVE_SUFFIX, SegmentReceipts, read_receipts, write_events
from dh_bridge.ledger.export_lock import export_lock
from dh_bridge.ledger.ledger_log import existing_log_folder
from dh_bridge.private_files import replacing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class ExportedSegments(NamedTuple):
    """The segments of an export: those that were written, and those that the folder had before; the events of the written ones."""

    written: int
    present: int
    events: int


def export_log(ledger_path: Path, folder: Path) -> ExportedSegments:
    """Write each closed segment of a ledger's log to a file of its name with ARCHIVE_SUFFIX; a file that exists stays as it is.

    A line is an event as it was logged, without secrets. The segment to which events are appended is not exported yet.

    Args:
        ledger_path: the ledger; other processes may use it.
        folder: the folder of the files, which is created.

    Returns:
        The number of files and events.

    Raises:
        SinkError: The ledger has no log, another process exports or erases its events, the folder has other events, or a file
            cannot be read or written.
    """
    log_folder = existing_log_folder(ledger_path)
    with export_lock(ledger_path):
        return _export(log_folder, folder)


def _export(log_folder: Path, folder: Path) -> ExportedSegments:
    pairs = [(path, folder / f"{path.stem}{ARCHIVE_SUFFIX}") for path in list_segments(log_folder)[:-1]]
    present = [(path, target) for path, target in pairs if target.exists()]
    if present:
        _require_same_events(*present[-1])
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        event_counts = [_export_segment(path, target) for path, target in pairs if (path, target) not in present]
    except OSError as error:
        raise SinkError(f"cannot write the archive: {error.strerror or error}", location=str(folder)) from error
    return ExportedSegments(len(event_counts), len(present), sum(event_counts))


def _require_same_events(path: Path, target: Path) -> None:
    """Reject an archive of another log, or of the events that a log had after the backup from which it was restored."""
    archived = read_receipts(target)
    reader = SegmentReader(path)
    logged = SegmentReceipts(reader.header.log_id, 0, 0, reader.header.first, [])
    try:
        last = deque(_events(reader, logged), maxlen=1)
    finally:
        reader.close()
    is_same_event = all(
        receipt.received == event.received
        for position, event in last
        for receipt in archived.receipts
        if receipt.position == position
    )
    if not is_same_event or (archived.log_id, archived.end) != (logged.log_id, logged.end):
        raise SinkError(
            "the file has other events than the log at these positions: the log is another one, or comes from a backup",
            location=str(target),
            remedy="name another folder",
        )


def _export_segment(path: Path, target: Path) -> int:
    """Write a segment, which is complete when it has its name; return the number of events."""
    reader = SegmentReader(path)
    header = reader.header
    receipts = SegmentReceipts(header.log_id, header.created, header.first, header.first, [])
    try:
        with replacing(target) as file:
            write_events(file, receipts, _events(reader, receipts))
    finally:
        reader.close()
    return len(receipts.receipts)


def _events(reader: SegmentReader, receipts: SegmentReceipts) -> Iterator[PositionedEvent]:
    """Yield the events of a segment, and move the end of its receipts on."""
    for record in reader.records():
        receipts.end = record.head.last + 1
        if not record.head.is_end_mark:
            yield from map(PositionedEvent, count(record.head.first), reader.events_of(record))
