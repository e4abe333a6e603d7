"""A receiver that runs until somebody ends it: its ledger, who folds into it, who delivers from it, and the web server."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dh_bridge.bridge import zone_of
from dh_bridge.delivery import open_destination
from dh_bridge.errors import SettingsError
from dh_bridge.ledger import noted
from dh_bridge.openlineage.masking import masked_bytes
from dh_bridge.openlineage.parsing import parse
from dh_bridge.receiver.app import Receiver
from dh_bridge.receiver.backlog import Backlog
from dh_bridge.receiver.inbox import Inbox
from dh_bridge.receiver.ingest_queue import Intake
from dh_bridge.receiver.metrics import Meters
from dh_bridge.receiver.sending import Sender, ledger_of
from dh_bridge.receiver.web import Web
from dh_bridge.redaction import OFF
from dh_bridge.sinks.base import target_kind
from dh_bridge.storage.connection import MEMORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dh_bridge.delivery import Destination
    from dh_bridge.ledger import Ledger
    from dh_bridge.openlineage.events import DeadLetter
    from dh_bridge.settings import Settings

log = logging.getLogger("dh_bridge.receiver")

_LEAVING = 10.0
"""Seconds that requests have to end in."""
_TURN_SECONDS = 0.001
"""Seconds that a thread computes while others wait for it."""
_ANSWERED = 0.2
"""Seconds in which the last answers leave."""


class Running:
    """What runs: ``url`` is where, ``destination`` where to, ``meters`` what was counted, ``exposed``: other machines reach it."""

    def __init__(self, web: Web, destination: Destination, meters: Meters, intake: Intake) -> None:
        self.url = web.url
        self.exposed = web.exposed
        self.destination = destination
        self.meters = meters
        self._intake = intake

    @property
    def refuses(self) -> str | None:
        """Why the last events were refused; None if they were not."""
        return self._intake.refuses


@contextmanager
def receiving(
    target: str, settings: Settings, place: Path | None, *, bury: Callable[[DeadLetter], None] = lambda _: None
) -> Iterator[Running]:
    """Take events over HTTP for ``target`` until the block ends; what was answered by then is in the ledger ``place``.

    A catalogue is its own ledger. ``bury`` gets what cannot be used, from several threads. A SettingsError says what cannot be
    used or is not installed, a SinkError why the target or the ledger cannot be opened.
    """
    place = place or settings.ledger.file
    if not target_kind(target).own_ledger and place is None:
        raise SettingsError(
            "START and COMPLETE of a run come in requests of their own, and must not be lost in between",
            where="--ledger",
            now="name a file for what is known of runs and waits to be sent",
        )
    meters = Meters()
    with ExitStack() as stack:
        stack.enter_context(_short_turns())
        known = noted(place, target)
        destination = open_destination(target, settings, known=known, ledger=True)
        if elsewhere := known.elsewhere(destination.place):
            log.warning("%s", elsewhere)
        stack.enter_context(destination.sink)
        ledger = stack.enter_context(ledger_of(destination, place))
        ledger.sync()  # who was answered does not send it again, whatever happens to the machine
        # a catalogue is delivered to as it is folded into
        woken: Callable[[], None] = partial(_catch_up, ledger, meters)
        if place is not None:
            meters.waits = stack.enter_context(Backlog(place)).waits
            sender = Sender(place, destination, meters)
            stack.callback(sender.close)
            meters.stall = sender.stall
            woken = sender.wake
        inbox = stack.enter_context(_inbox_of(ledger, settings)) if ledger.path != MEMORY else None
        intake = Intake(ledger, meters, batch=settings.ledger.batch, inbox=inbox, folded=woken, bury=bury)
        stack.callback(intake.close)
        app = Receiver(intake, meters, settings.receiver, zone=zone_of(settings), bury=bury)
        web = stack.enter_context(Web(app, settings.receiver))
        stack.callback(_leave, app)
        yield Running(web, destination, meters, intake)


def _inbox_of(ledger: Ledger, settings: Settings) -> Inbox:
    """Return the inbox beside the file of a ledger."""
    path = Path(ledger.path)
    mask = masked_bytes if settings.redaction != OFF else bytes
    return Inbox(path.with_name(f"{path.name}.inbox"), partial(parse, zone=zone_of(settings)), mask)


@contextmanager
def _short_turns() -> Iterator[None]:
    """Let threads take turns more often while a receiver runs: a slow event computes while others are acknowledged."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(min(before, _TURN_SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _catch_up(ledger: Ledger, meters: Meters) -> None:
    """Take a step of what another list of `writes` withheld."""
    for translation, delivery in islice(ledger.catching_up(), 1):
        meters.add(proposals=translation.counts.proposals, delivered=delivery.delivered, refused=len(delivery.failed))


def _leave(app: Receiver) -> None:
    """Take nothing more, and let those be answered who are inside."""
    app.stopping = True
    until = time.monotonic() + _LEAVING
    while app.busy and time.monotonic() < until:
        time.sleep(0.02)
    time.sleep(_ANSWERED)
    app.refusals.flush()
