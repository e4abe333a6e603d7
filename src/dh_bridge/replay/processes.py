"""The plain loop over several processes: one reads and delivers, the others translate; ``dh-bridge emit --processes N``."""

from __future__ import annotations

import gc
import multiprocessing
from itertools import islice
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any, cast
from zlib import crc32

from dh_bridge.bridge import Bridge
from dh_bridge.call import Counts, Translation
from dh_bridge.errors import BridgeError
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.replay.entities import Entities, gather
from dh_bridge.replay.families import refuse
from dh_bridge.replay.records import Record, record
from dh_bridge.replay.runs import Run, Runs
from dh_bridge.translation.fold import merge
from dh_bridge.translation.packing import packed, unpacked
from dh_bridge.translation.redaction import redaction
from dh_bridge.window import Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.replay.entities import Piece
    from dh_bridge.settings import Settings
    from dh_bridge.translation.fold import Cells

CHUNK = 200
"""Records that go to a worker at once."""
AHEAD = 3
"""Chunks that a worker may have before it has answered."""
HELD = 50_000_000
"""Bytes, packed, of entities that are held to be folded across runs (unpacked 3.5 times that); the older half is written
when there are more."""

Reply = tuple[list[Run], list["tuple[str, str, bytes]"], list[DeadLetter], Any]


def translations(
    items: Iterable[Event | DeadLetter], settings: Settings, processes: int, *, window: int | None = -1
) -> Iterator[Translation]:
    """Yield translations of the events, made by ``processes`` workers beside this one, which reads and folds what runs share.

    The end is that of ``Bridge(settings).stream(items)``: every run goes to one worker by its key, and what runs share is
    written once, after all runs, or when more than ``HELD`` bytes of it wait. ``window`` as there, for each worker.
    """
    refuse(settings)
    bridge = Bridge(settings)
    size = settings.window if window == -1 else window
    team = [_Worker(settings, None if size is None else max(size // processes, 1)) for _ in range(processes)]
    shared = _Shared(bridge)
    try:
        yield from _fed(items, bridge, team, shared)
        told = [reply for worker in team for reply in worker.finish()]
        for reply in told:
            yield from shared.taken(reply)
        witnesses = [one for worker in team for one in worker.witnesses()]
        for worker in team:
            worker.send(witnesses)
        for worker in team:
            for reply in worker.finish():
                yield from shared.taken(reply)
        yield from shared.written(0)
    finally:
        for worker in team:
            worker.stop()


def _fed(
    items: Iterable[Event | DeadLetter], bridge: Bridge, team: list[_Worker], shared: _Shared
) -> Iterator[Translation]:
    chunks: list[list[Record]] = [[] for _ in team]
    for item in items:
        if isinstance(item, DeadLetter):
            yield Translation([], [item], [], Counts(dead=1), None)
            continue
        found = record(item, bridge.options)
        number = crc32(found.key.encode("utf-8", "surrogatepass")) % len(team)
        chunks[number].append(found)
        if len(chunks[number]) >= CHUNK:
            while team[number].waiting >= AHEAD:
                for worker in _ready(team):
                    yield from shared.taken(worker.reply())
            team[number].send(chunks[number])
            chunks[number] = []
    for worker, chunk in zip(team, chunks, strict=True):
        worker.send(chunk)
        worker.send(None)


def _ready(team: list[_Worker]) -> list[_Worker]:
    by_end = {worker.answers: worker for worker in team if worker.waiting}
    return [by_end[cast("Connection", end)] for end in wait(list(by_end))]


class _Worker:
    """A process and the ways to and from it; ``waiting`` counts what it has not answered yet."""

    def __init__(self, settings: Settings, window: int | None) -> None:
        spawn = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
        self.answers, theirs = spawn.Pipe(duplex=False)
        self._tasks: multiprocessing.Queue[Any] = spawn.Queue()
        self._process: BaseProcess = spawn.Process(
            target=_work, args=(settings, window, self._tasks, theirs), daemon=True
        )
        self._process.start()
        theirs.close()
        self.waiting = 0

    def send(self, task: Any) -> None:
        """Send a chunk of records, None for the end of them, or the witnesses of all workers."""
        self._tasks.put(task)
        self.waiting += 1

    def reply(self) -> Any:
        """Return the next answer."""
        try:
            found = self.answers.recv()
        except EOFError:
            raise BridgeError(
                "a worker ended before its work did", where="--processes", now="more memory, or fewer processes"
            ) from None
        self.waiting -= 1
        return found

    def finish(self) -> Iterator[Reply]:
        """Yield the answers that are outstanding; that to the end of the records is kept for :meth:`witnesses`."""
        while self.waiting:
            found = self.reply()
            if isinstance(found, tuple):
                yield found
            else:
                self._told = found

    def witnesses(self) -> list[bytes]:
        """Return what this worker's runs say of others; known after :meth:`finish`."""
        return list(self._told)

    def stop(self) -> None:
        """End the process, which may be at work when the door gives up."""
        self._process.terminate()
        self._process.join()
        self._tasks.cancel_join_thread()
        self._tasks.close()
        self.answers.close()


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
        if proposals or dead or counts.events or rejected:
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


# -- the worker's side ---------------------------------------------------------------------------------------------------


def _work(settings: Settings, window: int | None, tasks: multiprocessing.Queue[Any], answers: Connection) -> None:
    """Translate chunks until they end, tell what the open runs say of others, then close them with what all say."""
    gc.set_threshold(100_000, 50, 50)  # as the command line (house.md)
    bridge = Bridge(settings)
    runs, pending = Runs(bridge.options, bridge.zone), Window(window)
    gc.freeze()
    with redaction(settings.redaction):
        while (chunk := tasks.get()) is not None:
            answers.send(_answer(runs, _translated(runs, pending, chunk)))
        answers.send([packed(told) for told in runs.witnesses()])
        answers.send(_answer(runs, runs.ended(tasks.get())))
    answers.close()


def _translated(runs: Runs, pending: Window, chunk: list[Record]) -> Iterator[Run | Piece | DeadLetter]:
    for found in chunk:
        folded = runs.fold(found)
        if isinstance(folded, DeadLetter):
            yield folded
        elif folded is not None and (due := pending.saw(*folded)):
            yield from runs.closed_alone(due)


def _answer(runs: Runs, found: Iterator[Run | Piece | DeadLetter]) -> Reply:
    closed: list[Run] = []
    pieces: list[tuple[str, str, bytes]] = []
    dead: list[DeadLetter] = []
    for one in found:
        if isinstance(one, Run):
            closed.append(one)
        elif isinstance(one, DeadLetter):
            dead.append(one)
        else:
            pieces.append((one[0], one[1], packed(one[2])))
    counts, runs.counts = runs.counts, Counts()
    rejected, runs.rejected = runs.rejected, []
    counts.rejected = len(rejected)
    return closed, pieces, dead, (counts, rejected)
