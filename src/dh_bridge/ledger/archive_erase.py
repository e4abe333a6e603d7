"""Erases events of an archive: files are written again without them, and all other events keep their positions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.errors import SinkError
from dh_bridge.ledger.archive_files import (
    ARCHIVE_SUFFIX,
    SegmentReceipts,
    list_archive,
    read_events,
    read_receipts,
    write_events,
)
from dh_bridge.private_files import DRAFT_SUFFIX, replacing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dh_bridge.event_log import LoggedEvent


def find_archived(archive: Path, log_id: bytes, is_selected: Callable[[LoggedEvent], bool]) -> set[int]:
    """Return the positions of the selected events of an archive, and check all its files.

    Args:
        archive: a folder of ``dh-bridge log export``.
        log_id: the id of the log that the files must belong to.
        is_selected: whether an event is selected.

    Raises:
        SinkError: A file cannot be read, is damaged, or belongs to another log.
    """
    return {
        position
        for path in list_archive(archive)
        for position, event in read_events(path, read_receipts(path, log_id))
        if is_selected(event)
    }


def erase_archived(archive: Path, is_erased: Callable[[LoggedEvent], bool]) -> None:
    """Erase events of an archive, file by file. If it is interrupted, call it again.

    Each file is replaced as a whole; those without such events are not touched. Files of an interrupted export are deleted.

    Args:
        archive: a folder of ``dh-bridge log export``.
        is_erased: whether an event is erased.

    Raises:
        SinkError: A file cannot be read or written.
    """
    try:
        for draft in archive.glob(f"*{ARCHIVE_SUFFIX}{DRAFT_SUFFIX}"):
            draft.unlink()
        for path in list_archive(archive):
            receipts = read_receipts(path)
            if any(is_erased(event) for _, event in read_events(path, receipts)):
                _rewrite(path.resolve(), receipts, is_erased)  # a link would leave the file that it names
    except OSError as error:
        raise SinkError(
            f"cannot write the archive: {error.strerror or error}",
            location=str(archive),
            remedy="the ledger and its log no longer have the events: check the folder, and run the command again",
        ) from error


def _rewrite(path: Path, receipts: SegmentReceipts, is_erased: Callable[[LoggedEvent], bool]) -> None:
    kept = SegmentReceipts(receipts.log_id, receipts.created, receipts.first, receipts.end, [])
    with replacing(path) as file:
        write_events(file, kept, (item for item in read_events(path, receipts) if not is_erased(item.event)))
