"""Who may have handed a dataset down to a reader: the newest writers first, and no more of them than it takes to know.

However often a dataset was written, a reader costs as much. What is asked for twice is remembered, so this is good for as long
as nothing about the runs changes.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.translation.runs.handing_down import MOST_TIED, ancestors

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from dh_bridge.ledger.heritage import Heritage
    from dh_bridge.ledger.runs import Runs
    from dh_bridge.settings import RunSettings

_DAY, _SECOND = 86_400_000_000, 1_000_000
_MOST = 1_000
"""Runs that wrote a dataset within the window and are looked at for one reader, the last ones first."""
_LOOKS = 20
"""Newer writers that are looked at for two beside which an older one counts no more."""
ENDLESS = 1 << 62
_ENDED = """
    SELECT run, dataset, wrote, job, first, last, version FROM handed WHERE dataset = ? AND wrote = 1 AND last >= ? AND last <= ?
    ORDER BY last DESC, run DESC LIMIT ?
"""
_GOING_ON = """
    SELECT run, dataset, wrote, job, first, last, version FROM handed INDEXED BY handed_span
    WHERE dataset = ?1 AND wrote = 1 AND first < last AND last > ?2 AND first <= ?2 ORDER BY last, run LIMIT ?3
"""
_EXACT = """
    SELECT run, dataset, wrote, job, first, last, version FROM handed WHERE dataset = ? AND version = ? AND wrote = 1
    ORDER BY last DESC, run DESC LIMIT ?
"""
_NEWER = "SELECT run, first FROM handed WHERE dataset = ? AND wrote = 1 AND last > ? ORDER BY last, run LIMIT ?"


class Row(NamedTuple):
    """That a run read (``first`` = ``last``: when) or wrote a dataset; dataset and job are hashes."""

    dataset: bytes
    wrote: int
    job: bytes
    first: int
    last: int
    version: str | None


class Writers:
    """The runs that wrote datasets, by what `HandOver` noted of them."""

    def __init__(self, connection: sqlite3.Connection, runs: Runs, heritage: Heritage, settings: RunSettings) -> None:
        self._connection = connection
        self._runs = runs
        self._heritage = heritage
        self._settings = settings
        #: microseconds that clocks may differ, and that what was written counts
        self.skew = settings.upstream_skew_seconds * _SECOND
        self.window = settings.upstream_window_days * _DAY
        self._keys: dict[int, str] = {}
        self._parents: dict[str, str | None] = {}
        self._exact: dict[tuple[bytes, str], list[tuple[int, Row]]] = {}

    def of(self, reader: str, read: Row) -> list[tuple[int, Row]]:
        """Return the writers, by number, among which are all that handed down to a run what it ``read``."""
        inside = {reader, *ancestors(reader, self.above)}

        def may(number: int) -> bool:
            run = self.key(number)
            return run not in inside and reader not in ancestors(run, self.above)

        found: list[tuple[int, Row]] = []
        others = 0
        for number, row in self._of_version(read.dataset, read.version):
            other = self._settings.upstream_self_edges or read.job == _NO_JOB or row.job != read.job
            if (other or not found) and may(number):
                found.append((number, row))
                others += other
                if others == MOST_TIED:
                    break
        if found:
            return found
        newest = 0
        for number, row in self._by(read.dataset, read.last + self.skew):
            if row.last < newest:
                break
            time = min(row.last, max(row.first, read.last))
            if time >= newest and may(number):
                newest = time
                found.append((number, row))
        return found

    def newer(self, dataset: bytes, last: int) -> tuple[int, set[str]]:
        """Return the time from which on what was written ``last`` counts for no reader, but for some, whose URNs these are.

        Of two newer writers neither of which is above the other, one counts for every run that is not above both.
        """
        seen: list[tuple[str, set[str], int]] = []
        for number, first in self._connection.execute(_NEWER, (dataset, last, _LOOKS)).fetchall():
            run, time = self.key(number), max(first, last + 1)
            line = {run, *ancestors(run, self.above)}
            for other, others, when in seen:
                if run not in others and other not in line:
                    return max(time, when), line & others
            seen.append((run, line, time))
        return ENDLESS, set()

    def key(self, number: int) -> str:
        """Return the key of a run by its number."""
        found = self._keys.get(number)
        if found is None:
            found = self._keys[number] = self._runs.key(number)
        return found

    def above(self, run: str) -> str | None:
        """Return the URN of the run above one."""
        if run not in self._parents:
            self._parents[run] = self._heritage.parent(run)
        return self._parents[run]

    def _by(self, dataset: bytes, limit: int) -> Iterator[tuple[int, Row]]:
        """Return the writers by a time: those that went on, then those that ended by then, the last ones first."""
        execute = self._connection.execute
        ended = (dataset, limit - self.window, limit, _MOST)
        rows = chain(execute(_GOING_ON, (dataset, limit, _MOST)).fetchall(), execute(_ENDED, ended))
        return ((number, Row(*row)) for number, *row in rows)

    def _of_version(self, dataset: bytes, version: str | None) -> list[tuple[int, Row]]:
        """Return the writers of a version of a dataset, by URN."""
        if version is None:
            return []
        found = self._exact.get((dataset, version))
        if found is None:
            rows = self._connection.execute(_EXACT, (dataset, version, _MOST)).fetchall()
            found = sorted(((number, Row(*row)) for number, *row in rows), key=lambda one: self.key(one[0]))
            self._exact[dataset, version] = found
        return found


def hashed(urn: str) -> bytes:
    """Return what stands for an URN in the table."""
    return blake2b(urn.encode(), digest_size=8).digest()


_NO_JOB = hashed("")
