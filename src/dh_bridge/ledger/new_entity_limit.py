"""Entities that are new: so many of them an hour are let through, the others are held in the outbox.

A safety switch against names that are wrong: they make new entities by the thousand. New is what this ledger never sent, and,
where the place can be read, what is not there. Runs do not count, as each of them is new.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.sinks.abilities import can_read, missing_urns

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from dh_bridge.sinks.base import Sink

HOUR_MILLIS = 3_600_000
_RUN_URN_PREFIX = "urn:li:dataProcessInstance:"
_UNCHECKED, _HELD = -1, 0
_MAX_CHECKED_URNS = 500
_HELD_REASON = "held back: more new entities than max_new_entities_per_hour"


def without_runs(urns: Iterable[str]) -> set[str]:
    """Return the entities that are not new by nature: all but runs."""
    return {urn for urn in urns if not urn.startswith(_RUN_URN_PREFIX)}


class NewEntityLimit:
    """What is new, in the ledger's file; ``limit`` a number of entities an hour, None: no limit. The caller opens transactions."""

    def __init__(self, connection: sqlite3.Connection, limit: int | None) -> None:
        self._connection = connection
        self.limit = limit

    def hold(self, urns: Iterable[str]) -> None:
        """Hold the entities, which the ledger sends for the first time, until they are let through."""
        if self.limit is not None:
            rows = ((urn, _UNCHECKED) for urn in sorted(without_runs(urns)))
            self._connection.executemany("INSERT OR IGNORE INTO newcomer (urn, admitted) VALUES (?, ?)", rows)

    def unchecked_urns(self) -> list[str]:
        """Return some of the entities that nobody has looked for at the place."""
        rows = self._connection.execute(
            "SELECT urn FROM newcomer WHERE admitted = ? ORDER BY id LIMIT ?", (_UNCHECKED, _MAX_CHECKED_URNS)
        )
        return [urn for (urn,) in rows]

    def record_check(self, urns: Iterable[str], new_urns: set[str]) -> None:
        """Note which of the entities are ``new_urns`` at the place; the others are let through."""
        for urn in urns:
            if urn in new_urns:
                self._connection.execute("UPDATE newcomer SET admitted = ? WHERE urn = ?", (_HELD, urn))
            else:
                self._connection.execute("DELETE FROM newcomer WHERE urn = ?", (urn,))

    def admit(self, now: int) -> None:
        """Let through as many as the hour before ``now`` (milliseconds) leaves room for, oldest first; note why the others wait."""
        execute = self._connection.execute
        if self.limit is None:
            execute("DELETE FROM newcomer")
            return
        # a clock that was set back since would hold the others until it has caught up
        execute("UPDATE newcomer SET admitted = ? WHERE admitted > ?", (now, now))
        # what is old by now, and what was dropped since
        execute("DELETE FROM newcomer WHERE admitted > 0 AND admitted <= ?", (now - HOUR_MILLIS,))
        execute(
            "DELETE FROM newcomer WHERE admitted <= 0 AND NOT EXISTS (SELECT 1 FROM outbox WHERE urn = newcomer.urn)"
        )
        (admitted_count,) = execute("SELECT count(*) FROM newcomer WHERE admitted > 0").fetchone()
        execute(
            "UPDATE newcomer SET admitted = ? WHERE id IN (SELECT id FROM newcomer WHERE admitted = ? ORDER BY id LIMIT ?)",
            (now, _HELD, max(0, self.limit - admitted_count)),
        )
        execute(
            "UPDATE outbox SET reason = ? WHERE reason IS NOT ? AND NOT dead"
            " AND urn IN (SELECT urn FROM newcomer WHERE admitted <= 0)",
            (_HELD_REASON, _HELD_REASON),
        )

    def held_status(self) -> tuple[int, int | None]:
        """Return how many are held, and when the next may go, in milliseconds (None: nobody was let through within the hour)."""
        (held_count,) = self._connection.execute("SELECT count(*) FROM newcomer WHERE admitted <= 0").fetchone()
        (first_admission,) = self._connection.execute(
            "SELECT min(admitted) FROM newcomer WHERE admitted > 0"
        ).fetchone()
        return held_count, None if first_admission is None else first_admission + HOUR_MILLIS


def absent_entities(sink: Sink, urns: Iterable[str]) -> set[str]:
    """Return which entities a place does not have; all of them where it cannot be read. A SinkError as that of reading."""
    limited_urns = without_runs(urns)
    return missing_urns(sink, sorted(limited_urns)) if can_read(sink) else limited_urns
