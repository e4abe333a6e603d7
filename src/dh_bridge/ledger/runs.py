"""The states of runs: of the batch, of the cache, and of the file."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING

from dh_bridge.aggregate.other_runs import RUN_URN_PREFIX
from dh_bridge.ledger.facts import StateObjectStore
from dh_bridge.model.run_state import RunState
from dh_bridge.openlineage.events import TERMINAL_TYPES

if TYPE_CHECKING:
    import sqlite3

    from dh_bridge.model.fold import FactsByEntity

_MAX_CACHED_RUNS = 2_000
_FAILED_TYPES = {"FAIL", "ABORT"}
_WRITE_RUN = """
    INSERT INTO run (id, key, state, job, ended, may_have_failed, touched) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, job = excluded.job, ended = excluded.ended,
        may_have_failed = excluded.may_have_failed, touched = excluded.touched
"""
_EVICT_RUN = "UPDATE run SET state = NULL WHERE id = ?"
_WRITE_RERENDERED_RUN = _WRITE_RUN.replace(", touched = excluded.touched", "")


class StoredRun:
    """A run of the ledger: its row number, its state, and its contributions to shared entities."""

    __slots__ = ("contribution", "run_id", "state")

    def __init__(self, run_id: int, state: RunState, contribution: FactsByEntity) -> None:
        self.run_id = run_id
        self.state = state
        self.contribution = contribution


class RunStore(dict[str, RunState]):
    """The states of the runs of a batch, by key; ``get`` reads earlier ones from the file.

    A job event is a complete state of its own. It is usually not stored, because its facts are in shared entities.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._connection = connection
        self._records: OrderedDict[str, StoredRun] = OrderedDict()
        #: runs that get a row with this batch: number -> key
        self._new_keys: dict[int, str] = {}
        self._next_id = 1
        self.objects = StateObjectStore(connection)
        #: evicted runs: the ledger has their keys only
        self.evicted: set[str] = set()

    def get(self, key: str, default: RunState | None = None) -> RunState | None:  # type: ignore[override]
        """Return the state of a run that is open in this batch, or that the file has."""
        state = super().get(key)
        if state is not None:
            return state
        record = self.record(key)
        if record is None:
            return default
        self[key] = record.state
        return record.state

    def record(self, key: str) -> StoredRun | None:
        """Return a stored run; None for a new or an evicted one."""
        record = self._records.get(key)
        if record is not None:
            self._records.move_to_end(key)
            return record
        record = self._load(key)
        if record is not None:
            self._cache(key, record)
        return record

    def is_known(self, key: str) -> bool:
        """Whether the run has had events of its own, stored or evicted."""
        return key in self or self.record(key) is not None or key in self.evicted

    @property
    def new_keys(self) -> set[str]:
        """The keys of the runs that the ledger did not know before this batch, or that were pruned (``dh-bridge prune``)."""
        return set(self._new_keys.values())

    def key_of(self, run_id: int) -> str:
        """Return the key of a run by its row number, which a new run gets when the batch is saved."""
        key = self._new_keys.get(run_id)
        if key is None:
            (key,) = self._connection.execute("SELECT key FROM run WHERE id = ?", (run_id,)).fetchone()
        return str(key)

    def record_by_id(self, run_id: int) -> StoredRun:
        """Return a stored run by its row number."""
        key = self.key_of(run_id)
        stored_run = self.record(key)
        if stored_run is None:
            raise LookupError(f"the ledger has no state of run {key}")
        return stored_run

    def contribution_of(self, run_id: int) -> FactsByEntity:
        """Return the contributions of a stored run; they are not cached, because many runs may be requested."""
        key = self.key_of(run_id)
        stored_run = self._records.get(key)
        if stored_run is None:
            stored_run = self._load(key)
        if stored_run is None:
            raise LookupError(f"the ledger has no state of run {key}")
        return stored_run.contribution

    def _load(self, key: str) -> StoredRun | None:
        row = self._connection.execute("SELECT id, state FROM run WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if row[1] is None:
            self.evicted.add(key)
            return None
        return StoredRun(row[0], *self.objects.decode_state(row[1], location=f"run {key}"))

    def evict(self, run_id: int) -> str:
        """Delete the state of a run, but not its key; return the key.

        A state that is no run (a job event) is deleted completely: if it arrives again, it states the same and is deleted
        again.
        """
        key = self.key_of(run_id)
        query = _EVICT_RUN if key.startswith(RUN_URN_PREFIX) else "DELETE FROM run WHERE id = ?"
        self._connection.execute(query, (run_id,))
        self._records.pop(key, None)
        return key

    def touch(self, run_id: int, named_at: int, now: int) -> None:
        """Record that another run named a run at ``named_at``; the facts of its state are in use ``now``."""
        record = self.record_by_id(run_id)
        data = self.objects.encode_state(record.state, record.contribution, now)
        self._connection.execute("UPDATE run SET state = ?, touched = ? WHERE id = ?", (data, named_at, run_id))

    def ensure_record(self, state: RunState) -> StoredRun:
        """Return the record of a run, with the row number that a new run will have."""
        record = self._records.get(state.key)
        if record is None:
            if not self._new_keys:
                (last_id,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM run").fetchone()
                self._next_id = int(last_id) + 1
            run_id = self._next_id + len(self._new_keys)
            self._new_keys[run_id] = state.key
            record = StoredRun(run_id, state, {})
            self._cache(state.key, record)
        return record

    def save(self, now: int, *, is_rerender: bool = False) -> None:
        """Write the states of this batch, and close the batch; ``now`` in milliseconds.

        ``is_rerender``: no event named the runs, so they do not count as touched.
        """
        rows = []
        for key, state in self.items():
            record = self._records.get(key)
            if record is not None:
                data = self.objects.encode_state(state, record.contribution, now)
                job, end = _job_hash(state), _end_time(state)
                rows.append((record.run_id, key, data, job, end, _may_have_failed(state), now))
        self._connection.executemany(_WRITE_RERENDERED_RUN if is_rerender else _WRITE_RUN, rows)
        self._new_keys.clear()
        self.clear()
        self.evicted.clear()
        while len(self._records) > _MAX_CACHED_RUNS:
            self._records.popitem(last=False)
        self.objects.trim_cache()

    def clear_cache(self) -> None:
        """Clear the caches: another process has written to the file, or a batch was rolled back."""
        self.clear()
        self.evicted.clear()
        self._new_keys.clear()
        self._records.clear()
        self.objects.clear_cache()

    def _cache(self, key: str, record: StoredRun) -> None:
        self._records[key] = record


def _job_hash(state: RunState) -> bytes | None:
    """Return the key of a run's job, None if no job is known."""
    job = state.job()
    return blake2b(job.job_urn.encode(), digest_size=8).digest() if job is not None else None


def _may_have_failed(state: RunState) -> bool:
    """Return whether an event says that a run failed; a setting decides whether an aborted run did."""
    return any(event_type in _FAILED_TYPES for _, event_type in state.events)


def _end_time(state: RunState) -> int | None:
    """Return the time of the last terminal event in microseconds, None for an open run; a job event is complete at once."""
    ends = [version[0] for version, event_type in state.events if event_type in TERMINAL_TYPES or not state.urn]
    return max(ends, default=None)
