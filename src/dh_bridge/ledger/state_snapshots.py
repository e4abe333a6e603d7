"""Snapshots of a ledger, so that a replay need not begin with the present states after the log has deleted events.

A snapshot is the ledger as it was at a position of its log: a file in the folder of the log, named after the position. It has all tables of
the ledger, but none of a catalogue. One is made whenever the log has grown by half of what it may keep, so one to three exist, and
deleted events are always in the oldest one.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from dh_bridge.errors import SinkError
from dh_bridge.ledger.log_cursor import read_cursor
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.ledger.schema import LEDGER_TABLES
from dh_bridge.private_files import copy_private, sync_folder
from dh_bridge.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dh_bridge.event_log import EventLog

SNAPSHOT_SUFFIX = ".states"
_DRAFT_PATTERN = f"*{SNAPSHOT_SUFFIX}.*"
_DRAFT_SECONDS = 86_400
"""A draft that is older belongs to a process that was killed."""
_NOTE = "snapshot"
_SHARE = 0.5
_COPY_OUTBOX_NUMBER = """
    INSERT INTO snapshot.sqlite_sequence SELECT * FROM main.sqlite_sequence WHERE name = 'outbox'
    AND NOT EXISTS (SELECT 1 FROM snapshot.sqlite_sequence WHERE name = 'outbox')
"""


class SnapshotNote(msgspec.Struct):
    """What a snapshot stores of itself: when it was made (milliseconds), and whether it is that of a catalogue."""

    time: int
    is_catalogue: bool


class StateSnapshot(NamedTuple):
    """A snapshot: its file, and the position of the last event in its states."""

    path: Path
    position: int


def list_snapshots(log_folder: Path) -> list[StateSnapshot]:
    """Return the snapshots in the folder of a log, oldest first."""
    names = [(path, path.name.removesuffix(SNAPSHOT_SUFFIX)) for path in log_folder.glob(f"*{SNAPSHOT_SUFFIX}")]
    snapshots = (StateSnapshot(path, int(digits)) for path, digits in names if digits.isdigit())
    return sorted(snapshots, key=lambda snapshot: snapshot.position)


def read_snapshot_note(connection: sqlite3.Connection) -> SnapshotNote | None:
    """Return the note of a snapshot; None for a ledger."""
    note = Outbox(connection).read_note(_NOTE)
    return None if note is None else msgspec.json.decode(note, type=SnapshotNote)


def delete_snapshot_note(connection: sqlite3.Connection) -> None:
    """Make a ledger of the copy of a snapshot, in the caller's transaction."""
    Outbox(connection).delete_note(_NOTE)


def delete_old_events(
    connection: sqlite3.Connection,
    event_log: EventLog,
    position: int,
    *,
    retention_days: int,
    clock: Callable[[], float] = time.time,
) -> None:
    """Delete old events from a log, after a snapshot has their effect; and snapshots that are no longer needed.

    Args:
        connection: of the ledger, outside of a transaction.
        event_log: its log.
        position: the position of the last event that the ledger has processed.
        retention_days: ``log.retention_days``.
        clock: seconds since 1970 UTC.

    Raises:
        SinkError: The snapshot cannot be written; no event is deleted.
    """
    half = event_log.last_old_position(position, retention_days=retention_days * _SHARE, size_share=_SHARE)
    if not half:
        return
    snapshots = list_snapshots(event_log.folder)
    if not snapshots or snapshots[-1].position < half:
        _make_snapshot(connection, event_log.folder, int(clock() * 1000))
    event_log.delete_old(position, retention_days=retention_days)
    first = event_log.first_position()
    for snapshot in list_snapshots(event_log.folder):
        if snapshot.position < first - 1:
            with suppress(OSError):  # the next call tries it again
                snapshot.path.unlink()
    _delete_old_drafts(event_log.folder)


def copy_snapshots(log_folder: Path, target_folder: Path) -> int:
    """Copy the snapshots of a ledger, and return their bytes; one that is deleted meanwhile is left out.

    Raises:
        OSError: A copy cannot be written.
    """
    size = 0
    for snapshot in list_snapshots(log_folder):
        target = target_folder / snapshot.path.name
        with suppress(FileNotFoundError):
            copy_private(snapshot.path, target)
            size += target.stat().st_size
    sync_folder(target_folder)
    return size


def delete_snapshots(log_folder: Path) -> None:
    """Delete all snapshots of a ledger: they may have the effect of events that are erased."""
    for path in (*(snapshot.path for snapshot in list_snapshots(log_folder)), *log_folder.glob(_DRAFT_PATTERN)):
        path.unlink(missing_ok=True)


def _make_snapshot(connection: sqlite3.Connection, folder: Path, now: int) -> None:
    """Copy the tables of a ledger as they are at one moment; other processes may write to it meanwhile."""
    draft = folder / f"new{SNAPSHOT_SUFFIX}.{os.getpid()}"
    try:
        draft.unlink(missing_ok=True)
        Database(draft).close()
        with _attached(connection, draft):
            connection.execute("BEGIN")
            try:
                for table in LEDGER_TABLES:
                    connection.execute(f"INSERT INTO snapshot.{table} SELECT * FROM main.{table}")  # noqa: S608 - constants of the schema
                connection.execute(_COPY_OUTBOX_NUMBER)
                (is_catalogue,) = connection.execute("SELECT EXISTS (SELECT 1 FROM main.aspect)").fetchone()
                note = SnapshotNote(now, bool(is_catalogue))
                row = (_NOTE, msgspec.json.encode(note).decode())
                connection.execute("INSERT OR REPLACE INTO snapshot.note (name, value) VALUES (?, ?)", row)
                cursor = read_cursor(connection)
                connection.execute("COMMIT")
            except BaseException:
                connection.execute("ROLLBACK")
                raise
        assert cursor is not None  # noqa: S101 - the ledger has processed events of its log
        draft.rename(folder / f"{cursor.position:020}{SNAPSHOT_SUFFIX}")
        sync_folder(folder)
    except (OSError, sqlite3.Error) as error:
        raise SinkError(f"cannot write a snapshot of the ledger: {error}", location=str(draft)) from error
    finally:
        with suppress(OSError):
            for path in folder.glob(f"{draft.name}*"):
                path.unlink()


@contextmanager
def _attached(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    connection.execute("ATTACH DATABASE ? AS snapshot", (str(path),))
    try:
        yield
    finally:
        connection.execute("DETACH DATABASE snapshot")


def _delete_old_drafts(folder: Path) -> None:
    for path in folder.glob(_DRAFT_PATTERN):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _DRAFT_SECONDS:
                path.unlink()
