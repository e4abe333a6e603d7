"""The states of runs: those that a batch works on, those that are still in memory, and the rest in the file."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING

from dh_bridge.ledger.facts import Facts
from dh_bridge.openlineage.events import TERMINAL
from dh_bridge.translation.runs.other_runs import RUN
from dh_bridge.translation.runstate import RunState

if TYPE_CHECKING:
    import sqlite3

    from dh_bridge.translation.fold import Cells

_REMEMBERED = 2_000
_WRITE = """
    INSERT INTO run (id, key, state, job, ended, touched) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET state = excluded.state, job = excluded.job, ended = excluded.ended, touched = excluded.touched
"""
_LET_GO = "UPDATE run SET state = NULL WHERE id = ?"
_WRITE_QUIETLY = _WRITE.replace(", touched = excluded.touched", "")


class Record:
    """A run of the ledger: the number of its row, its state, and what it contributes to what many runs share."""

    __slots__ = ("contribution", "number", "state")

    def __init__(self, number: int, state: RunState, contribution: Cells) -> None:
        self.number = number
        self.state = state
        self.contribution = contribution


class Runs(dict[str, RunState]):
    """The states that the events of a batch fold into, by key; ``get`` finds what earlier batches left in the file.

    A job event is a state of its own, complete at once: it is mostly not kept, for what it says is in what runs share.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._connection = connection
        self._records: OrderedDict[str, Record] = OrderedDict()
        #: runs that get a row with this batch: number -> key
        self._new: dict[int, str] = {}
        self._next = 1
        self.facts = Facts(connection)
        #: runs of which the ledger remembers only that they were there
        self.evicted: set[str] = set()

    def get(self, key: str, default: RunState | None = None) -> RunState | None:  # type: ignore[override]
        """Return the state of a run that is open in this batch, or that the file has."""
        found = super().get(key)
        if found is not None:
            return found
        record = self.record(key)
        if record is None:
            return default
        self[key] = record.state
        return record.state

    def record(self, key: str) -> Record | None:
        """Return a run that is kept, None for a new one and for one that was evicted."""
        record = self._records.get(key)
        if record is not None:
            self._records.move_to_end(key)
            return record
        record = self._stored(key)
        if record is not None:
            self._remember(key, record)
        return record

    def known(self, key: str) -> bool:
        """Whether the run has had events of its own, kept or not."""
        return key in self or self.record(key) is not None or key in self.evicted

    @property
    def new(self) -> set[str]:
        """The keys of the runs that the ledger did not know before this batch, or that it forgot (``dh-bridge prune``)."""
        return set(self._new.values())

    def key(self, number: int) -> str:
        """Return the key of a run by the number of its row, which a new run gets when the batch is saved."""
        key = self._new.get(number)
        if key is None:
            (key,) = self._connection.execute("SELECT key FROM run WHERE id = ?", (number,)).fetchone()
        return str(key)

    def by_number(self, number: int) -> Record:
        """Return a run that is known to be kept, by the number of its row."""
        key = self.key(number)
        found = self.record(key)
        if found is None:
            raise LookupError(f"run {key} is not kept")
        return found

    def contribution(self, number: int) -> Cells:
        """Return what a run that is known to be kept contributes; it is not remembered, as many may be asked for."""
        key = self.key(number)
        found = self._records.get(key)
        if found is None:
            found = self._stored(key)
        if found is None:
            raise LookupError(f"run {key} is not kept")
        return found.contribution

    def _stored(self, key: str) -> Record | None:
        row = self._connection.execute("SELECT id, state FROM run WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if row[1] is None:
            self.evicted.add(key)
            return None
        return Record(row[0], *self.facts.decoded(row[1], where=f"run {key}"))

    def evict(self, number: int) -> str:
        """Forget the state of a run, not that it was there; return its key.

        What is no run goes altogether: told again, it says what it said, and is let go of once more.
        """
        key = self.key(number)
        gone = _LET_GO if key.startswith(RUN) else "DELETE FROM run WHERE id = ?"
        self._connection.execute(gone, (number,))
        self._records.pop(key, None)
        return key

    def renew(self, number: int, touched: int, now: int) -> None:
        """Note that a run was told of at ``touched``, by another run; what its state names is of use ``now``."""
        record = self.by_number(number)
        data = self.facts.encoded(record.state, record.contribution, now)
        self._connection.execute("UPDATE run SET state = ?, touched = ? WHERE id = ?", (data, touched, number))

    def kept(self, state: RunState) -> Record:
        """Return the record of a run, with the number of the row that a new run will have."""
        record = self._records.get(state.key)
        if record is None:
            if not self._new:
                (last,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM run").fetchone()
                self._next = int(last) + 1
            number = self._next + len(self._new)
            self._new[number] = state.key
            record = Record(number, state, {})
            self._remember(state.key, record)
        return record

    def save(self, now: int, *, quiet: bool = False) -> None:
        """Write the states of this batch, and close the batch; ``now`` in milliseconds.

        ``quiet``: there was no news of them, so they do not count as touched.
        """
        rows = []
        for key, state in self.items():
            record = self._records.get(key)
            if record is not None:
                data = self.facts.encoded(state, record.contribution, now)
                rows.append((record.number, key, data, _job(state), _ended(state), now))
        self._connection.executemany(_WRITE_QUIETLY if quiet else _WRITE, rows)
        self._new.clear()
        self.clear()
        self.evicted.clear()
        while len(self._records) > _REMEMBERED:
            self._records.popitem(last=False)
        self.facts.trim()

    def forget(self) -> None:
        """Drop all that is in memory: another process has written to the file, or a batch was rolled back."""
        self.clear()
        self.evicted.clear()
        self._new.clear()
        self._records.clear()
        self.facts.forget()

    def _remember(self, key: str, record: Record) -> None:
        self._records[key] = record


def _job(state: RunState) -> bytes | None:
    """Return what tells the runs of one job from those of others, None for a run of which no job is known."""
    job = state.job()
    return blake2b(job.job_urn.encode(), digest_size=8).digest() if job is not None else None


def _ended(state: RunState) -> int | None:
    """Return the time of the last terminal event in microseconds, None for an open run; what is no run is complete at once."""
    ends = [stamp[0] for stamp, word in state.events if word in TERMINAL or not state.urn]
    return max(ends, default=None)
