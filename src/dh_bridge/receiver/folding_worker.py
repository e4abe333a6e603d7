"""Starts the folding process of a receiver, reads its messages, and starts it again if it ends."""

from __future__ import annotations

import logging
import subprocess
import sys
import time
from contextlib import suppress
from threading import Event as Signal
from threading import Lock, Thread
from typing import IO, TYPE_CHECKING

from dh_bridge import errors
from dh_bridge.receiver.worker_messages import MAX_FOLD_EVENTS, FoldingConfig, WorkerMessage, decode_message
from dh_bridge.retry_buffer import Backoff
from dh_bridge.sinks.base import Closable

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.errors import BridgeError
    from dh_bridge.openlineage.events import DeadLetter
    from dh_bridge.receiver.metrics import ReceiverMetrics

log = logging.getLogger("dh_bridge.receiver")

FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.5, 60.0
"""Seconds before the process is started again (they double)."""
STEADY_SECONDS = 60.0
"""A process that ran for so long is started again after the first pause."""
END_SECONDS = 8.5
"""Seconds in which the process has to end; events that it did not process stay in the log."""


class FoldingWorker(Closable):
    """The folding process; ``on_dead_letter`` gets events that cannot be used."""

    def __init__(
        self, config: FoldingConfig, metrics: ReceiverMetrics, *, on_dead_letter: Callable[[DeadLetter], None]
    ) -> None:
        self._config = config
        self._metrics = metrics
        self._on_dead_letter = on_dead_letter
        self._lock = Lock()
        self._is_closing = Signal()
        self._has_reported = Signal()
        self._stall = ""
        self._fatal: BridgeError | None = None
        #: a text about the target; None until it is open
        self.description: str | None = None
        self._process = self._start(config)
        self._thread = Thread(target=self._run, name="dh_bridge.folding", daemon=True)
        self._thread.start()

    @property
    def process_id(self) -> int:
        """The id of the process that runs now."""
        return self._process.pid

    def wait_until_open(self, timeout: float) -> None:
        """Wait until the target is open, or cannot be opened now.

        Raises:
            BridgeError: The process cannot work, for example because of a setting.
        """
        self._has_reported.wait(timeout)
        if self._fatal is not None:
            raise self._fatal

    def wake(self) -> None:
        """Report that the log has new events."""
        with self._lock, suppress(OSError, ValueError):  # a process that has ended is started again
            self._pipe_of(self._process).write(b"\n")

    def stall_reason(self) -> str | None:
        """Return why events are not processed or proposals not delivered; None if they are."""
        return self._stall or None

    def close(self) -> None:
        """Let the process merge and deliver what waits, within its time limits, and end it."""
        self._is_closing.set()
        with self._lock, suppress(OSError, ValueError):
            self._pipe_of(self._process).close()
        self._thread.join(END_SECONDS)
        if self._thread.is_alive():
            self._process.kill()
            self._thread.join()

    def _run(self) -> None:
        backoff = Backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        while True:
            started_at = time.monotonic()
            self._read_messages()
            code = self._process.wait()
            if self._is_closing.is_set():
                return
            if time.monotonic() - started_at > STEADY_SECONDS:
                backoff.reset()
            pause = backoff.next()
            self._stall = f"the folding process ended with code {code}"
            log.error("%s: it is started again in %.1f s (accepted events are in the event log)", self._stall, pause)
            if self._is_closing.wait(pause):
                return
            with self._lock:
                if self._is_closing.is_set():
                    return
                self._process = self._start(self._config._replace(careful_events=MAX_FOLD_EVENTS))

    @staticmethod
    def _start(config: FoldingConfig) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-m", "dh_bridge.receiver.folding"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
        )
        with suppress(OSError):  # it may have ended already
            FoldingWorker._pipe_of(process).write(config.encode())
        return process

    @staticmethod
    def _pipe_of(process: subprocess.Popen[bytes]) -> IO[bytes]:
        assert process.stdin is not None  # noqa: S101 - it was started with a pipe
        return process.stdin

    def _read_messages(self) -> None:
        """Handle the messages of the process until it ends."""
        process = self._process
        assert process.stdout is not None  # noqa: S101 - it was started with a pipe
        with open(process.stdout.fileno(), "rb", closefd=False) as lines:
            for line in lines:
                self._handle(decode_message(line))
        process.stdout.close()
        with self._lock, suppress(OSError):
            self._pipe_of(process).close()
        self._has_reported.set()

    def _handle(self, message: WorkerMessage) -> None:
        if message.counts is not None:
            self._metrics.add(**message.counts)
        if message.dead is not None:
            self._on_dead_letter(message.dead)
        if message.log is not None:
            name, level, text = message.log
            logging.getLogger(name).log(level, "%s", text)
        if message.stall is not None:
            self._stall = message.stall
            self._has_reported.set()
        if message.opened is not None:
            if self._has_reported.is_set() and self.description is None:
                log.info("writing to %s", message.opened)
            self.description, self._stall = message.opened, ""
            self._has_reported.set()
        if message.fatal is not None:
            self._fatal = _to_error(*message.fatal)
            self._stall = str(self._fatal)
            if self._has_reported.is_set():
                log.error("%s", self._fatal)
            self._has_reported.set()


def _to_error(kind: str, problem: str, location: str, remedy: str) -> BridgeError:
    """Return an error of the folding process."""
    error_class: type[BridgeError] = getattr(errors, kind, errors.SinkError)
    return error_class(problem, location=location, remedy=remedy)
