"""Delivery of single events: through a ledger, or together with the earlier events of their run in this process."""

from __future__ import annotations

import logging
from itertools import count, islice
from typing import TYPE_CHECKING, Protocol

from dh_bridge.datahub.creates import LEFT_OUT
from dh_bridge.delivery import delivery_error
from dh_bridge.errors import BridgeError, EventError, SinkError
from dh_bridge.log_throttle import LogThrottle, kind_of
from dh_bridge.sinks.abilities import dropped_counts
from dh_bridge.transport.runs import MAX_TRIES, BufferedRun
from dh_bridge.window import MAX_WINDOW_BYTES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.bridge import Bridge
    from dh_bridge.ledger import Ledger
    from dh_bridge.ledger.accepting_ledger import AcceptingLedger
    from dh_bridge.openlineage.events import Event
    from dh_bridge.session import Translation
    from dh_bridge.sinks.base import Sink

log = logging.getLogger("dh_bridge.transport")


class EventDelivery(Protocol):
    """Delivers events one by one."""

    def deliver(self, event: Event) -> list[BridgeError]:
        """Deliver an event and return its problems; a BridgeError means that the event was not accepted."""
        ...

    def flush(self) -> None:
        """Deliver queued proposals, unless the target accepts none."""
        ...

    @property
    def is_flushed(self) -> bool:
        """Whether the queue is empty."""
        ...


class LedgerDelivery:
    """Each event is a batch of the ledger; proposals that the server does not accept wait in its file."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._is_down = False
        self._has_unprocessed = False
        self._log = LogThrottle(log, logging.WARNING)

    def deliver(self, event: Event) -> list[BridgeError]:
        """Deliver an event; a SinkError means that it is not accepted: the log cannot be written, or the outbox is full."""
        try:
            translation, delivery = self._ledger.process_and_deliver([event])
        except SinkError as error:
            if not self._ledger.is_batch_logged:
                raise
            self._has_unprocessed = True
            return [error.with_traceback(None)]
        self._has_unprocessed = False
        problems: list[BridgeError] = list(_translation_errors(translation))
        if delivery.failures:
            problems.append(delivery_error(delivery.failures, delivery.delivered_count + len(delivery.failures)))
        for _, catch_up_delivery in islice(self._ledger.render_withheld(), 1):
            if catch_up_delivery.failures:
                self._log.log(
                    "the target rejects proposals",
                    str(
                        delivery_error(
                            catch_up_delivery.failures,
                            catch_up_delivery.delivered_count + len(catch_up_delivery.failures),
                        )
                    ),
                )
        self._warn()
        return problems

    def flush(self) -> None:
        """Process the events that wait in the log, and deliver queued proposals, unless the target accepts none."""
        try:
            for _ in self._ledger.fold_log():
                pass
        except SinkError as error:
            log.warning("events wait in the event log of the ledger: %s", error)
            self._has_unprocessed = True
            return
        self._has_unprocessed = False
        if self.is_flushed:
            return
        failed = self._ledger.relay.deliver().failures
        if failed:
            self._log.log("the target rejects proposals", str(delivery_error(failed, len(failed))))
        self._warn()

    @property
    def is_flushed(self) -> bool:
        """Whether the outbox of the ledger is empty, and all events are processed."""
        return not self._has_unprocessed and self._ledger.relay.outbox.oldest_time() is None

    def _warn(self) -> None:
        outage = self._ledger.relay.last_error
        if outage is not None and not self._is_down:
            log.warning("delivery failed, proposals wait in the ledger: %s", outage)
        self._is_down = outage is not None


class LogDelivery:
    """Each event waits in the event log of the ledger: the target cannot be opened, and its version is not known."""

    def __init__(self, ledger: AcceptingLedger, error: SinkError) -> None:
        self._ledger = ledger
        log.warning("delivery failed, events wait in the event log of the ledger: %s", error)

    def deliver(self, event: Event) -> list[BridgeError]:
        """Append an event to the log; a SinkError means that the log cannot be written."""
        return [EventError(letter.reason, location=letter.location) for letter in self._ledger.accept([event])]

    def flush(self) -> None:
        """Do nothing: the target is not open."""

    @property
    def is_flushed(self) -> bool:
        """Whether no event waits in the log."""
        return not self._ledger.status().unfolded_events


class BufferedDelivery:
    """Each event is translated together with the earlier events of its run (state mode *none*); only changes are delivered.

    A COMPLETE thus knows its START and its duration. The most recent runs stay in memory, up to 16 MiB of events. Queued proposals are
    delivered before newer ones, as the last one written wins.
    """

    def __init__(self, bridge: Bridge, sink: Sink, *, max_bytes: int = MAX_WINDOW_BYTES) -> None:
        self._bridge = bridge
        self._sink = sink
        self._max_bytes = max_bytes
        self._runs: dict[str, BufferedRun] = {}
        self._size = 0
        self._event_numbers = count()
        self._has_warned = False
        self._log = LogThrottle(log, logging.WARNING)

    def deliver(self, event: Event) -> list[BridgeError]:
        """Deliver queued runs, and then the changes of this event; the SinkError may belong to an older run."""
        is_single_event = event.kind != "run"
        key = f"#{next(self._event_numbers)}" if is_single_event else event.run_id
        run = self._runs.pop(key, None) or BufferedRun(key, is_single_event=is_single_event)
        self._runs[key] = run  # now the most recent run
        self._size -= run.size
        run.add(event)
        self._size += run.size
        run.is_waiting = True
        waiting_runs = self._waiting_runs()
        problems = self._deliver_runs(waiting_runs)
        for waiting_run in waiting_runs:
            if waiting_run.is_single_event and not waiting_run.is_waiting:
                self._forget(waiting_run.key)
        self._evict()
        if not self._has_warned and LEFT_OUT in dropped_counts(self._sink):
            self._has_warned = True
            log.warning("not sent: %s", LEFT_OUT)
        return problems

    def flush(self) -> None:
        """Deliver queued proposals, unless the target accepts none."""
        self._warn(self._deliver_runs(self._waiting_runs(), is_last=True))

    def _warn(self, problems: list[BridgeError]) -> None:
        for problem in problems:
            self._log.log(kind_of(str(problem)), str(problem))

    @property
    def is_flushed(self) -> bool:
        """Whether the queue is empty."""
        return not self._waiting_runs()

    def _waiting_runs(self) -> list[BufferedRun]:
        return [run for run in self._runs.values() if run.is_waiting]

    def _deliver_runs(self, runs: list[BufferedRun], *, is_last: bool = False) -> list[BridgeError]:
        """Deliver runs, the oldest first, up to one that the target does not accept; return the problems of the last one.

        At each MAX_TRIES-th failure of a run the next run is tried, too, as the run may be at fault and not the target. With ``is_last``,
        when no later call follows, the next run is always tried.
        """
        problems: list[BridgeError] = []
        interrupted_runs: list[BufferedRun] = []
        for run in runs:
            self._warn(problems)
            problems, is_delivered = self._deliver_run(run)
            if is_delivered and interrupted_runs:
                if self._try_again(interrupted_runs):
                    run.forget_deliveries()  # newer values replaced them
                    retry_problems, is_delivered = self._deliver_run(run)
                    problems += retry_problems
                interrupted_runs = []
            if is_delivered is False:
                if not run.is_waiting or (interrupted_runs if is_last else run.tries % MAX_TRIES):
                    break
                interrupted_runs.append(run)
        return problems

    def _try_again(self, interrupted_runs: list[BufferedRun]) -> bool:
        """Give up runs that fail while others arrive; return whether one arrives now, so that the target was down until then."""
        has_recovered = False
        for run in interrupted_runs:
            problems, is_delivered = self._deliver_run(run)
            has_recovered = has_recovered or bool(is_delivered)
            if is_delivered or not run.is_waiting:
                self._warn(problems)
            else:
                log.error(
                    "run %s failed %d times while other runs were sent, and is not sent again: %s",
                    run.key,
                    run.tries,
                    problems[-1],
                )
                run.give_up()
        return has_recovered

    def _deliver_run(self, run: BufferedRun) -> tuple[list[BridgeError], bool | None]:
        """Deliver the changes of a run; return the problems, and whether the target accepted them (None: no changes)."""
        try:
            return self._send_run(run)
        except Exception:  # a bug of the bridge: other runs must not wait for this one
            run.is_waiting = False
            raise

    def _send_run(self, run: BufferedRun) -> tuple[list[BridgeError], bool | None]:
        translation = self._bridge.translate(run.events)
        problems: list[BridgeError] = list(_translation_errors(translation))
        run.drop({letter.raw for letter in translation.dead})
        proposals = run.undelivered(translation.proposals)
        if not proposals:
            run.is_waiting = False  # what waited was taken back by a later event
            return problems, None
        try:
            refusal = run.deliver(proposals, self._sink)
        except BridgeError as error:
            return [*problems, error], False
        return problems if refusal is None else [*problems, refusal], True

    def _evict(self) -> None:
        for key in list(self._runs):
            if self._size <= self._max_bytes or len(self._runs) == 1:
                return
            if self._runs[key].is_waiting:
                log.error("too many events wait: the last events of run %s are dropped, and were not sent", key)
            self._forget(key)

    def _forget(self, key: str) -> None:
        self._size -= self._runs.pop(key).size


def _translation_errors(translation: Translation) -> Iterator[EventError]:
    """Yield the errors of unusable events; bugs of the bridge are logged."""
    for letter in translation.dead:
        yield EventError(letter.reason, location=letter.location)
    for rejection in translation.rejected:
        log.error("%s", rejection.message)
