"""The plain loop over several processes: one reads and delivers, the others translate; ``dh-bridge emit --processes N``.

The window is that of the whole input: the reader counts, and at its end each worker holds back those of its runs that are
due. They close when the reader has told every worker what the due runs of all say of others, as in one process.
"""

from __future__ import annotations

from itertools import islice
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, cast
from zlib import crc32

from dh_bridge.bridge import Bridge
from dh_bridge.call import Counts, Translation
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.replay.entities import Entities, gather
from dh_bridge.replay.families import refuse
from dh_bridge.replay.records import Record, record
from dh_bridge.replay.workers import CLOSE, END, FOLD, HEAR, Worker
from dh_bridge.translation.fold import merge
from dh_bridge.translation.packing import unpacked
from dh_bridge.window import Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing.connection import Connection

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.replay.workers import Reply
    from dh_bridge.settings import Settings
    from dh_bridge.translation.fold import Cells

CHUNK = 200
"""Records that go to a worker at once."""
AHEAD = 3
"""Chunks that a worker may have before it has answered."""
HELD = 50_000_000
"""Bytes, packed, of entities that are held to be folded across runs (unpacked 3.5 times that); the older half is written
when there are more."""


def translations(
    items: Iterable[Event | DeadLetter], settings: Settings, processes: int, *, window: int | None = -1
) -> Iterator[Translation]:
    """Yield translations of the events, made by ``processes`` workers beside this one, which reads and folds what runs share.

    The end is that of ``Bridge(settings).stream(items)``: every run goes to one worker by its key, runs close when they do
    there and hear what others say that close with them, and what runs share is written once, after all runs, or when more
    than ``HELD`` bytes of it wait. ``window`` as there.
    """
    refuse(settings)
    bridge = Bridge(settings)
    team = _Team(settings, processes, _Shared(bridge))
    options = bridge.options
    pending, filters = Window(settings.window if window == -1 else window), options.filters.anew()
    try:
        for item in items:
            if isinstance(item, DeadLetter):
                yield Translation([], [item], [], Counts(dead=1), None)
                continue
            yield from team.take(record(item, options))
            if filters.event(item) is None and options.refusal(item) is None and pending.full(len(item.raw)):
                yield from team.close()
        yield from team.end()
    finally:
        team.stop()


class _Team:
    """The workers, what is on its way to them, and what they said of the runs that are due."""

    def __init__(self, settings: Settings, processes: int, shared: _Shared) -> None:
        self._workers = [Worker(settings) for _ in range(processes)]
        self._chunks: list[list[Record]] = [[] for _ in self._workers]
        self._shared = shared
        self._closing = 0  # workers that have not yet said what their due runs say of others
        self._told: list[bytes] = []

    def take(self, found: Record) -> Iterator[Translation]:
        """Give a record to the worker of its run; yield what workers answer meanwhile, when one has enough to do."""
        number = crc32(found.key.encode("utf-8", "surrogatepass")) % len(self._workers)
        self._chunks[number].append(found)
        if len(self._chunks[number]) >= CHUNK:
            while self._workers[number].waiting >= AHEAD:
                yield from self._answered()
            self._send(number)

    def close(self, *, everything: bool = False) -> Iterator[Translation]:
        """Let the runs close that are due, or all, once those of the window before have: no more than two are held."""
        while self._closing:
            yield from self._answered()
        self._closing = len(self._workers)
        for number, worker in enumerate(self._workers):
            self._send(number)
            worker.send(CLOSE, everything)

    def end(self) -> Iterator[Translation]:
        """Close all runs, and write what they share."""
        yield from self.close(everything=True)
        while self._closing:
            yield from self._answered()
        for worker in self._workers:
            worker.send(END, None)
        while any(worker.waiting for worker in self._workers):
            yield from self._answered()
        yield from self._shared.written(0)

    def stop(self) -> None:
        """End the processes, which may be at work when the door gives up."""
        for worker in self._workers:
            worker.stop()

    def _send(self, number: int) -> None:
        chunk, self._chunks[number] = self._chunks[number], []
        if chunk:
            self._workers[number].send(FOLD, chunk)

    def _answered(self) -> Iterator[Translation]:
        """Wait for answers; yield the translations, and pass on what runs say of others when all workers have told it."""
        by_end = {worker.answers: worker for worker in self._workers if worker.waiting}
        for end in wait(list(by_end)):
            reply = by_end[cast("Connection", end)].reply()
            if isinstance(reply, tuple):
                yield from self._shared.taken(reply)
                continue
            self._told += reply
            self._closing -= 1
            if not self._closing:
                told, self._told = self._told, []
                for worker in self._workers:
                    worker.send(HEAR, told)


class _Shared:
    """What runs share, from all workers: folded here, and rendered when the input ends."""

    def __init__(self, bridge: Bridge) -> None:
        self._entities = Entities(bridge.options)
        self._groups: dict[str, Cells] = {}
        #: bytes of each group's largest piece, and of all of them: pieces of an entity say nearly the same
        self._sizes: dict[str, int] = {}
        self._size = 0

    def taken(self, reply: Reply) -> Iterator[Translation]:
        """Yield the translation of a worker's answer, and fold its pieces."""
        runs, pieces, dead, (counts, rejected) = reply
        proposals = [proposal for run in runs for proposal in run.proposals]
        counts.proposals = len(proposals)
        if dead or counts != Counts():
            yield Translation(proposals, dead, rejected, counts, None)
        for group, urn, data in pieces:
            cells = self._groups.pop(group, None)
            self._groups[group] = cells if cells is not None else {}  # the last that was told of stands last
            merge(self._groups[group], gather([(urn, unpacked(data))]))
            if not self._groups[group]:
                self._groups[group] = {urn: {}}
            known = self._sizes.get(group, 0)
            self._sizes[group] = max(known, len(data))
            self._size += self._sizes[group] - known
        if self._size > HELD:
            yield from self.written(HELD // 2)

    def written(self, left: int) -> Iterator[Translation]:
        """Yield the translations of all groups but those that were told of last, ``left`` bytes."""
        while self._size > left:
            proposals: list[Proposal] = []
            for group in list(islice(self._groups, CHUNK)):
                proposals += self._entities.group(self._groups.pop(group))
                self._size -= self._sizes.pop(group)
                if self._size <= left:
                    break
            rejected, self._entities.rejected = self._entities.rejected, []
            counts, self._entities.counts = self._entities.counts, Counts()
            yield Translation(proposals, [], rejected, counts, None)
