"""How the ledger stays bounded: runs that have ended and were not told of for long are let go (ruling 12).

What such a run contributes stays for good in what runs share; its state goes, and with it what was sent of the run itself.
Its key stays, so that a late event is known for one, and is handled as a stateless run without START. With it stays what the
runs have said by now that were settled together with it: without it they would say less the next time, and erase.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.ledger.sent import DAY

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from dh_bridge.ledger.kin import Kin
    from dh_bridge.ledger.runs import Runs
    from dh_bridge.ledger.shared import Shared
    from dh_bridge.settings import LedgerSettings

_OLD = "SELECT id FROM run WHERE state IS NOT NULL AND ended IS NOT NULL AND touched < ? ORDER BY touched LIMIT ?"
_ENDED = "SELECT id FROM run WHERE state IS NOT NULL AND ended IS NOT NULL ORDER BY touched LIMIT ?"
_OPEN = "SELECT id FROM run WHERE state IS NOT NULL AND ended IS NULL ORDER BY touched LIMIT ?"
#: in two parts, each of which its index answers alone: states are large
_COUNT = """
    SELECT count(*) FROM run WHERE state IS NOT NULL AND ended IS NOT NULL
    UNION ALL SELECT count(*) FROM run WHERE state IS NOT NULL AND ended IS NULL
"""


class Retention:
    """Evicts runs: those that ended and are older than the settings allow, and the oldest where there are too many."""

    def __init__(
        self, connection: sqlite3.Connection, settings: LedgerSettings, runs: Runs, shared: Shared, kin: Kin
    ) -> None:
        self._connection = connection
        self._age = settings.retention_days * DAY
        self._runs_kept = settings.max_runs
        #: evictions of one batch: more than can be new in it, so that a backlog shrinks and no batch stands still for it
        self._most = 2 * settings.batch
        self._runs, self._shared, self._kin = runs, shared, kin

    def apply(self, now: int) -> int:
        """Evict what is due at ``now`` (milliseconds) between two batches; return how many runs went."""
        due = self._numbers(_OLD, now - self._age, self._most)
        kept = sum(self._numbers(_COUNT))
        excess = min(kept - len(due) - self._runs_kept, self._most)
        if excess > 0:
            due = self._numbers(_ENDED, len(due) + excess)
            due += self._numbers(_OPEN, excess - len(due)) if len(due) < excess else []
        self.evict(due)
        if due:
            self._runs.facts.sweep(now)
        self._connection.execute(
            "DELETE FROM sent_point WHERE key IN (SELECT key FROM sent_point WHERE time < ? LIMIT ?)",
            (now - self._age, 4 * self._most),
        )
        return len(due)

    def evict(self, numbers: Iterable[int]) -> None:
        """Let runs go; what they have said stays."""
        gone = set(numbers)
        poured: set[int] = set()
        for number in sorted(gone):
            for other in self._kin.family(number) - poured:
                poured.add(other)
                self._shared.pour_for_good(self._runs.by_number(other).contribution)
        for number in sorted(gone):
            self._let_go(number)
        self._shared.save()

    def _let_go(self, number: int) -> None:
        execute = self._connection.execute
        urn = self._runs.evict(number)
        execute("DELETE FROM kin WHERE run = ?", (number,))
        execute("DELETE FROM heritage WHERE run = ?", (number,))
        execute("DELETE FROM story WHERE run = ?", (number,))
        execute("DELETE FROM handed WHERE run = ?", (number,))
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
