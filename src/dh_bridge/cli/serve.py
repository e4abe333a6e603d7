"""``dh-bridge serve``."""

from __future__ import annotations

import logging
import signal
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import Event, Lock
from typing import TYPE_CHECKING

import click

from dh_bridge.cli import EXIT_DELIVERY
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import datahub_version_option, dead_letters_option, new_ledger_option, with_settings
from dh_bridge.cli.path_conflicts import require_separate_files
from dh_bridge.cli.summary import open_output
from dh_bridge.cli.targets import say_connecting
from dh_bridge.cli.terminal import json_line, say
from dh_bridge.cli.verbose import add_handler
from dh_bridge.log_throttle import LogThrottle, kind_of
from dh_bridge.openlineage.masking import EventMasker
from dh_bridge.receiver.running import run_receiver
from dh_bridge.redaction import OFF
from dh_bridge.sinks.base import local_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dh_bridge.openlineage.events import DeadLetter
    from dh_bridge.settings import Settings

log = logging.getLogger("dh_bridge.receiver")


@click.command()
@click.option(
    "--to", "target", required=True, metavar="TARGET", help="As of emit: rest:URL, rest:, kafka:BROKERS, catalog:FILE."
)
@new_ledger_option
@click.option("--listen", metavar="HOST:PORT", help="Where to listen (default 127.0.0.1:5000).")
@dead_letters_option
@click.option("--console", "has_console", is_flag=True, help="Also serve the console of the ledger, below /console/.")
@datahub_version_option
@with_settings
@examples("dh-bridge serve --to rest:http://localhost:8080 --ledger runs.db")
def serve(*, settings: Settings, target: str, ledger: Path | None, dead: str | None, has_console: bool) -> None:
    """Run an OpenLineage HTTP endpoint that forwards events to DataHub.

    Point clients at POST /api/v1/lineage (compatible with Marquez; DataHub's /openapi/openlineage/api/v1/lineage works, too). A
    request is answered when its events are stored in the event log, which survives a restart. Delivery to DataHub runs in
    the background and is retried while DataHub is down. The endpoint listens on 127.0.0.1. If it listens elsewhere, set
    receiver.token: clients send it as OpenLineage's apiKey, and the console asks for it. Health: GET /health. Prometheus: GET /metrics. On Ctrl-C or SIGTERM,
    accepted events are flushed before exit.
    """
    require_separate_files(
        (), {"--dead-letters": dead, "--ledger": ledger or settings.ledger.file, "--to": local_path(target)}
    )
    console_file = ledger or settings.ledger.file or local_path(target)
    if has_console and console_file is None:
        raise click.UsageError("--console needs a file: pass --ledger FILE, or --to catalog:FILE.")
    _log_to_stderr()
    stop = Event()
    with ExitStack() as stack:
        on_dead_letter = stack.enter_context(
            _dead_letter_handler(dead, EventMasker(is_enabled=settings.redaction != OFF))
        )
        say_connecting(target, settings)
        receiver = stack.enter_context(
            run_receiver(
                target,
                settings,
                ledger,
                on_dead_letter=on_dead_letter,
                before_listening=partial(_on_signals, stop.set),  # a client that sees the open port may send a signal
            )
        )
        if receiver.description is not None:
            say(f"writing to {receiver.description}")
        if settings.receiver.token is None and receiver.is_exposed:
            say("anybody who can reach it may send events: set receiver.token")
        say(f"taking events at {receiver.url}/api/v1/lineage")
        if has_console:
            say(f"console at {receiver.open_console(str(console_file), settings)}")
        stop.wait()
        say("stopping")
    for line in receiver.metrics.summary_lines():
        say(line)
    if receiver.refusal_reason is not None:
        say(f"Error: the last events were refused: {receiver.refusal_reason}")
        raise click.exceptions.Exit(EXIT_DELIVERY)


def _on_signals(stop: Callable[[], None]) -> None:
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, lambda *_: stop())


def _log_to_stderr() -> None:
    if not log.handlers and not logging.getLogger("dh_bridge").handlers:  # else -v shows it
        add_handler(log, logging.INFO)


@contextmanager
def _dead_letter_handler(path: str | None, masking: EventMasker) -> Iterator[Callable[[DeadLetter], None]]:
    """Yield the function that logs an event which cannot be used, and appends it to the file, if a file is named."""
    lock = Lock()
    file = None if path is None else open_output("--dead-letters", path, "ab")

    letter_log, failure_log = LogThrottle(log, logging.WARNING), LogThrottle(log, logging.ERROR)

    def handle(letter: DeadLetter) -> None:
        letter = masking.mask_dead_letter(
            letter
        )  # a request that cannot be parsed reaches no translation, which masks the others
        letter_log.log(kind_of(letter.cause), letter.text)
        if file is not None:
            try:
                with lock:
                    file.write(json_line(letter.row()))
                    file.flush()
            except OSError as error:  # a full disk: the others go on
                failure_log.log(
                    "--dead-letters cannot be written", f"--dead-letters {path} cannot be written: {error.strerror}"
                )

    try:
        yield handle
    finally:
        for throttle in (letter_log, failure_log):
            throttle.flush()
        if file is not None:
            file.close()
