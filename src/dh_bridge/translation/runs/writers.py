"""Who may have handed a dataset down to a reader, of all runs of a call: found without a look at each of them.

However many runs wrote a dataset, a reader costs as much, but for the runs that it is inside of or that are inside of it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from heapq import heappop, heappush
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    May = Callable[[str], bool]


class Write(NamedTuple):
    """That a run wrote a dataset: from ``first`` to ``last`` (microseconds; one moment for a batch)."""

    dataset: str
    run: str
    job: str
    first: int
    last: int
    version: str | None


class Read(NamedTuple):
    """That a run read a dataset, at ``time``."""

    dataset: str
    run: str
    job: str
    time: int
    version: str | None


class Writers:
    """The runs that wrote one dataset. ``skew``: microseconds that clocks may differ; ``most``: runs of one moment that count."""

    def __init__(self, writes: Iterable[Write], skew: int, most: int) -> None:
        self._writes = {write.run: write for write in writes}
        self._skew = skew
        self._ends: dict[int, Tied] = {}
        self._starts: dict[int, Tied] = {}
        self._versions: dict[str, Tied] = {}
        for write in self._writes.values():
            self._ends.setdefault(write.last, Tied(most)).add(write)
            if skew:
                self._starts.setdefault(write.first, Tied(most)).add(write)
            if write.version is not None:
                self._versions.setdefault(write.version, Tied(most)).add(write)
        self._ended, self._started = sorted(self._ends), sorted(self._starts)
        streams = [write for write in self._writes.values() if write.first < write.last]
        self._coming = sorted(streams, key=lambda write: write.first, reverse=True)
        self._going_on = Tied(most)
        self._until: list[tuple[int, str]] = []

    def of(self, read: Read, own: str | None, may: May) -> list[Write]:
        """Return writers among which are all that handed down what a run ``read``; reads come in the order of their times.

        ``own``: the job that hands nothing down to itself. ``may``: whether a run may hand anything down to the reader.
        """
        exact = self._versions.get(read.version) if read.version is not None else None
        found = exact.first(own, may) if exact is not None else []
        return [self._writes[run] for run in found or self._by_time(read.time, own, may)]

    def _by_time(self, time: int, own: str | None, may: May) -> list[str]:
        """Return the last ones: those that began after the read, as far as clocks may differ, else by the time of the read."""
        since, until = bisect_right(self._started, time), bisect_right(self._started, time + self._skew)
        for late in reversed(self._started[since:until]):
            if found := self._starts[late].first(own, may):
                return found
        self._go_on(time)
        found = self._going_on.first(own, may)
        position = bisect_right(self._ended, time) - 1
        if position >= 0 and self._ended[position] == time:
            found += self._ends[time].first(own, may)
            position -= 1
        while not found and position >= 0:
            found = self._ends[self._ended[position]].first(own, may)
            position -= 1
        return found

    def _go_on(self, time: int) -> None:
        """Let those streams count that began by ``time`` and went on after it."""
        while self._coming and self._coming[-1].first <= time:
            write = self._coming.pop()
            self._going_on.add(write)
            heappush(self._until, (write.last, write.run))
        while self._until and self._until[0][0] <= time:
            self._going_on.discard(self._writes[heappop(self._until)[1]])


class Tied:
    """Runs that wrote at one moment, by job: the first ones are known whichever job does not count. ``most`` of them count."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._runs: dict[str, list[str]] = {}
        self._heads: list[tuple[str, str]] = []

    def add(self, write: Write) -> None:
        """Add a run."""
        runs = self._runs.setdefault(write.job, [])
        head = runs[0] if runs else None
        insort(runs, write.run)
        self._moved(write.job, head)

    def discard(self, write: Write) -> None:
        """Take out a run that was added."""
        runs = self._runs[write.job]
        head = runs[0]
        del runs[bisect_left(runs, write.run)]
        self._moved(write.job, head)

    def _moved(self, job: str, before: str | None) -> None:
        """Put a job, of which the run ``before`` was the first, among the others again."""
        after = next(iter(self._runs[job]), None)
        if after == before:
            return
        if before is not None:
            del self._heads[bisect_left(self._heads, (before, job))]
        if after is not None:
            insort(self._heads, (after, job))

    def first(self, own: str | None, may: May) -> list[str]:
        """Return the first runs, by URN, of other jobs than ``own``; where there is none, one of its own."""
        found: list[str] = []
        for head, job in self._heads:
            if len(found) == self._most and found[-1] < head:
                break
            if job != own:
                found = sorted([*found, *self._of(job, may, self._most)])[: self._most]
        return found or (self._of(own, may, 1) if own is not None else [])

    def _of(self, job: str, may: May, most: int) -> list[str]:
        return list(islice(filter(may, self._runs.get(job, ())), most))
