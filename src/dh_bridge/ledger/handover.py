"""Which run handed data down to which, across batches: `translation/runs/handing_down.py` over all runs that are kept.

A table knows when which run read and wrote what. A run that comes, or says more, changes those that read after it, until
others write. What a run wrote that is let go stays for as long as a run is kept that took over from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.ledger.writers import Row, Writers, hashed
from dh_bridge.translation.runs.handing_down import reads_of, tell_upstream, winners, writes_of
from dh_bridge.translation.runs.writers import Write

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from dh_bridge.ledger.heritage import Heritage
    from dh_bridge.ledger.runs import Runs
    from dh_bridge.settings import RunSettings
    from dh_bridge.translation.runs.history import History
    from dh_bridge.translation.runs.writers import Read
    from dh_bridge.translation.runstate import RunState

_KNOWN = "SELECT dataset, wrote, job, first, last, version FROM handed WHERE run = ?"
_PUT = "INSERT INTO handed (run, dataset, wrote, job, first, last, version) VALUES (?, ?, ?, ?, ?, ?, ?)"
_READERS = "SELECT run FROM handed WHERE dataset = ? AND wrote = 0 AND last >= ? AND last <= ?"
_EXACT_READERS = "SELECT run FROM handed WHERE dataset = ? AND version = ? AND wrote = 0"
_READ = "SELECT dataset, wrote, job, first, last, version FROM handed WHERE run = ? AND dataset = ? AND wrote = 0"
_MOST = 100
"""Readers of what a run wrote that is let go: where there are more, one of them is taken to need it."""


class HandOver:
    """What runs read and wrote; the caller owns the transactions."""

    def __init__(self, connection: sqlite3.Connection, runs: Runs, heritage: Heritage, settings: RunSettings) -> None:
        self._connection = connection
        self._runs = runs
        self._heritage = heritage
        self._settings = settings

    def note(self, number: int, state: RunState, history: History, *, carried: bool) -> set[Row]:
        """Remember what a settled run read and wrote; return what of it is new, or is so no more.

        ``carried``: another run has it, and this one is not written.
        """
        new = set() if carried else set(_rows(state, history))
        old = {Row(*row) for row in self._connection.execute(_KNOWN, (number,))}
        if new == old:
            return set()
        self._connection.execute("DELETE FROM handed WHERE run = ?", (number,))
        self._connection.executemany(_PUT, ((number, *row) for row in new))
        return old ^ new

    def readers(self, changed: Iterable[Row]) -> set[str]:
        """Return the keys of the runs that may have read what changed, as it was noted."""
        writers = self._writers()
        return {writers.key(number) for number in self._readers(changed, writers)}

    def _readers(self, changed: Iterable[Row], writers: Writers) -> set[int]:
        """Return the runs that read while what changed counts: of a stream that went on, after it was seen last."""
        spans: dict[tuple[Any, ...], list[int]] = {}
        for row in changed:
            if row.wrote:
                spans.setdefault((row.dataset, row.first, row.job, row.version), []).append(row.last)
        found: set[int] = set()
        for (dataset, first, _, _), lasts in spans.items():
            since, last = min(lasts) if len(lasts) > 1 else first, max(lasts)
            until, others = writers.newer(dataset, last)
            found |= self._numbers(_READERS, dataset, since - writers.skew, min(last + writers.window, until - 1))
            states = [state for urn in others if (state := self._heritage.state(urn)) is not None]
            found |= {self._runs.kept(state).number for state in states}
        for dataset, version in {(dataset, version) for dataset, _, _, version in spans if version is not None}:
            found |= self._numbers(_EXACT_READERS, dataset, version)
        return found

    def tell(self, done: Iterable[tuple[RunState, History]]) -> None:
        """Fold into settled runs the runs that they take over from."""
        writers = self._writers()

        def written(read: Read) -> Iterator[Write]:
            row = _read(read)
            for number, one in writers.of(read.run, row):
                job = read.job if one.job == row.job else one.job.hex()
                yield Write(read.dataset, writers.key(number), job, one.first, one.last, one.version)

        for state, history in done:
            found = (winners(read, written(read), writers.above, self._settings) for read in reads_of(state, history))
            tell_upstream(state, found)

    def _writers(self) -> Writers:
        return Writers(self._connection, self._runs, self._heritage, self._settings)

    def let_go(self, number: int) -> None:
        """Forget a run that was let go, but for what it wrote and others need, and what others wrote and only this one needed."""
        rows = [Row(*row) for row in self._connection.execute(_KNOWN, (number,))]
        self._connection.execute("DELETE FROM handed WHERE run = ? AND wrote = 0", (number,))
        writers = self._writers()
        written = {(number, row) for row in rows if row.wrote}
        for read in rows:
            if not read.wrote:
                written.update(writers.of(writers.key(number), read))
        for writer, row in sorted(written):
            if self._is_gone(writer) and not self._is_needed(writer, row, writers):
                self._connection.execute("DELETE FROM handed WHERE run = ? AND dataset = ?", (writer, row.dataset))
                self._heritage.release(writers.key(writer))

    def _is_gone(self, number: int) -> bool:
        (gone,) = self._connection.execute("SELECT state IS NULL FROM run WHERE id = ?", (number,)).fetchone()
        return bool(gone)

    def _is_needed(self, writer: int, row: Row, writers: Writers) -> bool:
        """Whether a run that is kept took over from a writer, or may have."""
        readers = self._readers([row], writers)
        if len(readers) > _MOST:
            return True
        for number in readers:
            for read in self._connection.execute(_READ, (number, row.dataset)).fetchall():
                if any(one == writer for one, _ in writers.of(writers.key(number), Row(*read))):
                    return True
        return False

    def _numbers(self, query: str, *values: Any) -> set[int]:
        return {number for (number,) in self._connection.execute(query, values)}


def _rows(state: RunState, history: History) -> Iterator[Row]:
    for write in writes_of(state, history):
        yield Row(hashed(write.dataset), 1, hashed(write.job), write.first, write.last, write.version)
    yield from map(_read, reads_of(state, history))


def _read(read: Read) -> Row:
    return Row(hashed(read.dataset), 0, hashed(read.job), read.time, read.time, read.version)
