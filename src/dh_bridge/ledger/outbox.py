"""What waits to be sent: a proposal leaves the outbox when its server has acknowledged it, and not before.

Order is kept for each URN. A waiting UPSERT gives way to a newer one of the same aspect, so that nothing old is sent after
something new. What a server refuses for good stays as a dead letter with the server's own words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from dh_bridge.datahub.proposal import Proposal, ndjson_line
from dh_bridge.datahub.timeseries import document_id, is_timeseries
from dh_bridge.ledger.row_estimate import Tally

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Sequence

    from dh_bridge.sinks.base import Failure

_decode = msgspec.json.Decoder(Proposal).decode
_WHOLE, _PATCH = "UPSERT", "PATCH"
_PAUSED = "paused"
_COUNT = "SELECT count(*) FROM outbox"
_NEWEST = "SELECT seq FROM sqlite_sequence WHERE name = 'outbox'"


class Waiting(NamedTuple):
    """A proposal in the outbox: since when (milliseconds), how often it was tried, why it failed, whether for good."""

    number: int
    proposal: Proposal
    since: int
    tries: int
    reason: str | None
    dead: bool


def _says_anew(newer: Proposal, older: Proposal) -> bool:
    """Whether one of two proposals of an aspect says what the other said: all of it is anew, of patches the same paths."""
    if newer.change_type != _PATCH or older.change_type != _PATCH:
        return True
    return not {one["path"] for one in newer.value}.isdisjoint(one["path"] for one in older.value)


class _Points:
    """Points of the outbox by what the server tells them apart by: those that are ``dead``, or those that wait."""

    def __init__(self, connection: sqlite3.Connection, *, dead: bool) -> None:
        self._connection = connection
        self._dead = dead
        self._known: dict[tuple[str, str], dict[bytes, list[int]]] = {}

    def of(self, proposal: Proposal) -> list[int]:
        """Return the numbers of what is the same point as ``proposal``; each entity's are read once."""
        place = proposal.entity_urn, proposal.aspect_name
        found = self._known.get(place)
        if found is None:
            found = self._known[place] = {}
            # +: by the entity, not by the index of what is dead, which may be nearly all of it
            query = "SELECT id, proposal FROM outbox WHERE urn = ? AND aspect = ? AND +dead = ?"
            for number, data in self._connection.execute(query, (*place, self._dead)):
                found.setdefault(document_id(place[0], _decode(data).value), []).append(number)
        return found.get(document_id(place[0], proposal.value), [])


class Outbox:
    """The queue in the ledger's file; the caller owns the transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        #: how many wait or are dead, at most
        self.tally = Tally(connection, "outbox", count=_COUNT, newest=_NEWEST)

    @property
    def paused(self) -> bool:
        """Whether somebody holds deliveries (``dh-bridge queue pause``)."""
        return self.note(_PAUSED) is not None

    def pause(self, *, paused: bool) -> None:
        """Hold deliveries, or let them go on."""
        if paused:
            self.write_note(_PAUSED, "yes")
        else:
            self.drop_note(_PAUSED)

    def note(self, name: str) -> str | None:
        """Return what is noted under a name."""
        row = self._connection.execute("SELECT value FROM note WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def drop_note(self, name: str) -> None:
        """Forget what was noted under ``name``."""
        self._connection.execute("DELETE FROM note WHERE name = ?", (name,))

    def write_note(self, name: str, value: str) -> None:
        """Note something under a name."""
        self._connection.execute("INSERT OR REPLACE INTO note (name, value) VALUES (?, ?)", (name, value))

    def put(self, proposals: Sequence[Proposal], now: int) -> None:
        """Add proposals in order; a newer UPSERT replaces the one that waits, but of points in time each one counts.

        What takes the place of a dead letter buries it: retried later, it would bring back what is old. Of a dead point that is
        the same point, told anew.
        """
        refused = self._connection.execute("SELECT 1 FROM outbox WHERE dead = 1 LIMIT 1").fetchone() is not None
        points = _Points(self._connection, dead=True)
        for proposal in proposals:
            urn, aspect = proposal.entity_urn, proposal.aspect_name
            if is_timeseries(aspect):
                gone = points.of(proposal) if refused else ()
                self._connection.executemany("DELETE FROM outbox WHERE id = ? AND dead", ((number,) for number in gone))
            else:
                newer = proposal.change_type == _WHOLE
                self._connection.execute(
                    "DELETE FROM outbox WHERE urn = ? AND aspect = ? AND (dead OR ?)", (urn, aspect, newer)
                )
            self._connection.execute(
                "INSERT INTO outbox (urn, aspect, proposal, since) VALUES (?, ?, ?, ?)",
                (urn, aspect, ndjson_line(proposal), now),
            )

    def bury(self, proposal: Proposal, reason: str, now: int) -> None:
        """Add a proposal that a server has refused for good after it had left the outbox."""
        self._connection.execute(
            "INSERT INTO outbox (urn, aspect, proposal, since, tries, reason, dead) VALUES (?, ?, ?, ?, 1, ?, 1)",
            (proposal.entity_urn, proposal.aspect_name, ndjson_line(proposal), now, reason),
        )

    def waiting(self, *, after: int = 0, limit: int = 1_000, dead: bool = False, held: bool = True) -> list[Waiting]:
        """Return the oldest ``limit`` proposals with a number above ``after``: those that wait, or those given up.

        ``held``: also those of new entities that are not let through yet.
        """
        rows = self._connection.execute(
            "SELECT id, proposal, since, tries, reason, dead FROM outbox WHERE dead = ? AND id > ?"
            " AND (? OR NOT EXISTS (SELECT 1 FROM newcomer WHERE newcomer.urn = outbox.urn AND admitted <= 0))"
            " ORDER BY id LIMIT ?",
            (dead, after, held, limit),
        )
        return [Waiting(row[0], _decode(row[1]), row[2], row[3], row[4], bool(row[5])) for row in rows]

    def settle(self, sent: Sequence[Waiting], failed: Sequence[Failure]) -> None:
        """Remove what of ``sent`` has arrived; note why the others have not.

        What arrived after something of the same URN that waits is sent again after it, or the older one would win. What is
        refused for good is no dead letter when something newer says the same: retried later, it would bring back what is old.
        """
        refused = {id(failure.proposal): failure for failure in failed}
        held: set[str] = set()
        points = _Points(self._connection, dead=False)
        for one in sent:
            failure = refused.get(id(one.proposal))
            if failure is None:
                if one.proposal.entity_urn not in held:
                    self._connection.execute("DELETE FROM outbox WHERE id = ?", (one.number,))
            else:
                if failure.retryable:
                    held.add(one.proposal.entity_urn)
                elif self._is_old(one, points):
                    self._connection.execute("DELETE FROM outbox WHERE id = ?", (one.number,))
                    continue
                self._connection.execute(
                    "UPDATE outbox SET tries = tries + 1, reason = ?, dead = ? WHERE id = ?",
                    (failure.reason, not failure.retryable, one.number),
                )

    def _is_old(self, one: Waiting, points: _Points) -> bool:
        """Whether something behind it says anew what it says; of points in time the same one."""
        urn, aspect = one.proposal.entity_urn, one.proposal.aspect_name
        if is_timeseries(aspect):
            return max(points.of(one.proposal), default=0) > one.number
        newer = self._connection.execute(
            "SELECT proposal FROM outbox WHERE urn = ? AND aspect = ? AND id > ?", (urn, aspect, one.number)
        )
        return any(_says_anew(_decode(row[0]), one.proposal) for row in newer)

    def postpone(self, tried: Sequence[Waiting], reason: str) -> None:
        """Note why nothing of ``tried`` counts as delivered; all of it goes on waiting."""
        self._connection.executemany(
            "UPDATE outbox SET tries = tries + 1, reason = ? WHERE id = ?", ((reason, one.number) for one in tried)
        )

    def count(self, *, last: int | None = None) -> tuple[int, int]:
        """Return how many proposals wait, and how many are dead, of all or up to the number ``last``.

        All are counted, which takes its time where they are many.
        """
        query = "SELECT dead, count(*) FROM outbox WHERE ?1 IS NULL OR id <= ?1 GROUP BY dead"
        found = dict(self._connection.execute(query, (last,)))
        return found.get(0, 0), found.get(1, 0)

    def newest(self) -> int:
        """Return the number of what was added last."""
        row = self._connection.execute(_NEWEST).fetchone()
        return 0 if row is None else int(row[0])

    def oldest(self) -> int | None:
        """Return since when the oldest proposal waits, in milliseconds."""
        row = self._connection.execute("SELECT since FROM outbox WHERE dead = 0 ORDER BY id LIMIT 1").fetchone()
        return None if row is None else int(row[0])

    def retry(self) -> int:
        """Let dead letters wait again; return how many."""
        return self._connection.execute("UPDATE outbox SET dead = 0, tries = 0 WHERE dead").rowcount

    def drop(self, *, dead: bool) -> int:
        """Forget what waits, or with ``dead`` what was given up; return how many."""
        return self._connection.execute("DELETE FROM outbox WHERE dead = ?", (dead,)).rowcount

    def each(self, *, dead: bool = False) -> Iterator[Waiting]:
        """Yield all that waits, or all that was given up, oldest first."""
        after = 0
        while found := self.waiting(after=after, dead=dead):
            yield from found
            after = found[-1].number
