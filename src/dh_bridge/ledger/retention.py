"""How the ledger stays bounded: runs that were not told of for long are let go, later those that have not ended.

What such a run contributes stays for good in what runs share; its state goes, and with it what was sent of the run itself.
Its key stays, so that a late event is known for one, and is handled as a stateless run without START. With it stays what the
runs have said by now that were settled together with it, and what others have from it, those below it and those that read what it
wrote, while they are kept: without it they would say less the next time, and erase.

An open run may be told of by others alone: an application is silent for months while the runs below it name it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.ledger.row_estimate import Tally
from dh_bridge.ledger.sent import DAY
from dh_bridge.translation.facts import SEEN

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from dh_bridge.ledger.ancestry import Heritage
    from dh_bridge.ledger.related_runs import Kin
    from dh_bridge.ledger.runs import Runs
    from dh_bridge.ledger.shared import Shared
    from dh_bridge.settings import LedgerSettings, Settings

_OLD = "SELECT id FROM run WHERE state IS NOT NULL AND ended IS NOT NULL AND touched < ? ORDER BY touched LIMIT ?"
_ENDED = "SELECT id FROM run WHERE state IS NOT NULL AND ended IS NOT NULL ORDER BY touched LIMIT ?"
_OPEN = "SELECT id FROM run WHERE state IS NOT NULL AND ended IS NULL ORDER BY touched LIMIT ?"
#: each with when a run that names it was told of last
_SILENT = """
    SELECT id, (
        SELECT max(other.touched) FROM shared JOIN touch ON touch.entity = shared.id JOIN run AS other ON other.id = touch.run
        WHERE shared.urn = run.key
    ) FROM run WHERE state IS NOT NULL AND ended IS NULL AND touched < ? ORDER BY touched LIMIT ?
"""
#: in two parts, each of which its index answers alone: states are large
_COUNT = """
    SELECT (SELECT count(*) FROM run WHERE state IS NOT NULL AND ended IS NOT NULL)
    + (SELECT count(*) FROM run WHERE state IS NOT NULL AND ended IS NULL)
"""
_NEWEST = "SELECT max(id) FROM run"
_SLACK = 100
"""Where there are too many runs, one more of each so many goes: they are not counted again until as many have come."""


class Retention:
    """Evicts runs: those that were told of longer ago than the settings allow, and the oldest where there are too many."""

    def __init__(  # noqa: PLR0913 - what the fold shares with it
        self,
        connection: sqlite3.Connection,
        settings: LedgerSettings,
        runs: Runs,
        shared: Shared,
        kin: Kin,
        heritage: Heritage,
        *,
        leaving: Settings | None = None,
    ) -> None:
        """``leaving`` says which edges leave; None: they are left for the next time."""
        self._connection = connection
        self._leaving = leaving
        self._age = settings.retention_days * DAY
        self._age_of_open = settings.open_days * DAY
        self._runs_kept = settings.max_runs
        self._tally = Tally(connection, "runs", count=_COUNT, newest=_NEWEST)
        #: evictions of one batch: more than can be new in it, so that a backlog shrinks and no batch stands still for it
        self._most = 2 * settings.batch
        self._runs, self._shared, self._kin = runs, shared, kin
        self._heritage = heritage

    def apply(self, now: int) -> None:
        """Evict what is due at ``now`` (milliseconds), between two batches."""
        old = self._numbers(_OLD, now - self._age, self._most)
        lost = self._lost(now)
        due = {*old, *lost, *self._excess(len(old), len(lost))}
        self.evict(due)
        if due:
            self._runs.facts.sweep(now)
        self._connection.execute(
            "DELETE FROM sent_point WHERE key IN (SELECT key FROM sent_point WHERE time < ? LIMIT ?)",
            (now - self._age, 4 * self._most),
        )

    def _lost(self, now: int) -> list[int]:
        """Return the open runs that nobody told of for long; those that other runs did are noted as told of then."""
        since = now - self._age_of_open
        found = []
        for number, named in self._connection.execute(_SILENT, (since, self._most)).fetchall():
            if named is None or named < since:
                found.append(number)
            else:
                self._runs.renew(number, named, now)
        return found

    def _excess(self, old: int, lost: int) -> list[int]:
        """Return the runs that go as there are too many, the ``old`` ended and ``lost`` open ones that go anyway among them."""
        most = self._runs_kept + old + lost
        if self._tally.at_most() <= most:
            return []
        excess = self._tally.counted() - most
        if excess <= 0:
            return []
        excess = min(excess + self._runs_kept // _SLACK, self._most)
        ended = self._numbers(_ENDED, old + excess)
        left = old + excess - len(ended)
        return ended + (self._numbers(_OPEN, lost + left) if left else [])

    def evict(self, numbers: Iterable[int]) -> None:
        """Let runs go; what they have said stays."""
        gone = set(numbers)
        if not gone:
            return
        poured: set[int] = set()
        jobs: set[str] = set()
        for number in sorted(gone):
            for other in self._kin.family(number) - poured:
                poured.add(other)
                said = self._runs.contribution(other)
                self._shared.pour_for_good(said)
                jobs |= {urn for urn, slots in said.items() if SEEN in slots}
        if self._leaving is not None:
            for urn in jobs:
                self._shared.let_leave(urn, self._leaving)
        kept = self._tally.at_most()
        for number in sorted(gone):
            self._let_go(number)
        self._shared.save()
        self._tally.note(kept - len(gone))

    def forget(self, kept: Iterable[int], numbers: Iterable[int]) -> None:
        """Let runs go that are ``kept``, and forget of all these ``numbers`` that they were there."""
        self.evict(kept)
        for table, column in (("heritage", "run"), ("run", "id")):
            query = f"DELETE FROM {table} WHERE {column} = ?"  # noqa: S608 - names of ours
            self._connection.executemany(query, ((number,) for number in numbers))
        self._tally.forget()  # a number may be given once more

    def _let_go(self, number: int) -> None:
        execute = self._connection.execute
        self._heritage.leave(number)
        urn = self._runs.evict(number)
        execute("DELETE FROM kin WHERE run = ?", (number,))
        execute("DELETE FROM story WHERE run = ?", (number,))
        self._heritage.release(urn)
        touched = self._shared.let_go(number)
        # what runs say of another run is of use until that one is gone, and while one of them is here
        for other, left in touched:
            row = execute("SELECT state FROM run WHERE key = ?", (other,)).fetchone()
            if not left and (row is None or row[0] is None):
                self._drop(other)
        execute("DELETE FROM sent WHERE urn = ?", (urn,))
        if not self._shared.is_touched(urn):
            self._drop(urn)

    def _drop(self, urn: str) -> None:
        self._connection.execute("DELETE FROM sent WHERE urn = ?", (urn,))
        self._shared.drop(urn)

    def _numbers(self, query: str, *values: int) -> list[int]:
        return [number for (number,) in self._connection.execute(query, values)]
