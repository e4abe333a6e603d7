"""A worker of several processes: it folds the records of its runs and closes them when it is asked to (``processes``)."""

from __future__ import annotations

import gc
import multiprocessing
import signal
import threading
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from dh_bridge.bridge import Bridge
from dh_bridge.call import Counts
from dh_bridge.errors import BridgeError
from dh_bridge.memory import collect_rarely
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.replay.runs import Run, Runs
from dh_bridge.translation.packing import packed
from dh_bridge.translation.redaction import redaction
from dh_bridge.window import Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from dh_bridge.replay.entities import Piece
    from dh_bridge.replay.records import Record
    from dh_bridge.settings import Settings

FOLD, CLOSE, HEAR, END = "fold", "close", "hear", "end"
"""What a worker is asked to do: fold records; hold back the runs that are due (with True: all) and answer what they say of
others; close them with what the runs of all workers say; write what is left, and end."""

Reply = tuple[list[Run], list["tuple[str, str, bytes]"], list[DeadLetter], Any]


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Let a process that begins here never hear Ctrl-C, which a terminal sends to all: the reader hears it and ends them.

    It inherits the mask (bpo-33613); what comes meanwhile is heard afterwards.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # it would lift the mask when it begins
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Worker:
    """A process and the ways to and from it; ``waiting`` counts what it has not answered yet."""

    def __init__(self, settings: Settings) -> None:
        spawn = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
        self.answers, their_answers = spawn.Pipe(duplex=False)
        their_tasks, self._tasks = spawn.Pipe(duplex=False)
        self._process: BaseProcess = spawn.Process(
            target=_work, args=(settings, their_tasks, their_answers), daemon=True
        )
        with _no_interrupts():
            self._process.start()
        their_answers.close()  # an end that two hold does not tell that one of them is gone
        their_tasks.close()
        self.waiting = 0
        self._outgoing: SimpleQueue[tuple[str, Any] | None] = SimpleQueue()
        self._carrier = threading.Thread(target=self._carry, daemon=True)

    def send(self, order: str, load: Any) -> None:
        """Send one of FOLD, CLOSE, HEAR and END with what it is about."""
        if self._carrier.ident is None:  # not before all workers have begun: Ctrl-C would reach it, mask or not
            self._carrier.start()
        self._outgoing.put((order, load))
        self.waiting += 1

    def _carry(self) -> None:
        """Send what is to be sent: if both sides sent by themselves, each might wait for the other to take it."""
        with suppress(BrokenPipeError):  # the worker is gone; who waits for its answer tells
            while (task := self._outgoing.get()) is not None:
                self._tasks.send(task)
        self._tasks.close()

    def reply(self) -> Any:
        """Return the next answer: a list of what runs say of others to CLOSE, else a Reply."""
        try:
            found = self.answers.recv()
        except (EOFError, OSError):  # it may end in the midst of an answer
            raise BridgeError(
                "a worker ended before its work did", where="--processes", now="more memory, or fewer processes"
            ) from None
        self.waiting -= 1
        return found

    def stop(self) -> None:
        """End the process, whatever it is at."""
        self._outgoing.put(None)
        self._process.terminate()
        self._process.join()


# -- the worker's side ---------------------------------------------------------------------------------------------------


def _work(settings: Settings, tasks: Connection, answers: Connection) -> None:
    """Do what is asked until the end, which also comes when the reader is gone, killed perhaps."""
    collect_rarely()
    bridge = Bridge(settings)
    runs, pending = Runs(bridge.options, bridge.zone), Window(None)
    gc.freeze()
    order = ""
    with redaction(settings.redaction), suppress(EOFError, BrokenPipeError):  # the reader is gone
        while order != END:
            order, load = tasks.recv()
            answers.send(_done(order, load, runs, pending))
    answers.close()


def _done(order: str, load: Any, runs: Runs, pending: Window) -> list[bytes] | Reply:
    """Do what is asked and return the answer; what was folded is counted when runs close, as in one process."""
    if order == FOLD:
        return [], [], list(_folded(runs, pending, load)), (Counts(), [])
    if order == CLOSE:
        everything: bool = load
        return [packed(told) for told in runs.held_back(None if everything else pending.due())]
    return _answer(runs, runs.heard(load) if order == HEAR else runs.ended())


def _folded(runs: Runs, pending: Window, chunk: list[Record]) -> Iterator[DeadLetter]:
    for one in chunk:
        folded = runs.fold(one)
        if isinstance(folded, DeadLetter):
            yield folded
        elif folded is not None:
            key, ended, _ = folded
            pending.note(key, ended)


def _answer(runs: Runs, found: Iterable[Run | Piece]) -> Reply:
    closed: list[Run] = []
    pieces: list[tuple[str, str, bytes]] = []
    for one in found:
        if isinstance(one, Run):
            closed.append(one)
        else:
            pieces.append((one[0], one[1], packed(one[2])))
    counts, runs.counts = runs.counts, Counts()
    rejected, runs.rejected = runs.rejected, []
    counts.rejected = len(rejected)
    return closed, pieces, [], (counts, rejected)
