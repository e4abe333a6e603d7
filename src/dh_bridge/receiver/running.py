"""A running receiver: the web server, the queue of the event log, and the folding process."""

from __future__ import annotations

import logging
import secrets
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.console import ConsoleApp, ConsoleSource
from dh_bridge.errors import SettingsError
from dh_bridge.ledger import read_notes
from dh_bridge.ledger.ledger_log import open_event_log
from dh_bridge.options import Options, zone_of
from dh_bridge.receiver.accept_queue import AcceptQueue
from dh_bridge.receiver.app import Receiver
from dh_bridge.receiver.backlog import Backlog
from dh_bridge.receiver.folding_worker import FoldingWorker
from dh_bridge.receiver.log_backlog import LogBacklog
from dh_bridge.receiver.metrics import ReceiverMetrics
from dh_bridge.receiver.web import WebServer
from dh_bridge.receiver.worker_messages import FoldingConfig
from dh_bridge.redaction import OFF
from dh_bridge.redaction.rules import rules
from dh_bridge.sinks.base import address_of, load_sink, target_kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dh_bridge.event_log import EventLog
    from dh_bridge.openlineage.events import DeadLetter
    from dh_bridge.settings import Settings

log = logging.getLogger("dh_bridge.receiver")

OPEN_SECONDS = 5.0
"""Seconds to wait for the target before the port opens; the target may be down."""
_DRAIN_SECONDS = 10.0
"""Seconds that requests have to end in."""
_SWITCH_INTERVAL_SECONDS = 0.001
"""Seconds that a thread computes while others wait for it."""
_LAST_RESPONSE_SECONDS = 0.2
"""Seconds in which the last answers leave."""


class RunningReceiver:
    """A running receiver: ``url`` is its address, ``metrics`` its counters, ``is_exposed`` whether other machines can reach it.

    ``description``: a text about the target of deliveries; None if it is not open yet.
    """

    def __init__(self, web: WebServer, description: str | None, metrics: ReceiverMetrics, queue: AcceptQueue) -> None:
        self.url = web.url
        self.is_exposed = web.is_exposed
        self.description = description
        self.metrics = metrics
        self._queue = queue
        self._app = web.app

    @property
    def refusal_reason(self) -> str | None:
        """Why the last events were refused; None if they were not."""
        return self._queue.refusal_reason

    def open_console(self, file: str, settings: Settings) -> str:
        """Add the console of a catalogue or ledger below ``/console/``.

        Args:
            file: The catalogue or ledger.
            settings: The settings; the token of the console is ``receiver.token``, or a new one without it.

        Returns:
            The address of the page. If the token is new, the address has it.
        """
        own_token = settings.receiver.token
        token = secrets.token_urlsafe(24) if own_token is None else own_token.get_secret_value()
        self._app.console = ConsoleApp(ConsoleSource(file, settings, must_exist=False), token, hosts=None)
        address = f"{self.url}/console/"
        return f"{address}#token={token}" if own_token is None else address


class _Parts(NamedTuple):
    """What runs behind the web server: where events go, and a text about the target."""

    queue: AcceptQueue
    description: str | None


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

    All acknowledged events are then in the ledger ``ledger_path``, or in its event log. A catalogue is its own ledger.

    Args:
        target: where the proposals are delivered.
        settings: all settings.
        ledger_path: the ledger; None: the setting ``ledger.file``.
        on_dead_letter: gets invalid events, from several threads.
        before_listening: is called before the port opens.

    Raises:
        SettingsError: A setting is invalid, or a package is not installed.
        SinkError: The event log cannot be written, or the target can never be opened; while a target is down, events are accepted.
    """
    ledger_path = ledger_path or settings.ledger.file
    kind = target_kind(target)
    if not kind.has_own_ledger and ledger_path is None:
        raise SettingsError(
            "the receiver requires a ledger, as START and COMPLETE of a run arrive in separate requests",
            location="--ledger",
            remedy="pass the path of a file for the state of runs and for queued proposals",
        )
    if settings.redaction != OFF:
        rules()  # reading them takes a moment, for which the first sender would wait
    metrics = ReceiverMetrics()
    file = Path(address_of(target)) if ledger_path is None else ledger_path
    event_log = open_event_log(file, settings)
    if event_log is None:
        raise SettingsError(
            "a catalogue in memory cannot be shared by processes", location=f"--to {target}", remedy="use catalog:FILE"
        )
    with ExitStack() as stack:
        stack.enter_context(_shorten_switch_interval())
        config = FoldingConfig(target, settings, ledger_path)
        parts = _run_parts(stack, stack.enter_context(event_log), file, config, metrics, on_dead_letter)
        app = Receiver(parts.queue, metrics, settings.receiver, zone=zone_of(settings), on_dead_letter=on_dead_letter)
        before_listening()
        web = stack.enter_context(WebServer(app, settings.receiver))
        stack.callback(_drain, app)
        yield RunningReceiver(web, parts.description, metrics, parts.queue)


def _run_parts(  # noqa: PLR0913 - as run_receiver
    stack: ExitStack,
    event_log: EventLog,
    file: Path,
    config: FoldingConfig,
    metrics: ReceiverMetrics,
    on_dead_letter: Callable[[DeadLetter], None],
) -> _Parts:
    """Accept events into the log of the ledger ``file``; another process merges and delivers them."""
    load_sink(config.target)  # a missing extra is reported before the other process starts
    read_notes(config.ledger_path, config.target)  # and a file that cannot be the ledger
    options = Options(config.settings)
    backlog = stack.enter_context(LogBacklog(event_log, file))
    metrics.read_log = backlog.read
    if config.ledger_path is not None:
        metrics.read_backlog = stack.enter_context(Backlog(config.ledger_path)).read
    worker = stack.enter_context(FoldingWorker(config, metrics, on_dead_letter=on_dead_letter))
    metrics.stall_reason = worker.stall_reason
    queue = stack.enter_context(
        AcceptQueue(event_log, options, metrics, min_position=backlog.next_position(), on_append=worker.wake)
    )
    worker.wait_until_open(OPEN_SECONDS)
    return _Parts(queue, worker.description)


@contextmanager
def _shorten_switch_interval() -> Iterator[None]:
    """Let threads take turns more often while a receiver runs: a slow event computes while others are acknowledged."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(min(interval, _SWITCH_INTERVAL_SECONDS))
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def _drain(app: Receiver) -> None:
    """Accept no new requests, and answer the open ones."""
    app.is_stopping = True
    deadline = time.monotonic() + _DRAIN_SECONDS
    while app.is_busy and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(_LAST_RESPONSE_SECONDS)
    app.refusals.flush()
