"""The limit of new entities: each hour a number of them is sent; the others wait in the outbox.

The limit guards against wrong names, which create thousands of entities. An entity is new if this ledger never sent it and,
where the target can be read, if the target does not have it. Runs do not count, as each run is new.
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
_HELD_REASON = "waits: more new entities than max_new_entities_per_hour"


def without_runs(urns: Iterable[str]) -> set[str]:
    """Return all entities except runs, because each run is new."""
    return {urn for urn in urns if not urn.startswith(_RUN_URN_PREFIX)}


class NewEntityLimit:
    """The new entities of a ledger; ``limit`` is their number per hour (None: no limit). The caller opens transactions."""

    def __init__(self, connection: sqlite3.Connection, limit: int | None) -> None:
        self._connection = connection
        self.limit = limit

    def hold(self, urns: Iterable[str]) -> None:
        """Hold entities that the ledger sends for the first time, until they are admitted."""
        if self.limit is not None:
            rows = ((urn, _UNCHECKED) for urn in sorted(without_runs(urns)))
            self._connection.executemany("INSERT OR IGNORE INTO new_entity (urn, admitted) VALUES (?, ?)", rows)

    def unchecked_urns(self) -> list[str]:
        """Return some of the held entities that were not looked up in the target yet."""
        rows = self._connection.execute(
            "SELECT urn FROM new_entity WHERE admitted = ? ORDER BY id LIMIT ?", (_UNCHECKED, _MAX_CHECKED_URNS)
        )
        return [urn for (urn,) in rows]

    def record_check(self, urns: Iterable[str], new_urns: set[str]) -> None:
        """Hold those of the entities that are new in the target (``new_urns``); admit the others."""
        for urn in urns:
            if urn in new_urns:
                self._connection.execute("UPDATE new_entity SET admitted = ? WHERE urn = ?", (_HELD, urn))
            else:
                self._connection.execute("DELETE FROM new_entity WHERE urn = ?", (urn,))

    def admit(self, now: int) -> None:
        """Admit the oldest entities up to the limit of the hour before ``now`` (milliseconds); store the reason why the others wait."""
        execute = self._connection.execute
        if self.limit is None:
            execute("DELETE FROM new_entity")
            return
        # after the clock was set back, future times would hold the others
        execute("UPDATE new_entity SET admitted = ? WHERE admitted > ?", (now, now))
        # entries of past hours, and entities whose proposals were deleted
        execute("DELETE FROM new_entity WHERE admitted > 0 AND admitted <= ?", (now - HOUR_MILLIS,))
        execute(
            "DELETE FROM new_entity WHERE admitted <= 0 AND NOT EXISTS (SELECT 1 FROM outbox WHERE urn = new_entity.urn)"
        )
        (admitted_count,) = execute("SELECT count(*) FROM new_entity WHERE admitted > 0").fetchone()
        execute(
            "UPDATE new_entity SET admitted = ? WHERE id IN (SELECT id FROM new_entity WHERE admitted = ? ORDER BY id LIMIT ?)",
            (now, _HELD, max(0, self.limit - admitted_count)),
        )
        execute(
            "UPDATE outbox SET reason = ? WHERE reason IS NOT ? AND NOT dead"
            " AND urn IN (SELECT urn FROM new_entity WHERE admitted <= 0)",
            (_HELD_REASON, _HELD_REASON),
        )

    def held_status(self) -> tuple[int, int | None]:
        """Return the number of held entities and the time of the next admission in milliseconds (None: none was admitted in this hour)."""
        (held_count,) = self._connection.execute("SELECT count(*) FROM new_entity WHERE admitted <= 0").fetchone()
        (first_admission,) = self._connection.execute(
            "SELECT min(admitted) FROM new_entity WHERE admitted > 0"
        ).fetchone()
        return held_count, None if first_admission is None else first_admission + HOUR_MILLIS


def absent_entities(sink: Sink, urns: Iterable[str]) -> set[str]:
    """Return the entities that the target does not have; all of them if it cannot be read. Raises the SinkError of reading."""
    limited_urns = without_runs(urns)
    return missing_urns(sink, sorted(limited_urns)) if can_read(sink) else limited_urns
