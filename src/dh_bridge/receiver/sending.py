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

from dh_bridge.errors import SinkError
from dh_bridge.ledger import opened
from dh_bridge.ledger.outbox_relay import LONGEST
from dh_bridge.log_throttle import LogThrottle, kind_of
from dh_bridge.receiver.outage_log import News
from dh_bridge.sinks.abilities import set_deadline
from dh_bridge.sinks.base import Closing

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

    from dh_bridge.delivery import Destination
    from dh_bridge.ledger import Ledger
    from dh_bridge.receiver.metrics import Meters
    from dh_bridge.sinks.base import Delivery

log = logging.getLogger("dh_bridge.receiver")

IDLE = 5.0
"""Seconds after which it looks by itself whether anything can be delivered."""
STALLED_AFTER = 2 * LONGEST
"""Seconds without a delivery, while something may be sent, after which it is a stall: twice the longest pause between tries."""
GATHERS = 0.2
"""Seconds after the first of what waits: what comes in them goes along, in fewer requests."""
_TURN, _LAST, _MARGIN = 2.0, 8.0, 0.5
"""Seconds that the last delivery waits for that of another process, that it may take, and what its end may take: who ends a
container waits for ten."""


@contextmanager
def ledger_of(destination: Destination, place: Path | None) -> Iterator[Ledger]:
    """Yield the ledger of a destination: the file ``place``, or the catalogue itself; each thread has one of its own."""
    said = destination
    with opened(
        place, said.sink, said.settings, version=said.version, delivery=said.options.run_id, target=said.place
    ) as ledger:
        assert ledger is not None  # noqa: S101 - a catalogue, or a file that was named
        yield ledger


class Sender(Closing):
    """Delivers from the ledger ``place`` by a thread of its own, whenever it is woken, and every few seconds."""

    def __init__(self, place: Path, destination: Destination, meters: Meters) -> None:
        self._place = place
        self._destination = destination
        self._meters = meters
        self._news = News("deliveries go on")
        self._refusals = LogThrottle(log, logging.ERROR)
        self._woken, self._ended = Event(), Event()
        self._end = inf
        self._moved = time.monotonic()
        self._reason = ""
        self._thread = Thread(target=self._run, name="dh_bridge.sender", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Say that something waits."""
        self._woken.set()

    def stall(self) -> str | None:
        """Return why nothing is delivered, if nothing was for STALLED_AFTER seconds while something might be sent; else None."""
        seconds = time.monotonic() - self._moved
        if seconds < STALLED_AFTER:
            return None
        return f"nothing was delivered for {seconds:,.0f} seconds" + (f": {self._reason}" if self._reason else "")

    def close(self) -> None:
        """Deliver what waits once more, as far as the place takes it by then, and end; the rest stays in the ledger."""
        self._end = time.monotonic() + _LAST
        set_deadline(self._destination.sink, self._end)  # or it would try again while nobody waits for it any more
        self._ended.set()
        self._woken.set()
        self._thread.join(_LAST + _MARGIN)
        self._refusals.flush()

    def _run(self) -> None:
        while True:
            ended = self._ended.is_set()
            try:
                with ledger_of(self._destination, self._place) as ledger:
                    while not ended:
                        self._deliver(ledger, ledger.courier.deliveries_by_the_way())
                        self._catch_up(ledger)
                        if self._woken.wait(IDLE):
                            self._ended.wait(GATHERS)
                        self._woken.clear()
                        ended = self._ended.is_set()
                    self._deliver(ledger, ledger.courier.deliveries(_TURN))
                    return
            except (SinkError, sqlite3.Error) as error:  # of the ledger's file: a full disk, a lock, damage
                self._reason = str(error)
                self._news.bad(f"nothing is delivered: {error}")
            except Exception:
                log.exception("nothing is delivered: a mistake of dh-bridge, please report it")
            if ended:
                return
            self._ended.wait(IDLE)

    def _deliver(self, ledger: Ledger, deliveries: Generator[Delivery, None, None]) -> None:
        """Count a delivery while it goes on, and break it off when it is time to end."""
        with closing(deliveries):
            while time.monotonic() < self._end and (one := next(deliveries, None)) is not None:
                self._count(one)
                self._moved = time.monotonic()
        courier = ledger.courier
        if courier.outbox.paused or not courier.outbox.waiting(limit=1, held=False):
            self._moved = time.monotonic()
        self._reason = "" if courier.broken is None else str(courier.broken)
        if courier.owes or time.monotonic() >= self._end:
            return  # another process delivers, or the place is left alone for a while: no news, and no end of news
        if courier.broken is None:
            self._news.good()
        else:
            self._news.bad(f"what is told waits in the ledger until it can be delivered: {courier.broken}")

    def _catch_up(self, ledger: Ledger) -> None:
        for translation, late in islice(ledger.catching_up(), 1):
            self._meters.add(proposals=translation.counts.proposals)
            self._count(late)

    def _count(self, delivery: Delivery) -> None:
        self._meters.add(delivered=delivery.delivered, refused=len(delivery.failed))
        if delivery.failed:
            for failure in delivery.failed:
                self._refusals.log(
                    kind_of(failure.reason),
                    f"{failure.proposal.entity_urn} {failure.proposal.aspect_name} was refused: {failure.reason}",
                )
