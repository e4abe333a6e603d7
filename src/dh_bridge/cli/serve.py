"""``dh-bridge serve``."""

from __future__ import annotations

import logging
import signal
import sys
from contextlib import ExitStack, contextmanager
from threading import Event, Lock
from typing import TYPE_CHECKING

import click

from dh_bridge.cli import EXIT_DELIVERY
from dh_bridge.cli.console import escaped, json_line, say, visible
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import dead_option, profile_option, remember_option, with_settings
from dh_bridge.cli.path_conflicts import need_apart
from dh_bridge.cli.summary import written_to
from dh_bridge.log_throttle import LogThrottle, kind_of
from dh_bridge.openlineage.masking import Masking
from dh_bridge.receiver.running import receiving
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
@remember_option
@click.option("--listen", metavar="HOST:PORT", help="Where to listen (default 127.0.0.1:5000).")
@dead_option
@profile_option
@with_settings
@examples("dh-bridge serve --to rest:http://localhost:8080 --ledger runs.db")
def serve(*, settings: Settings, target: str, ledger: Path | None, dead: str | None) -> None:
    """Take events over HTTP and deliver what they come to: a URL for Spark, Flink, Trino, Hive and all others.

    Senders are told POST /api/v1/lineage, as of Marquez; DataHub's own /openapi/openlineage/api/v1/lineage does as well. A request
    is answered when its events are in the ledger or its inbox, which survive a restart; what they come to is delivered behind its back, later
    where the server is down. A key (receiver.token, OpenLineage's apiKey) keeps others out. GET /health and GET /metrics tell how it
    is. Ctrl-C or SIGTERM ends it: what was answered is told first.
    """
    need_apart((), {"--dead-letters": dead, "--ledger": ledger or settings.ledger.file, "--to": local_path(target)})
    _log_to_stderr()
    stop = Event()
    with ExitStack() as stack:
        bury = stack.enter_context(_letters(dead, Masking(on=settings.redaction != OFF)))
        running = stack.enter_context(receiving(target, settings, ledger, bury=bury))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: stop.set())
        say(f"writing to {running.destination.described(target, running.destination.settings.identity.mode)}")
        if settings.receiver.token is None and running.exposed:
            say("anybody who can reach it may send events: set receiver.token")
        say(f"taking events at {running.url}/api/v1/lineage")
        stop.wait()
        say("stopping")
    for line in running.meters.lines():
        say(line)
    if running.refuses is not None:
        say(f"Error: the last events were refused: {running.refuses}")
        raise click.exceptions.Exit(EXIT_DELIVERY)


class _Escaping(logging.Formatter):
    """Writes each message on one line: it quotes names of events, and answers of servers."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        return visible(super().formatMessage(record))

    def format(self, record: logging.LogRecord) -> str:
        return escaped(super().format(record))


def _log_to_stderr() -> None:
    if log.handlers:
        return
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Escaping("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)


@contextmanager
def _letters(path: str | None, masking: Masking) -> Iterator[Callable[[DeadLetter], None]]:
    """Yield what tells of an event that cannot be used, and keeps it in the file where one is named."""
    lock = Lock()
    file = None if path is None else written_to("--dead-letters", path, "ab")

    letters, failures = LogThrottle(log, logging.WARNING), LogThrottle(log, logging.ERROR)

    def bury(letter: DeadLetter) -> None:
        letter = masking.letter(
            letter
        )  # a request that cannot be parsed reaches no translation, which masks the others
        letters.log(kind_of(letter.cause), letter.text)
        if file is not None:
            try:
                with lock:
                    file.write(json_line(letter.row()))
                    file.flush()
            except OSError as error:  # a full disk: the others go on
                failures.log(
                    "--dead-letters cannot be written", f"--dead-letters {path} cannot be written: {error.strerror}"
                )

    try:
        yield bury
    finally:
        for throttle in (letters, failures):
            throttle.flush()
        if file is not None:
            file.close()
