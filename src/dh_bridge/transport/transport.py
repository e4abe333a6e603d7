"""The transport itself: one event at a time, from any thread, in any process that was forked."""

from __future__ import annotations

import logging
import os
from contextlib import ExitStack
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, finalize

from openlineage.client.serde import Serde
from openlineage.client.transport.transport import Transport

from dh_bridge.bridge import Bridge, zone_of
from dh_bridge.delivery import open_destination
from dh_bridge.errors import BridgeError, EventError
from dh_bridge.ledger import noted, opened
from dh_bridge.log_throttle import LogThrottle, kind_of
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.openlineage.read import events_of
from dh_bridge.sinks.base import load_sink, shown, target_kind
from dh_bridge.storage.migrations import owners
from dh_bridge.translation.facets import registry
from dh_bridge.transport.config import DataHubConfig
from dh_bridge.transport.telling import InMemory, Teller, WithLedger

if TYPE_CHECKING:
    from openlineage.client.client import Event as ClientEvent

    from dh_bridge.openlineage.events import Event

log = logging.getLogger("dh_bridge.transport")

WAITING = 1_000
"""Events that are kept while the place, or the ledger, cannot be opened."""

_STILL = 2.0
"""Seconds that a fork waits for an event that another thread writes to SQLite."""

_every: WeakSet[_Telling] = WeakSet()
_held: list[_Telling] = []
"""What stands still while this process forks."""
_left_behind: list[Any] = []
"""What belongs to the process that this one was forked from: held here, as it would be closed if nobody held it."""


class DataHubTransport(Transport):
    """Writes what OpenLineage's Python client emits to DataHub, Kafka, a file or a catalogue.

    The place is opened by the first event. What is wrong with an event, or its delivery, is a BridgeError of :meth:`emit`,
    as clients expect; what may be delivered later is delivered with a later event, or by :meth:`close`.
    """

    kind = "datahub"
    config_class = DataHubConfig

    def __init__(self, config: DataHubConfig) -> None:
        self.config = config
        self._zone = zone_of(config.settings)
        _load(config.to)
        self._telling = _Telling(config)
        _every.add(self._telling)
        # closes what nobody closed: when nobody holds the client any more, or the program ends
        finalize(self, _at_end, self._telling)

    def emit(self, event: ClientEvent) -> None:
        """Deliver an event after what waits; an EventError says why it is of no use, a SinkError why something did not arrive."""
        problems = self._telling.emit(self._read(event))
        self._telling.warn(problems[1:])
        if problems:
            raise problems.pop(0)  # its frames lead here, and are not to find it again

    def close(self, timeout: float = -1) -> bool:
        """Deliver what waits, let go of the place, and return whether nothing waits.

        With a ``timeout`` of 0 nothing is tried any more. Any other one is no limit: what waits is tried once, for as long as
        the place's own timeouts and retries let it.
        """
        return self._telling.close(again=timeout != 0)

    def _read(self, event: ClientEvent) -> Event:
        (found,) = events_of(Serde.to_json(event).encode(), "event", self._zone)
        if isinstance(found, DeadLetter):
            raise EventError(found.reason, where=found.place)
        return found


class _Telling:
    """What a transport has open, and what waits in it; it outlives the transport until it is closed."""

    def __init__(self, config: DataHubConfig) -> None:
        self.config = config
        self._log = LogThrottle(log, logging.WARNING)
        self._begin()

    def _begin(self) -> None:
        self._lock = Lock()
        self._open = ExitStack()
        self._teller: Teller | None = None
        self._waiting: list[Event] = []

    def warn(self, problems: list[BridgeError]) -> None:
        """Log what is wrong: one line of each kind, and a count."""
        for problem in problems:
            self._log.log(kind_of(problem.what), str(problem))

    def hold(self) -> bool:
        """Wait for the event that is written to SQLite now, and take no other one; say whether all stands still.

        SQLite keeps its locks in memory: a process that is forked inside of a transaction finds the file locked for ever.
        """
        settings = self.config.settings
        writes = settings.ledger.file is not None or target_kind(self.config.to).own_ledger
        return writes and self._lock.acquire(timeout=_STILL)

    def let_go(self) -> None:
        """Take events again."""
        self._lock.release()

    def begin_anew(self) -> None:
        """Begin anew in a process that was forked: what waits and what is open is the parent's, who delivers and closes it."""
        _left_behind.append((self._open, self._teller))
        self._begin()

    def emit(self, event: Event) -> list[BridgeError]:
        """Deliver an event after what waits, and return what is wrong."""
        with self._lock:
            self._waiting.append(event)
            return self._told()

    def close(self, *, again: bool) -> bool:
        """Deliver what waits, if it is to be tried ``again``, let go of the place, and return whether nothing waits."""
        with self._lock:
            done = self._settled(again=again)
            try:
                self._open.close()
            except BridgeError as error:
                log.error("%s", error)  # noqa: TRY400 - its text says it all
                done = False
            self._log.flush()
            self._teller = None
            return done

    def _told(self) -> list[BridgeError]:
        """Tell what waits, and return what is wrong; what cannot be taken now waits on."""
        problems: list[BridgeError] = []
        try:
            teller = self._teller = self._teller or self._opened()
            while self._waiting:
                problems += teller.tell(self._waiting[0])
                del self._waiting[0]
        except BridgeError as error:
            problems.append(error.with_traceback(None))
            if len(self._waiting) > WAITING:
                self._log.log(
                    "too much waits: an event is forgotten",
                    f"too much waits: an event of {self._waiting[0].name} is forgotten",
                )
                del self._waiting[0]
        except Exception:  # a mistake of ours: this event ends here, and no other one
            del self._waiting[0]
            raise
        return problems

    def _settled(self, *, again: bool) -> bool:
        if self._teller is None and not self._waiting:
            return True
        problems = self._told() if again else []
        self.warn(problems)
        if self._teller is None or self._waiting:
            return False
        if again:
            self._teller.settle()
        return self._teller.settled

    def _opened(self) -> Teller:
        target, settings = self.config.to, self.config.settings
        place = settings.ledger.file
        known = noted(place, target)
        with ExitStack() as stack:
            keeps_runs = place is not None or target_kind(target).own_ledger
            destination = open_destination(target, settings, known=known, ledger=keeps_runs)
            sink = stack.enter_context(destination.sink)
            ledger = stack.enter_context(
                opened(
                    place,
                    sink,
                    destination.settings,
                    version=destination.version,
                    delivery=destination.options.run_id,
                    target=destination.place,
                )
            )
            log.info("writing to %s", destination.described(shown(target)))
            self._open = stack.pop_all()
        return InMemory(Bridge(destination.settings), sink) if ledger is None else WithLedger(ledger)


def _load(target: str) -> None:
    """Import what the first event needs: a process that is forked while a thread imports waits for that thread without end."""
    registry()
    load_sink(target)
    owners()


def _at_end(telling: _Telling) -> None:
    """Close what nobody closed; what waits is not tried again, but not lost in silence either."""
    if not telling.close(again=False):
        log.error("a client ends before all of its events were delivered; close() would have tried once more")


def _before_fork() -> None:
    _held.extend(telling for telling in list(_every) if telling.hold())


def _after_fork() -> None:
    while _held:
        _held.pop().let_go()


def _after_fork_in_child() -> None:
    _held.clear()
    for telling in list(_every):
        telling.begin_anew()


if hasattr(os, "register_at_fork"):  # Windows forks nothing
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
