"""Events of the log that cannot be processed: how often each was tried, and those that were given up.

They are notes of the ledger: there are few, and the event itself is in the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

MAX_TRIES = 3
"""An event that failed so often becomes a dead letter."""
MAX_DEAD_EVENTS = 10_000
"""Dead letters that are stored; the oldest are deleted before the others. Their events stay in the log."""
_PREFIX = "log failure "
_MAX_REASON_CHARS = 500


class FailedEvent(msgspec.Struct):
    """An event that failed: its position in the log, where it comes from, the reason, the number of tries.

    ``time``: the last try, in milliseconds. ``is_dead``: it is not tried again.
    """

    position: int
    location: str
    reason: str
    tries: int
    time: int
    is_dead: bool


_decode_failure = msgspec.json.Decoder(FailedEvent).decode
_encode = msgspec.json.encode


class LogFailures:
    """The failed events of a ledger; the caller opens transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def get(self, position: int) -> FailedEvent | None:
        """Return the failure of the event at a position; None if it never failed."""
        row = self._connection.execute("SELECT value FROM note WHERE name = ?", (_name(position),)).fetchone()
        return None if row is None else _decode_failure(row[0])

    def record_try(self, position: int, location: str, reason: str, now: int) -> FailedEvent:
        """Count a try that begins; an event that had MAX_TRIES of them is given up instead."""
        earlier = self.get(position)
        tries = 0 if earlier is None else earlier.tries
        is_dead = tries >= MAX_TRIES
        return self.write(FailedEvent(position, location, reason, tries if is_dead else tries + 1, now, is_dead))

    def record_dead(self, position: int, location: str, reason: str, now: int) -> FailedEvent:
        """Store an event that is invalid: to try it again would not help."""
        return self.write(FailedEvent(position, location, reason, 1, now, is_dead=True))

    def update_reason(self, position: int, reason: str) -> None:
        """Store why the last try of an event failed."""
        if (earlier := self.get(position)) is not None:
            earlier.reason = reason
            self.write(earlier)

    def restore(self, position: int, earlier: FailedEvent | None) -> None:
        """Store an earlier failure of an event again; None: it had none."""
        if earlier is None:
            self.delete(position)
        else:
            self.write(earlier)

    def delete(self, position: int) -> None:
        """Delete the failure of an event that was processed."""
        self._connection.execute("DELETE FROM note WHERE name = ?", (_name(position),))

    def iter_failures(self, *, is_dead: bool) -> Iterator[FailedEvent]:
        """Yield the dead events, or those that are still tried, by their positions."""
        rows = self._connection.execute("SELECT value FROM note WHERE name GLOB ? ORDER BY name", (f"{_PREFIX}*",))
        for (value,) in rows.fetchall():
            failure = _decode_failure(value)
            if failure.is_dead == is_dead:
                yield failure

    def delete_dead(self) -> int:
        """Delete the dead events from this list; return how many."""
        dead = list(self.iter_failures(is_dead=True))
        for failure in dead:
            self.delete(failure.position)
        return len(dead)

    def write(self, failure: FailedEvent) -> FailedEvent:
        """Store a failure, and return it."""
        failure.reason = failure.reason[:_MAX_REASON_CHARS]
        if failure.is_dead:
            self._delete_oldest()
        self._connection.execute(
            "INSERT OR REPLACE INTO note (name, value) VALUES (?, ?)",
            (_name(failure.position), _encode(failure).decode()),
        )
        return failure

    def _delete_oldest(self) -> None:
        query = "SELECT count(*), min(name) FROM note WHERE name GLOB ?"
        number, oldest = self._connection.execute(query, (f"{_PREFIX}*",)).fetchone()
        if number >= MAX_DEAD_EVENTS:
            self._connection.execute("DELETE FROM note WHERE name = ?", (oldest,))


def _name(position: int) -> str:
    return f"{_PREFIX}{position:020}"
