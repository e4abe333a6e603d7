"""How the ledger stays bounded: runs that were not told of for long are let go, later those that have not ended.

What such a run contributes stays for good in what runs share; its state goes, and with it what was sent of the run itself.
Its key stays, so that a late event is known for one, and is handled as a stateless run without START. With it stays what the
runs have said by now that were settled together with it, and what others have from it, those below it and those that read what it
wrote, while they are kept: without it they would say less the next time, and erase.

An open run may be told of by others alone: an application is silent for months while the runs below it name it.
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
#: each with when a run that names it was told of last
_SELECT_SILENT = """
    SELECT id, (
        SELECT max(other.touched) FROM shared JOIN contribution ON contribution.entity = shared.id JOIN run AS other ON other.id = contribution.run
        WHERE shared.urn = run.key
    ) FROM run WHERE state IS NOT NULL AND ended IS NULL AND touched < ? ORDER BY touched LIMIT ?
"""
#: in two parts, each of which its index answers alone: states are large
_COUNT_RUNS = """
    SELECT (SELECT count(*) FROM run WHERE state IS NOT NULL AND ended IS NOT NULL)
    + (SELECT count(*) FROM run WHERE state IS NOT NULL AND ended IS NULL)
"""
_SELECT_LAST_ID = "SELECT max(id) FROM run"
_OPEN_RUN_AGE_FACTOR = 3
"""A run without an end is evicted at this multiple of the age of ended runs: its end may still arrive."""
_RUNS_PER_EXTRA_EVICTION = 100
"""Where there are too many runs, one more of each so many goes: they are not counted again until as many have come."""


class Retention:
    """Evicts runs: those that were told of longer ago than the settings allow, and the oldest where there are too many."""

    def __init__(  # noqa: PLR0913 - what the fold shares with it
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
        """``edge_settings`` says which edges leave; None: they are left for the next time."""
        self._connection = connection
        self._edge_settings = edge_settings
        self._max_age_millis = settings.retention_days * DAY_MILLIS
        self._max_open_age_millis = _OPEN_RUN_AGE_FACTOR * self._max_age_millis
        self._max_runs = settings.max_runs
        self._row_estimate = RowEstimate(connection, "runs", count_query=_COUNT_RUNS, last_id_query=_SELECT_LAST_ID)
        #: evictions of one batch: more than can be new in it, so that a backlog shrinks and no batch stands still for it
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
        """Return the open runs that nobody told of for long; those that other runs did are noted as told of then."""
        cutoff = now - self._max_open_age_millis
        lost_ids = []
        for run_id, last_named in self._connection.execute(_SELECT_SILENT, (cutoff, self._max_evictions)).fetchall():
            if last_named is None or last_named < cutoff:
                lost_ids.append(run_id)
            else:
                self._runs.touch(run_id, last_named, now)
        return lost_ids

    def _excess_runs(self, old_count: int, lost_count: int) -> list[int]:
        """Return the runs that go as there are too many, the ``old_count`` ended and ``lost_count`` open ones that go anyway among them."""
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
        """Let runs go; what they have said stays."""
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
        """Let runs go that are ``stored_ids``, and forget of all these ``run_ids`` that they were there."""
        self.evict(stored_ids)
        for table, column in (("run_ancestry", "run"), ("run", "id")):
            query = f"DELETE FROM {table} WHERE {column} = ?"  # noqa: S608 - names of ours
            self._connection.executemany(query, ((run_id,) for run_id in run_ids))
        self._row_estimate.reset()  # a number may be given once more

    def _evict_run(self, run_id: int) -> None:
        execute = self._connection.execute
        self._ancestry.save_inheritable(run_id)
        urn = self._runs.evict(run_id)
        execute("DELETE FROM run_token WHERE run = ?", (run_id,))
        execute("DELETE FROM run_history WHERE run = ?", (run_id,))
        self._ancestry.delete_unused(urn)
        named_runs = self._shared.remove_contributor(run_id)
        # what runs say of another run is of use until that one is gone, and while one of them is here
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
