"""Bounds the ledger: evicts runs that were not named for long; open runs later than ended ones.

What an evicted run contributed to shared entities stays. Its state and its fingerprints are deleted. Its key stays, so that a
late event is recognised and handled as the event of a stateless run without START. The facts of related runs that depend on it
stay as long as those runs: without them, those runs would lose values.

An open run may be named by other runs only: an application sends no event for months while its child runs name it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.ledger.row_estimate import RowEstimate
from dh_bridge.ledger.sent import DAY_MILLIS
from dh_bridge.model.facts import EDGE_LAST_USED

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from dh_bridge.ledger.ancestry import RunAncestry
    from dh_bridge.ledger.related_runs import RelatedRuns
    from dh_bridge.ledger.runs import RunStore
    from dh_bridge.ledger.shared import SharedEntityStore
    from dh_bridge.settings import LedgerSettings, Settings

_SELECT_OLD = (
    "SELECT id FROM run WHERE state IS NOT NULL AND ended IS NOT NULL AND touched < ? ORDER BY touched LIMIT ?"
)
_SELECT_ENDED = "SELECT id FROM run WHERE state IS NOT NULL AND ended IS NOT NULL ORDER BY touched LIMIT ?"
_SELECT_OPEN = "SELECT id FROM run WHERE state IS NOT NULL AND ended IS NULL ORDER BY touched LIMIT ?"
#: each with the last time at which a run that refers to it was named
_SELECT_SILENT = """
    SELECT id, (
        SELECT max(other.touched) FROM shared JOIN contribution ON contribution.entity = shared.id JOIN run AS other ON other.id = contribution.run
        WHERE shared.urn = run.key
    ) FROM run WHERE state IS NOT NULL AND ended IS NULL AND touched < ? ORDER BY touched LIMIT ?
"""
#: in two parts, so that each uses one index: states are large
_COUNT_RUNS = """
    SELECT (SELECT count(*) FROM run WHERE state IS NOT NULL AND ended IS NOT NULL)
    + (SELECT count(*) FROM run WHERE state IS NOT NULL AND ended IS NULL)
"""
_SELECT_LAST_ID = "SELECT max(id) FROM run"
_OPEN_RUN_AGE_FACTOR = 3
"""A run without an end is evicted at this multiple of the age of ended runs: its end may still arrive."""
_RUNS_PER_EXTRA_EVICTION = 100
"""If there are too many runs, one more of each so many is evicted; runs are counted again after as many new ones."""


class Retention:
    """Evicts runs: those that were named longer ago than the settings allow, and the oldest if there are too many."""

    def __init__(  # noqa: PLR0913 - the objects that the aggregator shares
        self,
        connection: sqlite3.Connection,
        settings: LedgerSettings,
        runs: RunStore,
        shared: SharedEntityStore,
        related_runs: RelatedRuns,
        ancestry: RunAncestry,
        *,
        edge_settings: Settings | None = None,
    ) -> None:
        """``edge_settings``: which edges expire; None: none in this call."""
        self._connection = connection
        self._edge_settings = edge_settings
        self._max_age_millis = settings.retention_days * DAY_MILLIS
        self._max_open_age_millis = _OPEN_RUN_AGE_FACTOR * self._max_age_millis
        self._max_runs = settings.max_runs
        self._row_estimate = RowEstimate(connection, "runs", count_query=_COUNT_RUNS, last_id_query=_SELECT_LAST_ID)
        #: maximum evictions of a batch: more than it can add, so a backlog shrinks; and few enough, so no batch stops for it
        self._max_evictions = 2 * settings.batch
        self._runs, self._shared, self._related_runs = runs, shared, related_runs
        self._ancestry = ancestry

    def apply(self, now: int) -> None:
        """Evict what is due at ``now`` (milliseconds), between two batches."""
        old_ids = self._select_ids(_SELECT_OLD, now - self._max_age_millis, self._max_evictions)
        lost_ids = self._lost_runs(now)
        due_ids = {*old_ids, *lost_ids, *self._excess_runs(len(old_ids), len(lost_ids))}
        self.evict(due_ids)
        if due_ids:
            self._runs.objects.delete_unused(now)
        self._connection.execute(
            "DELETE FROM sent_point WHERE key IN (SELECT key FROM sent_point WHERE time < ? LIMIT ?)",
            (now - self._max_age_millis, 4 * self._max_evictions),
        )

    def _lost_runs(self, now: int) -> list[int]:
        """Return the open runs that no run has named for long; the time of those that were named is updated."""
        cutoff = now - self._max_open_age_millis
        lost_ids = []
        for run_id, last_named in self._connection.execute(_SELECT_SILENT, (cutoff, self._max_evictions)).fetchall():
            if last_named is None or last_named < cutoff:
                lost_ids.append(run_id)
            else:
                self._runs.touch(run_id, last_named, now)
        return lost_ids

    def _excess_runs(self, old_count: int, lost_count: int) -> list[int]:
        """Return the runs to evict because there are too many.

        ``old_count`` ended and ``lost_count`` open ones are evicted anyway.
        """
        max_runs = self._max_runs + old_count + lost_count
        if self._row_estimate.max_count() <= max_runs:
            return []
        excess = self._row_estimate.count_rows() - max_runs
        if excess <= 0:
            return []
        excess = min(excess + self._max_runs // _RUNS_PER_EXTRA_EVICTION, self._max_evictions)
        ended_ids = self._select_ids(_SELECT_ENDED, old_count + excess)
        remaining = old_count + excess - len(ended_ids)
        return ended_ids + (self._select_ids(_SELECT_OPEN, lost_count + remaining) if remaining else [])

    def evict(self, run_ids: Iterable[int]) -> None:
        """Evict runs; their facts about other entities stay."""
        evicted_ids = set(run_ids)
        if not evicted_ids:
            return
        merged_ids: set[int] = set()
        job_urns: set[str] = set()
        for run_id in sorted(evicted_ids):
            for related_id in self._related_runs.related_ids(run_id) - merged_ids:
                merged_ids.add(related_id)
                facts = self._runs.contribution_of(related_id)
                self._shared.add_permanently(facts)
                job_urns |= {urn for urn, registers in facts.items() if EDGE_LAST_USED in registers}
        if self._edge_settings is not None:
            for urn in job_urns:
                self._shared.drop_expired_edges(urn, self._edge_settings)
        max_count = self._row_estimate.max_count()
        for run_id in sorted(evicted_ids):
            self._evict_run(run_id)
        self._shared.save()
        self._row_estimate.record_count(max_count - len(evicted_ids))

    def forget_runs(self, stored_ids: Iterable[int], run_ids: Iterable[int]) -> None:
        """Evict the runs ``stored_ids``, and delete the keys of ``run_ids``."""
        self.evict(stored_ids)
        for table, column in (("run_ancestry", "run"), ("run", "id")):
            query = f"DELETE FROM {table} WHERE {column} = ?"  # noqa: S608 - constants of this module
            self._connection.executemany(query, ((run_id,) for run_id in run_ids))
        self._row_estimate.reset()  # SQLite may use a number again

    def _evict_run(self, run_id: int) -> None:
        execute = self._connection.execute
        self._ancestry.save_inheritable(run_id)
        urn = self._runs.evict(run_id)
        execute("DELETE FROM run_token WHERE run = ?", (run_id,))
        execute("DELETE FROM run_history WHERE run = ?", (run_id,))
        self._ancestry.delete_unused(urn)
        named_runs = self._shared.remove_contributor(run_id)
        # facts about another run are needed until that run is evicted, and while one of these runs is stored
        for other_urn, is_contributed_to in named_runs:
            row = execute("SELECT state FROM run WHERE key = ?", (other_urn,)).fetchone()
            if not is_contributed_to and (row is None or row[0] is None):
                self._drop_entity(other_urn)
        execute("DELETE FROM sent WHERE urn = ?", (urn,))
        if not self._shared.has_contributors(urn):
            self._drop_entity(urn)

    def _drop_entity(self, urn: str) -> None:
        self._connection.execute("DELETE FROM sent WHERE urn = ?", (urn,))
        self._shared.drop(urn)

    def _select_ids(self, query: str, *values: int) -> list[int]:
        return [run_id for (run_id,) in self._connection.execute(query, values)]
