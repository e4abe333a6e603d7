"""Joins archived segments with the log of a ledger, for a replay from the first event on.

The segments are made again in a temporary folder from the files of ``dh-bridge log export``, with the positions and times of
receipt that they had. The segments that the log still has are linked there, so they stay if `serve` deletes them meanwhile. A
replay reads the folder as it reads any log.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from dh_bridge.errors import SinkError
from dh_bridge.event_log.compression import FrameCodec, default_dictionary
from dh_bridge.event_log.format import FORMAT_VERSION, SegmentHeader, encode_events, encode_header, encode_record
from dh_bridge.event_log.log_copy import link_log
from dh_bridge.event_log.segment import SegmentReader, segment_first, segment_name
from dh_bridge.event_log.segment_writer import MAX_RECORD_BYTES, POSITIONS_AFTER_DAMAGE
from dh_bridge.ledger.archive_files import first_position, list_archive, read_events, read_receipts
from dh_bridge.ledger.ledger_log import existing_log_folder, log_folder
from dh_bridge.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dh_bridge.event_log import LoggedEvent, PositionedEvent
    from dh_bridge.ledger.archive_files import SegmentReceipts

_MAX_RECORD_EVENTS = 500
"""Events of a restored record: of the usual size they are far below MAX_RECORD_BYTES."""


@contextmanager
def joined_log(ledger_path: Path, archive: Path | None) -> Iterator[Path]:
    """Yield the folder of a ledger's log; with an archive, a temporary folder that also has the segments that the log deleted.

    If the log is lost, the folder has the segments of the archive.

    Args:
        ledger_path: the ledger.
        archive: a folder of ``dh-bridge log export``.

    Raises:
        SinkError: The ledger has neither log nor archive, the archive cannot be read or belongs to another log, or segments are missing.
    """
    if archive is None:
        yield existing_log_folder(ledger_path)
        return
    with scratch_folder("archive") as folder:
        try:
            _restore(archive, folder, link_log(log_folder(ledger_path), folder))
        except OSError as error:
            raise SinkError(
                f"cannot restore the archive: {error.strerror or error}",
                location=str(folder),
                remedy="make room there, or name another folder for temporary files with TMPDIR",
            ) from error
        yield folder


def _restore(archive: Path, folder: Path, segments: list[Path]) -> None:
    """Make the segments that come before those of the log, and check that no events are missing in between."""
    log_id, first = b"", None
    if segments:
        first = segment_first(segments[0])
        reader = SegmentReader(segments[0])
        log_id = reader.header.log_id
        reader.close()
    end = None
    for path in list_archive(archive):
        if first is not None and first_position(path) >= first:
            break
        receipts = read_receipts(path, log_id)
        log_id = receipts.log_id
        _check_gap(end, receipts.first, archive)
        (folder / segment_name(receipts.first)).write_bytes(b"".join(_segment(path, receipts)))
        end = receipts.end
    if first is not None:
        _check_gap(end, first, archive)


def _check_gap(end: int | None, first: int, archive: Path) -> None:
    """Reject an archive that lacks events before a position. After damage, positions are left out that no event ever had."""
    if end is not None and first not in (end, end + POSITIONS_AFTER_DAMAGE):
        raise SinkError(
            f"the events {end:,} to {first - 1:,} are neither in the archive nor in the log",
            location=str(archive),
            remedy="restore the missing files, or run the command without --archive",
        )


def _segment(path: Path, receipts: SegmentReceipts) -> Iterator[bytes]:
    """Yield the parts of a segment."""
    dictionary = default_dictionary()
    codec = FrameCodec(dictionary)
    yield encode_header(SegmentHeader(FORMAT_VERSION, receipts.first, receipts.log_id, receipts.created, dictionary))
    for first, group in _records(read_events(path, receipts)):
        yield encode_record(first, len(group), codec.compress(encode_events(group)))
    yield encode_record(receipts.end, 0, b"")


def _records(events: Iterable[PositionedEvent]) -> Iterator[tuple[int, list[LoggedEvent]]]:
    """Yield groups of events whose positions follow each other, with the first position of each."""
    first, size = 0, 0
    group: list[LoggedEvent] = []
    for position, event in events:
        if group and (position != first + len(group) or len(group) == _MAX_RECORD_EVENTS or size > MAX_RECORD_BYTES):
            yield first, group
            group, size = [], 0
        if not group:
            first = position
        group.append(event)
        size += len(event.event)
    if group:
        yield first, group
