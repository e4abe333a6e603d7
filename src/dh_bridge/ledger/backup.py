"""Backups of a ledger: its file and its event log, copied while other processes write; and the way back.

A restored ledger is older than its target. Proposals that waited at the time of the backup may have been replaced at the target
since then. So a restored ledger delivers nothing until the later events are processed, and then renders its entities again.
"""

from __future__ import annotations

import shutil
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.datahub.timeseries import is_timeseries
from dh_bridge.errors import SinkError
from dh_bridge.event_log import EventLog
from dh_bridge.event_log.log_copy import copy_log
from dh_bridge.ledger.factory import notes_of
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.ledger.log_cursor import read_cursor
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.ledger.sent import SentFingerprints
from dh_bridge.ledger.state_snapshots import copy_snapshots, delete_snapshot_note, read_snapshot_note
from dh_bridge.ledger.withheld import WithheldWrites
from dh_bridge.private_files import draft_path
from dh_bridge.storage.connection import copy
from dh_bridge.storage.damage import DamageError
from dh_bridge.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dh_bridge.ledger.state_snapshots import SnapshotNote
    from dh_bridge.settings import Settings

_RESTORED_NOTE = "restored"
_SQLITE_SUFFIXES = ("", "-wal", "-shm", "-journal")


class BackupSize(NamedTuple):
    """The bytes of a backup: of the ledger's file, and of its log (0 if it has none)."""

    ledger_bytes: int
    log_bytes: int


class RestoredLedger(NamedTuple):
    """What a restored ledger still has to do.

    ``pending_events``: events of its log that are not in its states. ``is_paused``: whether its deliveries are paused; a catalogue
    has none.
    """

    pending_events: int
    is_paused: bool


def back_up(ledger_path: Path, backup_path: Path) -> BackupSize:
    """Copy a ledger or catalogue and its event log; other processes may write to both meanwhile.

    The file is copied first, and the log afterwards, so the copy of the log has all events of the copied states. The backup is
    a ledger itself: its log is in the folder ``BACKUP.log``. If the copy is interrupted, there is no ``backup_path``.

    Args:
        ledger_path: the ledger.
        backup_path: the file of the backup; it must not exist.

    Returns:
        The size of the backup.

    Raises:
        SinkError: The ledger cannot be read or is damaged, the backup exists, or it cannot be written.
    """
    backup_log = log_folder(backup_path)
    _require_absent(backup_path, backup_log, remedy="name another file")
    with _drafts(backup_path, backup_log) as (draft, draft_log):
        copy(ledger_path, draft)
        _check_copy(draft, ledger_path)
        log_path = log_folder(ledger_path)
        log_bytes = copy_log(log_path, draft_log) + copy_snapshots(log_path, draft_log) if log_path.is_dir() else 0
        if draft_log.is_dir():
            draft_log.rename(backup_log)
        draft.rename(backup_path)
    return BackupSize(backup_path.stat().st_size, log_bytes)


def restore(backup_path: Path, ledger_path: Path, settings: Settings) -> RestoredLedger:
    """Copy a backup to the path of a ledger. No process may use the ledger.

    If the folder of the ledger's log still exists, it stays: it has the events since the backup. Otherwise the log of the backup
    is copied. Deliveries are paused until ``dh-bridge queue resume``.

    Args:
        backup_path: what :func:`back_up` wrote, or a snapshot in the folder of the log.
        ledger_path: the ledger; the file must not exist.
        settings: the settings of the ledger.

    Returns:
        What the restored ledger still has to do.

    Raises:
        SinkError: The backup cannot be read, the ledger exists, its log is that of another ledger, or a file cannot be written.
    """
    paths = [ledger_path.with_name(f"{ledger_path.name}{suffix}") for suffix in _SQLITE_SUFFIXES]
    _require_absent(*paths, remedy="stop the processes that use it, and move it away")
    with _drafts(ledger_path, log_folder(ledger_path)) as (draft, draft_log):
        _restore_log(backup_path, ledger_path, draft_log)
        copy(backup_path, draft)
        is_paused = not notes_of(draft).has_catalogue
        with Database(draft, readonly=True) as file:
            _require_ledger(read_snapshot_note(file.connection), backup_path)
        with Database(draft) as file:
            cursor = read_cursor(file.connection)
            if is_paused:
                with file.transaction():
                    delete_snapshot_note(file.connection)
                    outbox = Outbox(file.connection)
                    outbox.set_paused(is_paused=True)
                    outbox.write_note(_RESTORED_NOTE, "yes")
                    render_waiting_again(file, settings)
        draft.rename(ledger_path)
    return RestoredLedger(_pending_events(ledger_path, 0 if cursor is None else cursor.position), is_paused)


def _require_ledger(note: SnapshotNote | None, path: Path) -> None:
    """Reject the snapshot of a catalogue: the ledger in it counts what was written as sent, and the catalogue is not in it."""
    if note is not None and note.is_catalogue:
        raise SinkError(
            "the file is a snapshot of a catalogue, without the catalogue",
            location=str(path),
            remedy="restore a backup; without one, the next `dh-bridge emit` makes a new catalogue of the events in the log",
        )


def finish_restore(file: Database, settings: Settings) -> None:
    """When deliveries are resumed: if the ledger was restored, render its entities again, in the caller's transaction."""
    outbox = Outbox(file.connection)
    if outbox.read_note(_RESTORED_NOTE) is not None:
        outbox.delete_note(_RESTORED_NOTE)
        render_waiting_again(file, settings)


def render_waiting_again(file: Database, settings: Settings) -> None:
    """Replace waiting proposals by what their entities render at the next delivery; the caller opens the transaction.

    Points in time stay: they do not depend on later events.
    """
    outbox, fingerprints = Outbox(file.connection), SentFingerprints(file.connection)
    numbers = []
    for item in outbox.iter_queued():
        if not is_timeseries(item.proposal.aspect_name):
            fingerprints.mark_unsent(item.proposal)
            numbers.append(item.number)
    outbox.delete(is_dead=False, numbers=numbers)
    WithheldWrites(file.connection, settings.writes).schedule_all()


def _restore_log(backup_path: Path, ledger_path: Path, draft: Path) -> None:
    """Copy the log of a backup, unless the ledger's own log still exists."""
    backup_log, live_log = log_folder(backup_path), log_folder(ledger_path)
    if not backup_log.is_dir():
        return
    if not live_log.is_dir():
        copy_log(backup_log, draft)
        copy_snapshots(backup_log, draft)
        draft.rename(live_log)
        return
    live_id, backup_id = (_log_id(folder) for folder in (live_log, backup_log))
    if live_id and backup_id and live_id != backup_id:
        raise SinkError(
            "the folder has the log of another ledger", location=str(live_log), remedy="move the folder away"
        )


def _log_id(folder: Path) -> str:
    with EventLog(folder, max_bytes=0) as event_log:
        return event_log.log_id()


def _pending_events(ledger_path: Path, cursor: int) -> int:
    folder = log_folder(ledger_path)
    if not folder.is_dir():
        return 0
    with EventLog(folder, max_bytes=0) as event_log:
        return event_log.status(cursor).unfolded_events


def _check_copy(copy_path: Path, ledger_path: Path) -> None:
    """Raise a DamageError if the pages of a copy do not fit each other."""
    with Database(copy_path, readonly=True) as file:
        (problem,) = file.connection.execute("PRAGMA quick_check(1)").fetchone()
    if problem != "ok":
        raise DamageError(problem, where=str(ledger_path))


def _require_absent(*paths: Path, remedy: str) -> None:
    for path in paths:
        if path.exists():
            raise SinkError("the file exists", location=str(path), remedy=remedy)


@contextmanager
def _drafts(path: Path, log_path: Path) -> Iterator[tuple[Path, Path]]:
    """Yield the paths of a file and a log while they are incomplete; they are deleted after an error, and before a new try."""
    drafts = draft_path(path), draft_path(log_path)
    try:
        _delete(*drafts)
        yield drafts
    except OSError as error:
        raise SinkError(f"cannot write the copy: {error.strerror or error}", location=str(path)) from error
    finally:
        with suppress(OSError):
            _delete(*drafts)


def _delete(*paths: Path) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
