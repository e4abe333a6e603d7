"""The cursor: the position in the log up to which its events are in the states of the ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.ledger.outbox import Outbox

if TYPE_CHECKING:
    import sqlite3

_NOTE = "log cursor"


class LogPosition(NamedTuple):
    """A position in the log that has an id."""

    log_id: str
    position: int


def read_cursor(connection: sqlite3.Connection) -> LogPosition | None:
    """Return the cursor of a ledger; None if it never used a log."""
    note = Outbox(connection).read_note(_NOTE)
    if note is None:
        return None
    log_id, _, position = note.partition(":")
    return LogPosition(log_id, int(position))


def write_cursor(connection: sqlite3.Connection, cursor: LogPosition) -> None:
    """Store the cursor of a ledger, in the caller's transaction."""
    Outbox(connection).write_note(_NOTE, f"{cursor.log_id}:{cursor.position}")
