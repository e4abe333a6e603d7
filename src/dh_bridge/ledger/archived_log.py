"""Joins archived segments with the log of a ledger, for a replay from the first event on.

The segments are made again in a temporary folder from the files of ``dh-bridge log export``, with the positions and times of
receipt that they had. The segments that the log still has are linked there. So a replay reads the folder as it reads any log.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import zstandard

from dh_bridge.errors import SinkError
from dh_bridge.event_log import LoggedEvent
from dh_bridge.event_log.compression import FrameCodec, default_dictionary
from dh_bridge.event_log.format import FORMAT_VERSION, SegmentHeader, encode_events, encode_header, encode_record
from dh_bridge.event_log.segment import SegmentReader, list_segments, segment_first, segment_name
from dh_bridge.event_log.segment_writer import MAX_RECORD_BYTES, POSITIONS_AFTER_DAMAGE
from dh_bridge.ledger.archive_receipts import read_lines, read_receipts
from dh_bridge.ledger.ledger_log import existing_log_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.ledger.archive_receipts import SegmentReceipts

ARCHIVE_SUFFIX = ".ndjson.zst"
_MAX_RECORD_EVENTS = 500
"""Events of a restored record: of the usual size they are far below MAX_RECORD_BYTES."""


@contextmanager
def joined_log(ledger_path: Path, archive: Path | None) -> Iterator[Path]:
    """Yield the folder of a ledger's log; with an archive, a temporary folder that also has the segments that the log deleted.

    Args:
        ledger_path: the ledger.
        archive: a folder of ``dh-bridge log export``.

    Raises:
        SinkError: The ledger has no log, the archive cannot be read or belongs to another log, or segments are missing.
    """
    log_folder = existing_log_folder(ledger_path)
    if archive is None:
        yield log_folder
        return
    with TemporaryDirectory(prefix="dh_bridge_archive_") as name:
        folder = Path(name)
        segments = list_segments(log_folder)
        for path in segments:
            (folder / path.name).symlink_to(path)
        _restore(archive, folder, segments)
        yield folder


def _restore(archive: Path, folder: Path, segments: list[Path]) -> None:
    """Make the segments that come before those of the log, and check that no events are missing in between."""
    log_id, first = b"", None
    if segments:
        first = segment_first(segments[0])
        reader = SegmentReader(segments[0])
        log_id = reader.header.log_id
        reader.close()
    files = _files_before(archive, first)
    end = None
    for path in files:
        receipts = _receipts_of(path)
        log_id = log_id or receipts.log_id
        if receipts.log_id != log_id:
            raise SinkError(
                "the file is of another log than that of the ledger",
                location=str(path),
                remedy="pass the folder that `dh-bridge log export` wrote for this ledger",
            )
        _check_gap(end, receipts.first, archive)
        try:
            (folder / segment_name(receipts.first)).write_bytes(b"".join(_segment(path, receipts)))
        except (zstandard.ZstdError, ValueError) as error:
            raise _damage(path, error) from error
        except OSError as error:
            raise SinkError(f"cannot restore the archive: {error.strerror or error}", location=str(path)) from error
        end = receipts.end
    if files and first is not None:
        _check_gap(end, first, archive)


def _files_before(archive: Path, first: int | None) -> list[Path]:
    """Return the files of an archive that begin before a position (None: all), oldest first."""
    try:
        names = [path for path in archive.iterdir() if path.name.endswith(ARCHIVE_SUFFIX)]
    except OSError as error:
        raise SinkError(f"cannot read the archive: {error.strerror or error}", location=str(archive)) from error
    files = sorted(path for path in names if path.name.removesuffix(ARCHIVE_SUFFIX).isdigit())
    if not files:
        raise SinkError(
            "the folder has no file of `dh-bridge log export`",
            location=str(archive),
            remedy="events of other files can be sent with `dh-bridge emit`",
        )
    return [path for path in files if first is None or int(path.name.removesuffix(ARCHIVE_SUFFIX)) < first]


def _receipts_of(path: Path) -> SegmentReceipts:
    try:
        receipts = read_receipts(path)
    except ValueError as error:
        raise _damage(path, error) from error
    except OSError as error:
        raise SinkError(f"cannot read the archive: {error.strerror or error}", location=str(path)) from error
    if receipts is None:
        raise SinkError(
            "the file has no times of receipt",
            location=str(path),
            remedy="it is incomplete, or was compressed again: restore it, or send its events with `dh-bridge emit`",
        )
    return receipts


def _check_gap(end: int | None, first: int, archive: Path) -> None:
    """Reject an archive that lacks events before a position. After damage, positions are left out that no event ever had."""
    if end is not None and first not in (end, end + POSITIONS_AFTER_DAMAGE):
        raise SinkError(
            f"the events {end:,} to {first - 1:,} are neither in the archive nor in the log",
            location=str(archive),
            remedy="restore the missing files, or replay without the archive",
        )


def _segment(path: Path, receipts: SegmentReceipts) -> Iterator[bytes]:
    """Yield the parts of a segment."""
    dictionary = default_dictionary()
    codec = FrameCodec(dictionary)
    yield encode_header(SegmentHeader(FORMAT_VERSION, receipts.first, receipts.log_id, receipts.created, dictionary))
    events = (
        (receipt.position, LoggedEvent(receipt.received, receipt.location, receipt.run_key, line))
        for receipt, line in zip(receipts.receipts, read_lines(path), strict=True)
    )
    for first, group in _records(events):
        yield encode_record(first, len(group), codec.compress(encode_events(group)))
    yield encode_record(receipts.end, 0, b"")


def _records(events: Iterable[tuple[int, LoggedEvent]]) -> Iterator[tuple[int, list[LoggedEvent]]]:
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


def _damage(path: Path, error: Exception) -> SinkError:
    return SinkError(
        f"the archived file is damaged: {error}",
        location=str(path),
        remedy="restore it from a copy, or move it away and replay without the archive",
    )
