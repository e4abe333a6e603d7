"""The way out: what waits in the ledger is delivered behind the backs of the requests, so that none waits for a server."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from itertools import islice
from threading import Event, Thread
from typing import TYPE_CHECKING

from dh_bridge.delivery import refused
from dh_bridge.errors import SinkError
from dh_bridge.ledger import opened
from dh_bridge.sinks.base import Closing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dh_bridge.delivery import Destination
    from dh_bridge.ledger import Ledger
    from dh_bridge.receiver.meters import Meters
    from dh_bridge.sinks.base import Delivery

log = logging.getLogger("dh_bridge.receiver")

IDLE = 5.0
"""Seconds after which it looks by itself whether anything can be delivered."""
GATHERS = 0.2
"""Seconds after the first of what waits: what comes in them goes along, in fewer requests."""
_TURN, _LAST = 2.0, 8.0
"""Seconds that the last delivery waits for that of another process, and that it may take: who ends a container waits for ten."""


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
        self._woken, self._ended = Event(), Event()
        self._down = False
        self._look = 0.0
        self._thread = Thread(target=self._run, name="dh_bridge.sender", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Say that something waits."""
        self._woken.set()

    def close(self) -> None:
        """Deliver what waits once more, as far as the place takes it, and end; the rest stays in the ledger."""
        self._look = 0.0
        self._ended.set()
        self._woken.set()
        self._thread.join(_LAST)

    def _run(self) -> None:
        while True:
            ended = self._ended.is_set()
            try:
                with ledger_of(self._destination, self._place) as ledger:
                    while not ended:
                        self._told(ledger, ledger.courier.deliver_by_the_way())
                        self._catch_up(ledger)
                        if self._woken.wait(IDLE):
                            self._ended.wait(GATHERS)
                        self._woken.clear()
                        ended = self._ended.is_set()
                    self._told(ledger, ledger.courier.deliver(_TURN))
                    return
            except SinkError as error:  # of the ledger's file: a full disk, or a lock
                log.error("nothing is delivered: %s", error)  # noqa: TRY400 - its text says it all
            except Exception:
                log.exception("nothing is delivered: a mistake of dh-bridge, please report it")
            if ended:
                return
            self._ended.wait(IDLE)

    def _catch_up(self, ledger: Ledger) -> None:
        for translation, late in islice(ledger.catching_up(), 1):
            self._meters.add(proposals=translation.counts.proposals)
            self._told(ledger, late)

    def _told(self, ledger: Ledger, delivery: Delivery) -> None:
        self._meters.add(delivered=delivery.delivered, refused=len(delivery.failed))
        if time.monotonic() >= self._look:
            self._meters.waiting = ledger.courier.outbox.count()[0]
            self._look = time.monotonic() + IDLE
        if delivery.failed:
            log.error("%s", refused(delivery.failed, delivery.delivered + len(delivery.failed)))
        broken = ledger.courier.broken
        waits_its_turn = ledger.courier.owes and not self._down  # another process delivers: no news, and no end of news
        if broken is not None and not self._down and not waits_its_turn:
            log.warning("what is told waits in the ledger until it can be delivered: %s", broken)
        elif broken is None and self._down:
            log.warning("deliveries go on")
        self._down = broken is not None and not waits_its_turn
