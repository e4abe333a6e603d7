"""How an event that comes alone is told: by a ledger, or together with what its run said before in this process."""

from __future__ import annotations

import logging
from itertools import count, islice
from typing import TYPE_CHECKING, Protocol

from dh_bridge.datahub.creates import LEFT_OUT
from dh_bridge.delivery import refused
from dh_bridge.errors import BridgeError, EventError
from dh_bridge.log_throttle import LogThrottle, kind_of
from dh_bridge.sinks.abilities import left_out
from dh_bridge.transport.runs import TRIES, Run
from dh_bridge.window import BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.bridge import Bridge
    from dh_bridge.ledger import Ledger
    from dh_bridge.openlineage.events import Event
    from dh_bridge.session import Translation
    from dh_bridge.sinks.base import Sink

log = logging.getLogger("dh_bridge.transport")


class Teller(Protocol):
    """Takes events one by one."""

    def tell(self, event: Event) -> list[BridgeError]:
        """Take an event, and return what went wrong with it; a BridgeError means that it was not taken."""
        ...

    def settle(self) -> None:
        """Deliver what waits, unless the place takes nothing."""
        ...

    @property
    def settled(self) -> bool:
        """Whether nothing waits."""
        ...


class WithLedger:
    """Each event is a batch of the ledger: what a server does not take waits in its file."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._down = False
        self._log = LogThrottle(log, logging.WARNING)

    def tell(self, event: Event) -> list[BridgeError]:
        """Take an event; a SinkError means that the ledger's file could not be written, or is full."""
        translation, delivery = self._ledger.take([event])
        problems: list[BridgeError] = list(_mistakes(translation))
        if delivery.failed:
            problems.append(refused(delivery.failed, delivery.delivered + len(delivery.failed)))
        for _, late in islice(self._ledger.catching_up(), 1):
            if late.failed:
                self._log.log("proposals are refused", str(refused(late.failed, late.delivered + len(late.failed))))
        self._warn()
        return problems

    def settle(self) -> None:
        """Deliver what waits, unless the place takes nothing."""
        if self.settled:
            return
        failed = self._ledger.courier.deliver().failed
        if failed:
            self._log.log("proposals are refused", str(refused(failed, len(failed))))
        self._warn()

    @property
    def settled(self) -> bool:
        """Whether nothing waits in the ledger."""
        return self._ledger.courier.outbox.oldest() is None

    def _warn(self) -> None:
        broken = self._ledger.courier.broken
        if broken is not None and not self._down:
            log.warning("what is told waits in the ledger until it can be delivered: %s", broken)
        self._down = broken is not None


class InMemory:
    """Each event is a call together with the earlier ones of its run (state mode *none*): what is new of it is delivered.

    So an end knows its start, and its duration. Runs that were heard of last are kept, up to 16 MiB of events. What waits is
    delivered before what is newer, as the last one that is written stays.
    """

    def __init__(self, bridge: Bridge, sink: Sink, *, most_bytes: int = BYTES) -> None:
        self._bridge = bridge
        self._sink = sink
        self._most = most_bytes
        self._runs: dict[str, Run] = {}
        self._size = 0
        self._alone = count()
        self._warned = False
        self._log = LogThrottle(log, logging.WARNING)

    def tell(self, event: Event) -> list[BridgeError]:
        """Take an event, and deliver what waits and then what is new; the SinkError may be that of an older run."""
        alone = event.kind != "run"
        key = f"#{next(self._alone)}" if alone else event.run_id
        run = self._runs.pop(key, None) or Run(key, alone=alone)
        self._runs[key] = run  # the last one that was heard of
        self._size -= run.size
        run.add(event)
        self._size += run.size
        run.waits = True
        line = self._waiting()
        problems = self._line(line)
        for other in line:
            if other.alone and not other.waits:
                self._forget(other.key)
        self._let_go()
        if not self._warned and LEFT_OUT in left_out(self._sink):
            self._warned = True
            log.warning("left out by %s", LEFT_OUT)
        return problems

    def settle(self) -> None:
        """Deliver what waits, unless the place takes nothing."""
        self._warn(self._line(self._waiting(), last=True))

    def _warn(self, problems: list[BridgeError]) -> None:
        for problem in problems:
            self._log.log(kind_of(str(problem)), str(problem))

    @property
    def settled(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting()

    def _waiting(self) -> list[Run]:
        return [run for run in self._runs.values() if run.waits]

    def _line(self, runs: list[Run], *, last: bool = False) -> list[BridgeError]:
        """Tell runs, the oldest first, up to one that the place does not take; return what is wrong with the last one tried.

        Each TRIES-th time that a run breaks off it may be the run and not the place: then the next one is tried, too; also the
        ``last`` time that anything is.
        """
        problems: list[BridgeError] = []
        stuck: list[Run] = []
        for run in runs:
            self._warn(problems)
            problems, arrived = self._told(run)
            if arrived and stuck:
                if self._try_again(stuck):
                    run.forget()  # what is older was written over it
                    more, arrived = self._told(run)
                    problems += more
                stuck = []
            if arrived is False:
                if not run.waits or (stuck if last else run.tries % TRIES):
                    break
                stuck.append(run)
        return problems

    def _try_again(self, stuck: list[Run]) -> bool:
        """Give up runs that break off while others arrive; return whether one arrives now: the place was down until then."""
        came_late = False
        for run in stuck:
            problems, arrived = self._told(run)
            came_late = came_late or bool(arrived)
            if arrived or not run.waits:
                self._warn(problems)
            else:
                log.error(
                    "run %s broke off %d times while others arrive, and is not sent again: %s",
                    run.key,
                    run.tries,
                    problems[-1],
                )
                run.give_up()
        return came_late

    def _told(self, run: Run) -> tuple[list[BridgeError], bool | None]:
        """Deliver what is new of a run; return what is wrong, and whether the place took it, None where nothing is new."""
        try:
            return self._sent(run)
        except Exception:  # a mistake of ours: no other run is to wait for this one
            run.waits = False
            raise

    def _sent(self, run: Run) -> tuple[list[BridgeError], bool | None]:
        translation = self._bridge.translate(run.events)
        problems: list[BridgeError] = list(_mistakes(translation))
        run.drop({letter.raw for letter in translation.dead})
        new = run.new(translation.proposals)
        if not new:
            run.waits = False  # what waited was taken back by a later event
            return problems, None
        try:
            refusal = run.deliver(new, self._sink)
        except BridgeError as error:
            return [*problems, error], False
        return problems if refusal is None else [*problems, refusal], True

    def _let_go(self) -> None:
        for key in list(self._runs):
            if self._size <= self._most or len(self._runs) == 1:
                return
            if self._runs[key].waits:
                log.error("too much waits: what run %s said last was not delivered, and is forgotten", key)
            self._forget(key)

    def _forget(self, key: str) -> None:
        self._size -= self._runs.pop(key).size


def _mistakes(translation: Translation) -> Iterator[EventError]:
    """Yield what cannot be used; what is our own mistake is logged, as the rest goes on."""
    for letter in translation.dead:
        yield EventError(letter.reason, where=letter.place)
    for ours in translation.rejected:
        log.error("%s", ours.text)
