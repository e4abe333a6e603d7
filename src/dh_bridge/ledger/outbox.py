# ruff: noqa: S608 - the statements are made of constants
"""The outbox: a proposal leaves it when its server has acknowledged it, and not before.

The order of each URN is preserved. A newer UPSERT replaces a waiting one of the same aspect, so nothing old is sent after
something new. A proposal that the server rejects permanently becomes a dead letter with the server's error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from dh_bridge.datahub.proposal import Proposal, ndjson_line
from dh_bridge.datahub.timeseries import document_id, is_timeseries
from dh_bridge.ledger.compression import compression_of
from dh_bridge.ledger.row_estimate import RowEstimate

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator, Mapping, Sequence

    from dh_bridge.ledger.compression import Compression
    from dh_bridge.sinks.base import Failure

_decode_json = msgspec.json.Decoder(Proposal).decode
_UPSERT, _PATCH = "UPSERT", "PATCH"
_PAUSED_NOTE = "paused"
_COUNT_ROWS = "SELECT count(*) FROM outbox"
_HAS_NUMBER = "(:numbers IS NULL OR id IN (SELECT value FROM json_each(:numbers)))"
_WAITING_GROUPS = """
    SELECT substr(urn, 8, instr(substr(urn, 8), ':') - 1), reason, count(*), min(since) FROM outbox
    WHERE dead = 0 GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2 LIMIT ?
"""
_SELECT_LAST_ID = "SELECT seq FROM sqlite_sequence WHERE name = 'outbox'"


def _decode(data: bytes, compression: Compression) -> Proposal:
    return _decode_json(compression.decompress(data))


class QueuedProposal(NamedTuple):
    """A proposal in the outbox.

    When it was queued (milliseconds), number of tries, reason of the last failure, and whether it is dead.
    """

    number: int
    proposal: Proposal
    queued_at: int
    tries: int
    reason: str | None
    is_dead: bool


class WaitingGroup(NamedTuple):
    """Waiting proposals of one entity type with one reason: their number, and since when the oldest waits (milliseconds)."""

    entity_type: str
    reason: str | None
    number: int
    oldest: int


def _queued_proposal(row: tuple[Any, ...], compression: Compression) -> QueuedProposal:
    return QueuedProposal(row[0], _decode(row[1], compression), row[2], row[3], row[4], bool(row[5]))


def _encode_numbers(numbers: Sequence[int] | None) -> str | None:
    return None if numbers is None else msgspec.json.encode(list(numbers)).decode()


def _supersedes(newer: Proposal, older: Proposal) -> bool:
    """Whether a proposal replaces another one of the same aspect: the whole aspect or, for patches, the same paths."""
    if newer.change_type != _PATCH or older.change_type != _PATCH:
        return True
    return not {operation["path"] for operation in newer.value}.isdisjoint(
        operation["path"] for operation in older.value
    )


class _QueuedPoints:
    """Points of the outbox by the identity that the server gives them.

    Either the dead ones (``is_dead``) or the waiting ones.
    """

    def __init__(self, connection: sqlite3.Connection, *, is_dead: bool) -> None:
        self._connection = connection
        self._compression = compression_of(connection)
        self._is_dead = is_dead
        self._ids_by_aspect: dict[tuple[str, str], dict[bytes, list[int]]] = {}

    def ids_of(self, proposal: Proposal) -> list[int]:
        """Return the numbers of the same points as ``proposal``; the points of an entity are read once."""
        entity_aspect = proposal.entity_urn, proposal.aspect_name
        ids_by_document = self._ids_by_aspect.get(entity_aspect)
        if ids_by_document is None:
            ids_by_document = self._ids_by_aspect[entity_aspect] = {}
            # +: use the index of entities, not that of dead letters, which may be nearly all rows
            query = "SELECT id, proposal FROM outbox WHERE urn = ? AND aspect = ? AND +dead = ?"
            for number, data in self._connection.execute(query, (*entity_aspect, self._is_dead)):
                proposal_value = _decode(data, self._compression).value
                ids_by_document.setdefault(document_id(entity_aspect[0], proposal_value), []).append(number)
        return ids_by_document.get(document_id(entity_aspect[0], proposal.value), [])


class Outbox:
    """The queue in the ledger's file; the caller owns the transactions."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._compression = compression_of(connection)
        #: upper bound of the waiting and dead proposals
        self.row_estimate = RowEstimate(connection, "outbox", count_query=_COUNT_ROWS, last_id_query=_SELECT_LAST_ID)

    @property
    def is_paused(self) -> bool:
        """Whether deliveries are paused (``dh-bridge queue pause``)."""
        return self.read_note(_PAUSED_NOTE) is not None

    def set_paused(self, *, is_paused: bool) -> None:
        """Pause or resume deliveries."""
        if is_paused:
            self.write_note(_PAUSED_NOTE, "yes")
        else:
            self.delete_note(_PAUSED_NOTE)

    def read_note(self, name: str) -> str | None:
        """Return the note with a name."""
        row = self._connection.execute("SELECT value FROM note WHERE name = ?", (name,)).fetchone()
        return None if row is None else str(row[0])

    def delete_note(self, name: str) -> None:
        """Delete the note with a name."""
        self._connection.execute("DELETE FROM note WHERE name = ?", (name,))

    def write_note(self, name: str, value: str) -> None:
        """Store a note under a name."""
        self._connection.execute("INSERT OR REPLACE INTO note (name, value) VALUES (?, ?)", (name, value))

    def add(self, proposals: Sequence[Proposal], now: int) -> None:
        """Add proposals in order; a newer UPSERT replaces a waiting one, but every point in time is added.

        If a proposal replaces the content of a dead letter, the dead letter is deleted, because a retry would restore an old
        value. A dead point is deleted by a new proposal of the same point.
        """
        has_dead = self._connection.execute("SELECT 1 FROM outbox WHERE dead = 1 LIMIT 1").fetchone() is not None
        points = _QueuedPoints(self._connection, is_dead=True)
        for proposal in proposals:
            urn, aspect = proposal.entity_urn, proposal.aspect_name
            if is_timeseries(aspect):
                dead_ids = points.ids_of(proposal) if has_dead else ()
                self._connection.executemany(
                    "DELETE FROM outbox WHERE id = ? AND dead", ((number,) for number in dead_ids)
                )
            else:
                is_upsert = proposal.change_type == _UPSERT
                self._connection.execute(
                    "DELETE FROM outbox WHERE urn = ? AND aspect = ? AND (dead OR ?)", (urn, aspect, is_upsert)
                )
            self._connection.execute(
                "INSERT INTO outbox (urn, aspect, proposal, since) VALUES (?, ?, ?, ?)",
                (urn, aspect, self._compression.compress_portable(ndjson_line(proposal)), now),
            )

    def add_dead_letter(self, proposal: Proposal, reason: str, now: int) -> None:
        """Add a proposal that the server rejected permanently after it had left the outbox."""
        self._connection.execute(
            "INSERT INTO outbox (urn, aspect, proposal, since, tries, reason, dead) VALUES (?, ?, ?, ?, 1, ?, 1)",
            (
                proposal.entity_urn,
                proposal.aspect_name,
                self._compression.compress_portable(ndjson_line(proposal)),
                now,
                reason,
            ),
        )

    def list_queued(
        self, *, after_id: int = 0, limit: int = 1_000, is_dead: bool = False, include_held: bool = True
    ) -> list[QueuedProposal]:
        """Return the oldest ``limit`` proposals with a number above ``after_id``: waiting ones, or dead letters.

        ``include_held``: also those of new entities beyond the limit.
        """
        rows = self._connection.execute(
            "SELECT id, proposal, since, tries, reason, dead FROM outbox WHERE dead = ? AND id > ?"
            " AND (? OR NOT EXISTS (SELECT 1 FROM new_entity WHERE new_entity.urn = outbox.urn AND admitted <= 0))"
            " ORDER BY id LIMIT ?",
            (is_dead, after_id, include_held, limit),
        )
        return [_queued_proposal(row, self._compression) for row in rows]

    def record_delivery(self, attempted_items: Sequence[QueuedProposal], failures: Sequence[Failure]) -> None:
        """Remove those of ``attempted_items`` that arrived; store the reasons of the others.

        If a proposal arrived after a waiting one of the same URN, it is sent again after it; otherwise the older one would win.
        A rejected proposal is no dead letter if a newer proposal has the same content, because a retry would restore an old
        value.
        """
        failures_by_id = {id(failure.proposal): failure for failure in failures}
        retried_urns: set[str] = set()
        points = _QueuedPoints(self._connection, is_dead=False)
        for item in attempted_items:
            failure = failures_by_id.get(id(item.proposal))
            if failure is None:
                if item.proposal.entity_urn not in retried_urns:
                    self._connection.execute("DELETE FROM outbox WHERE id = ?", (item.number,))
            else:
                if failure.retryable:
                    retried_urns.add(item.proposal.entity_urn)
                elif self._is_superseded(item, points):
                    self._connection.execute("DELETE FROM outbox WHERE id = ?", (item.number,))
                    continue
                self._connection.execute(
                    "UPDATE outbox SET tries = tries + 1, reason = ?, dead = ? WHERE id = ?",
                    (failure.reason, not failure.retryable, item.number),
                )

    def _is_superseded(self, item: QueuedProposal, points: _QueuedPoints) -> bool:
        """Whether a later proposal replaces it; of points in time, the same point."""
        urn, aspect = item.proposal.entity_urn, item.proposal.aspect_name
        if is_timeseries(aspect):
            return max(points.ids_of(item.proposal), default=0) > item.number
        newer_rows = self._connection.execute(
            "SELECT proposal FROM outbox WHERE urn = ? AND aspect = ? AND id > ?", (urn, aspect, item.number)
        )
        return any(_supersedes(_decode(row[0], self._compression), item.proposal) for row in newer_rows)

    def record_failure(self, attempted_items: Sequence[QueuedProposal], reason: str) -> None:
        """Store the reason why ``attempted_items`` do not count as delivered; all of them keep waiting."""
        self._connection.executemany(
            "UPDATE outbox SET tries = tries + 1, reason = ? WHERE id = ?",
            ((reason, item.number) for item in attempted_items),
        )

    def record_blocked(self, queued_items: Sequence[QueuedProposal], reasons: Mapping[str, str]) -> None:
        """Store, for the ``queued_items`` that were not tried, why an earlier proposal of their entity waits."""
        self._connection.executemany(
            "UPDATE outbox SET reason = ? WHERE id = ?",
            (
                (reasons[item.proposal.entity_urn], item.number)
                for item in queued_items
                if item.proposal.entity_urn in reasons
            ),
        )

    def count(self, *, max_id: int | None = None) -> tuple[int, int]:
        """Return the numbers of waiting and dead proposals: of all, or up to the number ``max_id``.

        It counts the rows, which takes time if there are many.
        """
        query = "SELECT dead, count(*) FROM outbox WHERE ?1 IS NULL OR id <= ?1 GROUP BY dead"
        counts = dict(self._connection.execute(query, (max_id,)))
        return counts.get(0, 0), counts.get(1, 0)

    def last_id(self) -> int:
        """Return the number of the newest proposal."""
        row = self._connection.execute(_SELECT_LAST_ID).fetchone()
        return 0 if row is None else int(row[0])

    def oldest_time(self) -> int | None:
        """Return since when the oldest proposal waits, in milliseconds."""
        row = self._connection.execute("SELECT since FROM outbox WHERE dead = 0 ORDER BY id LIMIT 1").fetchone()
        return None if row is None else int(row[0])

    def retry_dead(self, numbers: Sequence[int] | None = None) -> int:
        """Queue dead letters again, or those with ``numbers``; return how many."""
        query = f"UPDATE outbox SET dead = 0, tries = 0 WHERE dead AND {_HAS_NUMBER}"
        return self._connection.execute(query, {"numbers": _encode_numbers(numbers)}).rowcount

    def delete(self, *, is_dead: bool, numbers: Sequence[int] | None = None) -> int:
        """Delete waiting proposals, or dead letters with ``is_dead``: all, or those with ``numbers``; return how many."""
        query = f"DELETE FROM outbox WHERE dead = :dead AND {_HAS_NUMBER}"
        return self._connection.execute(query, {"dead": is_dead, "numbers": _encode_numbers(numbers)}).rowcount

    def find_dead(self, numbers: Sequence[int]) -> list[QueuedProposal]:
        """Return the dead letters with ``numbers``, oldest first."""
        rows = self._connection.execute(
            f"SELECT id, proposal, since, tries, reason, dead FROM outbox WHERE dead AND {_HAS_NUMBER} ORDER BY id",
            {"numbers": _encode_numbers(numbers)},
        )
        return [_queued_proposal(row, self._compression) for row in rows]

    def waiting_groups(self, limit: int) -> list[WaitingGroup]:
        """Return the waiting proposals by entity type and reason, the largest number first."""
        rows = self._connection.execute(_WAITING_GROUPS, (limit,))
        return [WaitingGroup(*row) for row in rows]

    def iter_queued(self, *, is_dead: bool = False) -> Iterator[QueuedProposal]:
        """Yield all waiting proposals, or all dead letters, oldest first."""
        after_id = 0
        while page := self.list_queued(after_id=after_id, is_dead=is_dead):
            yield from page
            after_id = page[-1].number
