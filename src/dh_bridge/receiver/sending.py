"""The way out: what waits in the ledger is delivered behind the backs of the requests, so that none waits for a server."""

from __future__ import annotations

import logging
import sqlite3
import time
from contextlib import closing, contextmanager
from itertools import islice
from math import inf
from threading import Event, Thread
from typing import TYPE_CHECKING

from dh_bridge.errors import INTERNAL_ERROR, SinkError
from dh_bridge.ledger import open_ledger
from dh_bridge.ledger.outbox_relay import MAX_PAUSE_SECONDS
from dh_bridge.log_throttle import LogThrottle, kind_of
from dh_bridge.receiver.outage_log import OutageLog
from dh_bridge.sinks.abilities import set_deadline
from dh_bridge.sinks.base import Closable

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from dh_bridge.delivery import DeliveryTarget
    from dh_bridge.ledger import Ledger
    from dh_bridge.receiver.metrics import ReceiverMetrics
    from dh_bridge.sinks.base import Delivery

log = logging.getLogger("dh_bridge.receiver")

IDLE_SECONDS = 5.0
"""Seconds after which it looks by itself whether anything can be delivered."""
STALL_SECONDS = 2 * MAX_PAUSE_SECONDS
"""Seconds without a delivery, while something may be sent, after which it is a stall: twice the longest pause between tries."""
GATHER_SECONDS = 0.2
"""Seconds to wait after the first proposal, so that more of them are sent in one request."""
_LOCK_TIMEOUT_SECONDS, _LAST_DELIVERY_SECONDS, _MARGIN_SECONDS = 2.0, 6.0, 0.5
"""Seconds that the last delivery waits for that of another process, that it may take, and what its end may take: who ends a
container waits for ten."""


@contextmanager
def delivery_ledger(target: DeliveryTarget, ledger_path: Path | None) -> Iterator[Ledger]:
    """Yield the ledger of a target: the file ``ledger_path``, or the catalogue itself. Each thread opens its own."""
    delivery_target = target
    with open_ledger(
        ledger_path,
        delivery_target.sink,
        delivery_target.settings,
        version=delivery_target.version,
        delivery_id=delivery_target.options.run_id,
        target=delivery_target.address,
    ) as ledger:
        assert ledger is not None  # noqa: S101 - a catalogue, or a file that was named
        yield ledger


class DeliveryWorker(Closable):
    """Delivers from the ledger ``ledger_path`` by a thread of its own, whenever it is woken, and every few seconds."""

    def __init__(self, ledger_path: Path, target: DeliveryTarget, metrics: ReceiverMetrics) -> None:
        self._ledger_path = ledger_path
        self._target = target
        self._metrics = metrics
        self._outages = OutageLog("delivery works again")
        self._refusals = LogThrottle(log, logging.ERROR)
        self._wake_event, self._end_event = Event(), Event()
        self._deadline = inf
        self._last_progress = time.monotonic()
        self._reason = ""
        self._thread = Thread(target=self._run, name="dh_bridge.sender", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Report that proposals wait."""
        self._wake_event.set()

    def stall_reason(self) -> str | None:
        """Return the reason if nothing was delivered for STALL_SECONDS seconds although something may be sent; else None."""
        seconds = time.monotonic() - self._last_progress
        if seconds < STALL_SECONDS:
            return None
        return f"no proposal was delivered for {seconds:,.0f} seconds" + (f": {self._reason}" if self._reason else "")

    def close(self) -> None:
        """Deliver waiting proposals once more, within the time limit, and end; the rest stays in the ledger."""
        self._deadline = time.monotonic() + _LAST_DELIVERY_SECONDS
        set_deadline(self._target.sink, self._deadline)  # or it would retry after the time limit
        self._end_event.set()
        self._wake_event.set()
        self._thread.join(_LAST_DELIVERY_SECONDS + _MARGIN_SECONDS)
        self._refusals.flush()

    def _run(self) -> None:
        while True:
            is_ending = self._end_event.is_set()
            try:
                with delivery_ledger(self._target, self._ledger_path) as ledger:
                    while not is_ending:
                        self._deliver(ledger, ledger.relay.iter_deliveries_if_due())
                        self._catch_up(ledger)
                        if self._wake_event.wait(IDLE_SECONDS):
                            self._end_event.wait(GATHER_SECONDS)
                        self._wake_event.clear()
                        is_ending = self._end_event.is_set()
                    self._deliver(ledger, ledger.relay.iter_deliveries(_LOCK_TIMEOUT_SECONDS))
                    return
            except (SinkError, sqlite3.Error) as error:  # of the ledger's file: a full disk, a lock, damage
                self._reason = str(error)
                self._outages.log_failure(f"delivery failed: {error}")
            except Exception:
                log.exception("delivery failed: %s", INTERNAL_ERROR)
            if is_ending:
                return
            self._end_event.wait(IDLE_SECONDS)

    def _deliver(self, ledger: Ledger, deliveries: Generator[Delivery, None, None]) -> None:
        """Count a delivery while it runs, and abort it when it is time to end."""
        with closing(deliveries):
            while time.monotonic() < self._deadline and (delivery := next(deliveries, None)) is not None:
                self._count(delivery)
                self._last_progress = time.monotonic()
        relay = ledger.relay
        if relay.outbox.is_paused or not relay.outbox.list_queued(limit=1, include_held=False):
            self._last_progress = time.monotonic()
        self._reason = "" if relay.last_error is None else str(relay.last_error)
        if relay.has_skipped_delivery or time.monotonic() >= self._deadline:
            return  # another process delivers, or the target pauses: neither progress nor a failure
        if relay.last_error is None:
            self._outages.log_recovery()
        else:
            self._outages.log_failure(f"delivery failed, proposals wait in the ledger: {relay.last_error}")

    def _catch_up(self, ledger: Ledger) -> None:
        for translation, delivery in islice(ledger.render_withheld(), 1):
            self._metrics.add(proposals=translation.counts.proposals)
            self._count(delivery)

    def _count(self, delivery: Delivery) -> None:
        self._metrics.add(delivered=delivery.delivered_count, refused=len(delivery.failures))
        if delivery.failures:
            for failure in delivery.failures:
                self._refusals.log(
                    kind_of(failure.reason),
                    f"the target rejected {failure.proposal.entity_urn} {failure.proposal.aspect_name}: {failure.reason}",
                )
