"""A running receiver: its ledger, the thread that merges, the thread that delivers, and the web server."""

from __future__ import annotations

import logging
import sys
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dh_bridge.delivery import open_target
from dh_bridge.errors import SettingsError
from dh_bridge.ledger import read_notes
from dh_bridge.openlineage.masking import mask_bytes
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.options import zone_of
from dh_bridge.receiver.app import Receiver
from dh_bridge.receiver.backlog import Backlog
from dh_bridge.receiver.inbox import Inbox
from dh_bridge.receiver.ingest_queue import IngestQueue
from dh_bridge.receiver.metrics import ReceiverMetrics
from dh_bridge.receiver.sending import DeliveryWorker, delivery_ledger
from dh_bridge.receiver.web import WebServer
from dh_bridge.redaction import OFF
from dh_bridge.redaction.rules import rules
from dh_bridge.sinks.base import target_kind
from dh_bridge.storage.connection import MEMORY_PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dh_bridge.delivery import DeliveryTarget
    from dh_bridge.ledger import Ledger
    from dh_bridge.openlineage.events import DeadLetter
    from dh_bridge.settings import Settings

log = logging.getLogger("dh_bridge.receiver")

_DRAIN_SECONDS = 10.0
"""Seconds that requests have to end in."""
_SWITCH_INTERVAL_SECONDS = 0.001
"""Seconds that a thread computes while others wait for it."""
_LAST_RESPONSE_SECONDS = 0.2
"""Seconds in which the last answers leave."""


class RunningReceiver:
    """A running receiver: ``url`` is its address, ``target`` that of deliveries, ``metrics`` its counters, ``is_exposed``.

    Other machines can reach it.
    """

    def __init__(
        self, web: WebServer, target: DeliveryTarget, metrics: ReceiverMetrics, ingest_queue: IngestQueue
    ) -> None:
        self.url = web.url
        self.is_exposed = web.is_exposed
        self.target = target
        self.metrics = metrics
        self._ingest_queue = ingest_queue

    @property
    def refusal_reason(self) -> str | None:
        """Why the last events were refused; None if they were not."""
        return self._ingest_queue.refusal_reason


@contextmanager
def run_receiver(
    target: str,
    settings: Settings,
    ledger_path: Path | None,
    *,
    on_dead_letter: Callable[[DeadLetter], None] = lambda _: None,
    before_listening: Callable[[], object] = lambda: None,
) -> Iterator[RunningReceiver]:
    """Receive events over HTTP for ``target`` until the block ends.

    All acknowledged events are then in the ledger ``ledger_path``.

    A catalogue is its own ledger. ``on_dead_letter`` gets invalid events, from several threads; ``before_listening`` is called
    before the port opens. A SettingsError names what is invalid or not installed, a SinkError why the target or the ledger
    cannot be opened.
    """
    ledger_path = ledger_path or settings.ledger.file
    if not target_kind(target).has_own_ledger and ledger_path is None:
        raise SettingsError(
            "the receiver requires a ledger, as START and COMPLETE of a run arrive in separate requests",
            location="--ledger",
            remedy="pass the path of a file for the state of runs and for queued proposals",
        )
    if settings.redaction != OFF:
        rules()  # reading them takes a moment, for which the first sender would wait
    metrics = ReceiverMetrics()
    with ExitStack() as stack:
        stack.enter_context(_shorten_switch_interval())
        target_notes = read_notes(ledger_path, target)
        delivery_target = open_target(target, settings, target_notes=target_notes, ledger=True)
        if target_warning := target_notes.target_warning(delivery_target.address):
            log.warning("%s", target_warning)
        stack.enter_context(delivery_target.sink)
        ledger = stack.enter_context(delivery_ledger(delivery_target, ledger_path))
        ledger.use_full_sync()  # who was answered does not send it again, whatever happens to the machine
        # events are merged into a catalogue and delivered to it in one step
        on_commit: Callable[[], None] = partial(_catch_up, ledger, metrics)
        if ledger_path is not None:
            metrics.read_backlog = stack.enter_context(Backlog(ledger_path)).read
            worker = DeliveryWorker(ledger_path, delivery_target, metrics)
            stack.callback(worker.close)
            metrics.stall_reason = worker.stall_reason
            on_commit = worker.wake
        inbox = stack.enter_context(_open_inbox(ledger, settings)) if ledger.path != MEMORY_PATH else None
        ingest_queue = IngestQueue(
            ledger,
            metrics,
            batch=settings.ledger.batch,
            inbox=inbox,
            on_commit=on_commit,
            on_dead_letter=on_dead_letter,
        )
        stack.callback(ingest_queue.close)
        app = Receiver(ingest_queue, metrics, settings.receiver, zone=zone_of(settings), on_dead_letter=on_dead_letter)
        before_listening()
        web = stack.enter_context(WebServer(app, settings.receiver))
        stack.callback(_drain, app)
        yield RunningReceiver(web, delivery_target, metrics, ingest_queue)


def _open_inbox(ledger: Ledger, settings: Settings) -> Inbox:
    """Return the inbox beside the file of a ledger."""
    path = Path(ledger.path)
    mask = mask_bytes if settings.redaction != OFF else bytes
    return Inbox(path.with_name(f"{path.name}.inbox"), partial(parse_event, zone=zone_of(settings)), mask)


@contextmanager
def _shorten_switch_interval() -> Iterator[None]:
    """Let threads take turns more often while a receiver runs: a slow event computes while others are acknowledged."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(min(interval, _SWITCH_INTERVAL_SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def _catch_up(ledger: Ledger, metrics: ReceiverMetrics) -> None:
    """Render some of the entities again that an earlier list of `writes` excluded."""
    for translation, delivery in islice(ledger.render_withheld(), 1):
        metrics.add(
            proposals=translation.counts.proposals, delivered=delivery.delivered_count, refused=len(delivery.failures)
        )


def _drain(app: Receiver) -> None:
    """Accept no new requests, and answer the open ones."""
    app.is_stopping = True
    deadline = time.monotonic() + _DRAIN_SECONDS
    while app.is_busy and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(_LAST_RESPONSE_SECONDS)
    app.refusals.flush()
