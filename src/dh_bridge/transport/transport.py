"""The transport: one event at a time, from any thread, in any forked process."""

from __future__ import annotations

import logging
import os
import time
from contextlib import ExitStack
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakSet, finalize

from openlineage.client.serde import Serde
from openlineage.client.transport.transport import Transport

from dh_bridge.bridge import Bridge
from dh_bridge.delivery import open_target
from dh_bridge.errors import BridgeError, EventError, SinkError
from dh_bridge.facets import registry
from dh_bridge.ledger import open_ledger, read_notes
from dh_bridge.ledger.accepting_ledger import open_accepting_ledger
from dh_bridge.ledger.outbox_relay import FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS
from dh_bridge.log_throttle import LogThrottle, kind_of
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.openlineage.read import events_of
from dh_bridge.options import zone_of
from dh_bridge.retry_buffer import Backoff
from dh_bridge.sinks.base import load_sink, strip_credentials, target_kind
from dh_bridge.storage.migrations import table_owners
from dh_bridge.transport.config import DataHubConfig
from dh_bridge.transport.delivery import BufferedDelivery, EventDelivery, LedgerDelivery, LogDelivery

if TYPE_CHECKING:
    from openlineage.client.client import Event as ClientEvent

    from dh_bridge.openlineage.events import Event

log = logging.getLogger("dh_bridge.transport")

MAX_WAITING_EVENTS = 1_000
"""Events that are cached while the target, or the ledger, cannot be opened."""

_FORK_TIMEOUT_SECONDS = 2.0
"""Seconds that a fork waits for an event that another thread writes to SQLite."""

_states: WeakSet[_TransportState] = WeakSet()
_locked_states: list[_TransportState] = []
"""The transports that are locked while this process forks."""
_parent_resources: list[Any] = []
"""Resources of the parent process: referenced here, because the garbage collector would close them."""


class DataHubTransport(Transport):
    """Writes the events of OpenLineage's Python client to DataHub, Kafka, a file or a catalogue.

    The first event opens the target. A problem of an event, or of its delivery, is a BridgeError of :meth:`emit`, as clients
    expect; proposals that can be retried are delivered with a later event, or by :meth:`close`.
    """

    kind = "datahub"
    config_class = DataHubConfig

    def __init__(self, config: DataHubConfig) -> None:
        self.config = config
        self._zone = zone_of(config.settings)
        _import_modules(config.to)
        self._state = _TransportState(config)
        _states.add(self._state)
        # closes a transport that the program did not close: when the client is garbage-collected, or at exit
        finalize(self, _close_at_end, self._state)

    def emit(self, event: ClientEvent) -> None:
        """Deliver an event after the waiting ones; an EventError if it is invalid, a SinkError if something did not arrive."""
        problems = self._state.emit(self._parse(event))
        self._state.log_problems(problems[1:])
        if problems:
            raise problems.pop(0)  # its frames refer to this object, which must not refer to them

    def close(self, timeout: float = -1) -> bool:
        """Deliver waiting proposals, close the target, and return whether nothing waits.

        With a ``timeout`` of 0 nothing is tried. Any other value is no limit: waiting proposals are tried once, within the
        timeouts and retries of the target.
        """
        return self._state.close(retry=timeout != 0)

    def _parse(self, event: ClientEvent) -> Event:
        (item,) = events_of(Serde.to_json(event).encode(), "event", self._zone)
        if isinstance(item, DeadLetter):
            raise EventError(item.reason, location=item.location)
        return item


class _TransportState:
    """The open objects of a transport, and what waits; it outlives the transport until it is closed."""

    def __init__(self, config: DataHubConfig) -> None:
        self.config = config
        self._log = LogThrottle(log, logging.WARNING)
        self._reset()

    def _reset(self) -> None:
        self._lock = Lock()
        self._open = ExitStack()
        self._delivery: EventDelivery | None = None
        self._backoff = Backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        self._next_opening = 0.0  # on the monotonic clock
        self._waiting: list[Event] = []

    def log_problems(self, problems: list[BridgeError]) -> None:
        """Log problems: one line of each kind, and a count."""
        for problem in problems:
            self._log.log(kind_of(problem.problem), str(problem))

    def lock_for_fork(self) -> bool:
        """Wait for the event that is written to SQLite now, and accept no other one; return whether it has ended.

        SQLite keeps its locks in memory: a process that is forked inside of a transaction finds the file locked for ever.
        """
        settings = self.config.settings
        writes_sqlite = settings.ledger.file is not None or target_kind(self.config.to).has_own_ledger
        return writes_sqlite and self._lock.acquire(timeout=_FORK_TIMEOUT_SECONDS)

    def unlock_after_fork(self) -> None:
        """Accept events again."""
        self._lock.release()

    def reset_after_fork(self) -> None:
        """Reset the state in a forked process.

        Waiting proposals and open objects are the parent's, which delivers and closes them.
        """
        _parent_resources.append((self._open, self._delivery))
        self._reset()

    def emit(self, event: Event) -> list[BridgeError]:
        """Deliver an event after the waiting ones, and return the problems."""
        with self._lock:
            self._waiting.append(event)
            return self._deliver_waiting()

    def close(self, *, retry: bool) -> bool:
        """Deliver waiting proposals if ``retry``, close the target, and return whether nothing waits."""
        with self._lock:
            is_complete = self._flush(retry=retry)
            try:
                self._open.close()
            except BridgeError as error:
                log.error("%s", error)  # noqa: TRY400 - the message is sufficient
                is_complete = False
            self._log.flush()
            self._delivery = None
            return is_complete

    def _deliver_waiting(self) -> list[BridgeError]:
        """Deliver the waiting events, and return the problems; those that the target does not accept now keep waiting."""
        problems: list[BridgeError] = []
        try:
            delivery = self._ready_delivery()
            while self._waiting:
                problems += delivery.deliver(self._waiting[0])
                del self._waiting[0]
        except BridgeError as error:
            problems.append(error.with_traceback(None))
            if len(self._waiting) > MAX_WAITING_EVENTS:
                self._log.log(
                    "too many events wait: an event is dropped",
                    f"too many events wait: an event of {self._waiting[0].name} is dropped",
                )
                del self._waiting[0]
        except Exception:  # a bug of the bridge: it ends this event only
            del self._waiting[0]
            raise
        return problems

    def _flush(self, *, retry: bool) -> bool:
        if self._delivery is None and not self._waiting:
            return True
        self._next_opening = 0.0
        problems = self._deliver_waiting() if retry else []
        self.log_problems(problems)
        if self._delivery is None or self._waiting:
            return False
        if retry:
            self._delivery.flush()
        return self._delivery.is_flushed

    def _ready_delivery(self) -> EventDelivery:
        """Return the delivery; if the target could not be opened, it is tried again after a pause."""
        delivery = self._delivery
        if delivery is None or (isinstance(delivery, LogDelivery) and time.monotonic() >= self._next_opening):
            delivery = self._delivery = self._try_to_open(delivery)
        return delivery

    def _try_to_open(self, delivery: EventDelivery | None) -> EventDelivery:
        """Open the target, or the log of its ledger if the target does not answer; ``delivery`` is the open log."""
        ledger_path = self.config.settings.ledger.file
        try:
            opened = self._open_delivery()
        except SinkError as error:
            if ledger_path is None or not error.retryable:
                raise
            self._next_opening = time.monotonic() + self._backoff.next()
            if delivery is not None:
                return delivery
            ledger = self._open.enter_context(open_accepting_ledger(ledger_path, self.config.settings))
            return LogDelivery(ledger, error)
        self._backoff.reset()
        return opened

    def _open_delivery(self) -> EventDelivery:
        target, settings = self.config.to, self.config.settings
        ledger_path = settings.ledger.file
        target_notes = read_notes(ledger_path, target)
        with ExitStack() as stack:
            keeps_runs = ledger_path is not None or target_kind(target).has_own_ledger
            delivery_target = open_target(target, settings, target_notes=target_notes, ledger=keeps_runs)
            sink = stack.enter_context(delivery_target.sink)
            ledger = stack.enter_context(
                open_ledger(
                    ledger_path,
                    sink,
                    delivery_target.settings,
                    version=delivery_target.version,
                    delivery_id=delivery_target.options.run_id,
                    target=delivery_target.address,
                )
            )
            log.info("writing to %s", delivery_target.describe(strip_credentials(target)))
            self._open.close()  # the log of the ledger, if it was open alone
            self._open = stack.pop_all()
        return BufferedDelivery(Bridge(delivery_target.settings), sink) if ledger is None else LedgerDelivery(ledger)


def _import_modules(target: str) -> None:
    """Import the modules for the first event: a process that is forked during an import in another thread would wait for ever."""
    registry()
    load_sink(target)
    table_owners()


def _close_at_end(state: _TransportState) -> None:
    """Close a transport that the program did not close; waiting proposals are not tried again, and an error is logged."""
    if not state.close(retry=False):
        log.error("a client ended before all of its events were sent; call close() to try once more")


def _before_fork() -> None:
    _locked_states.extend(state for state in list(_states) if state.lock_for_fork())


def _after_fork() -> None:
    while _locked_states:
        _locked_states.pop().unlock_after_fork()


def _after_fork_in_child() -> None:
    _locked_states.clear()
    for state in list(_states):
        state.reset_after_fork()


if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
