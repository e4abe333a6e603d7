"""Which run handed data down to which, across batches: `translation/handing_down.py` over all runs that are kept.

A table knows when which run read and wrote what. A run that comes, or says more, changes those that read after it.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.translation.handing_down import Write, parent_of, reads_of, tell_upstream, winners, writes_of

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from dh_bridge.ledger.heritage import Heritage
    from dh_bridge.ledger.runs import Runs
    from dh_bridge.settings import RunSettings
    from dh_bridge.translation.handing_down import Read
    from dh_bridge.translation.history import History
    from dh_bridge.translation.runstate import RunState

_DAY, _SECOND = 86_400_000_000, 1_000_000
_MOST = 1_000
"""Runs that wrote a dataset within the window and are looked at for one reader, the last ones first."""
_KNOWN = "SELECT dataset, wrote, job, first, last, version FROM handed WHERE run = ?"
_PUT = "INSERT INTO handed (run, dataset, wrote, job, first, last, version) VALUES (?, ?, ?, ?, ?, ?, ?)"
_WRITERS = """
    SELECT run, job, first, last, version FROM handed WHERE dataset = ? AND wrote = 1 AND last >= ? AND first <= ? ORDER BY last DESC, run LIMIT ?
"""
_EXACT_WRITERS = """
    SELECT run, job, first, last, version FROM handed WHERE dataset = ? AND wrote = 1 AND version = ? ORDER BY last DESC, run LIMIT ?
"""
_READERS = """
    SELECT run FROM handed WHERE dataset = ? AND wrote = 0 AND last >= ? AND last <= ?
"""
_EXACT_READERS = """
    SELECT run FROM handed WHERE dataset = ? AND wrote = 0 AND version = ?
"""


class _Row(NamedTuple):
    """That a run read (``first`` = ``last``: when) or wrote a dataset; dataset and job are hashes."""

    dataset: bytes
    wrote: int
    job: bytes
    first: int
    last: int
    version: str | None


class HandOver:
    """What runs read and wrote; the caller owns the transactions."""

    def __init__(self, connection: sqlite3.Connection, runs: Runs, heritage: Heritage, settings: RunSettings) -> None:
        self._connection = connection
        self._runs = runs
        self._heritage = heritage
        self._settings = settings
        self._skew = settings.upstream_skew_seconds * _SECOND
        self._window = settings.upstream_window_days * _DAY

    def note(self, number: int, state: RunState, history: History, *, carried: bool) -> set[str]:
        """Remember what a settled run read and wrote; return the keys of the runs that may have read what is new of it.

        ``carried``: another run has it, and this one is not written.
        """
        new = set() if carried else set(_rows(state, history))
        old = {_Row(*row) for row in self._connection.execute(_KNOWN, (number,))}
        if new == old:
            return set()
        self._connection.execute("DELETE FROM handed WHERE run = ?", (number,))
        self._connection.executemany(_PUT, ((number, *row) for row in new))
        return set(self._readers(old ^ new))

    def tell(self, state: RunState, history: History) -> None:
        """Fold into a settled run the runs that it takes over from."""
        found = (winners(read, self._writers(read), self._above, self._settings) for read in reads_of(state, history))
        tell_upstream(state, found)

    def _readers(self, writes: Iterable[_Row]) -> Iterator[str]:
        """Yield the runs that read while what changed of these counts: of a stream that went on, after it was seen last."""
        spans: dict[tuple[Any, ...], list[int]] = {}
        for row in writes:
            if row.wrote:
                spans.setdefault((row.dataset, row.first, row.job, row.version), []).append(row.last)
        for (dataset, first, _, version), lasts in spans.items():
            since = min(lasts) if len(lasts) > 1 else first
            span = (dataset, since - self._skew, max(lasts) + self._window)
            found = self._connection.execute(_READERS, span).fetchall()
            if version is not None:
                found += self._connection.execute(_EXACT_READERS, (dataset, version)).fetchall()
            yield from (self._runs.key(number) for (number,) in found)

    def _writers(self, read: Read) -> Iterator[Write]:
        dataset, limit = _hash(read.dataset), read.time + self._skew
        rows = self._connection.execute(_WRITERS, (dataset, limit - self._window, limit, _MOST)).fetchall()
        if read.version is not None:
            rows += self._connection.execute(_EXACT_WRITERS, (dataset, read.version, _MOST)).fetchall()
        for number, job, first, last, version in dict.fromkeys(rows):
            known = read.job if job == _hash(read.job) else job.hex()
            yield Write(read.dataset, self._runs.key(number), known, first, last, version)

    def _above(self, run: str) -> str | None:
        state = self._heritage.state(run)
        return None if state is None else parent_of(state)


def _rows(state: RunState, history: History) -> Iterator[_Row]:
    for write in writes_of(state, history):
        yield _Row(_hash(write.dataset), 1, _hash(write.job), write.first, write.last, write.version)
    for read in reads_of(state, history):
        yield _Row(_hash(read.dataset), 0, _hash(read.job), read.time, read.time, read.version)


def _hash(urn: str) -> bytes:
    return blake2b(urn.encode(), digest_size=8).digest()
