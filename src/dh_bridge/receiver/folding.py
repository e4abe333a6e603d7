"""The folding process of a receiver: it follows the event log, merges the events, and delivers.

``python -m dh_bridge.receiver.folding`` reads its configuration from the first line of stdin. Each further line wakes it, and the end
of stdin ends it. It writes messages to stdout (``worker_messages.py``).
"""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import sys
import time
from contextlib import ExitStack
from itertools import islice
from threading import Event as Signal
from threading import Thread
from typing import IO, TYPE_CHECKING

from dh_bridge.cache import relax_garbage_collection
from dh_bridge.delivery import open_target
from dh_bridge.errors import BridgeError, SinkError
from dh_bridge.ledger import read_notes
from dh_bridge.receiver.batch_report import SLOW_EVENT_SECONDS, BatchReporter
from dh_bridge.receiver.metrics import ReceiverMetrics
from dh_bridge.receiver.outage_log import OutageLog
from dh_bridge.receiver.sending import DeliveryWorker, delivery_ledger
from dh_bridge.receiver.worker_messages import MAX_FOLD_EVENTS, FoldingConfig, MessageSender, WorkerMessage
from dh_bridge.retry_buffer import Backoff

if TYPE_CHECKING:
    from dh_bridge.delivery import DeliveryTarget
    from dh_bridge.ledger import Ledger
    from dh_bridge.session import Translation
    from dh_bridge.sinks.base import Delivery

log = logging.getLogger("dh_bridge.receiver")

GATHER_SECONDS = 0.05
"""Seconds to wait after the first event, so that more of them are merged together."""
POLL_SECONDS = 2.0
"""Seconds after which it looks by itself: another process may have appended events."""
LAST_FOLD_SECONDS = 1.0
"""Seconds in which pending events are still merged when the receiver ends; the others stay in the log."""
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 1.0, 5.0
"""Seconds between two tries to open the target or to write the ledger (they double)."""


class FoldingProcess:
    """Opens the target, then folds until it is ended."""

    def __init__(self, config: FoldingConfig, sender: MessageSender) -> None:
        self._config = config
        self._sender = sender
        self._wake, self._end = Signal(), Signal()
        self._outages = OutageLog("events are processed again")
        self._metrics = _SentMetrics(sender)
        self._reporter = BatchReporter(self._metrics, lambda letter: sender.send(WorkerMessage(dead=letter)))
        self._careful_events = config.careful_events
        self._stall = ""
        #: whether the target and the ledger were open once
        self._was_ready = False
        self._backoff = Backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)

    def follow_pipe(self, pipe: IO[bytes]) -> None:
        """Wake up at each line, and end at the end of the pipe."""
        while pipe.readline():
            self._wake.set()
        self._end.set()
        self._wake.set()

    def run(self) -> None:
        """Open the target, retrying while it is unreachable, and fold until the end.

        Raises:
            BridgeError: The target or the ledger cannot be used, and a retry cannot help.
        """
        while not self._end.is_set():
            error = self._run_once()
            if error is not None:
                if isinstance(error, SinkError) and not (error.retryable or self._was_ready):
                    raise error
                self._report_failure(f"accepted events wait in the event log: {error}")
                self._end.wait(self._backoff.next())

    def _run_once(self) -> SinkError | sqlite3.Error | None:
        """Open the target, and fold until the end; return the error that interrupts it."""
        try:
            target = self._open_target()
            with target.sink:
                self._run_open(target)
        except (SinkError, sqlite3.Error) as error:
            return error
        return None

    def _open_target(self) -> DeliveryTarget:
        config = self._config
        notes = read_notes(config.ledger_path, config.target)
        target = open_target(config.target, config.settings, target_notes=notes, ledger=True)
        if target_warning := notes.target_warning(target.address):
            log.warning("%s", target_warning)
        return target

    def _run_open(self, target: DeliveryTarget) -> None:
        with ExitStack() as stack:
            stack.callback(self._reporter.flush)
            ledger = stack.enter_context(delivery_ledger(target, self._config.ledger_path))
            text = target.describe(self._config.target, ", ".join(target.settings.identity.mode))
            self._sender.send(WorkerMessage(opened=text))
            self._stall, self._was_ready = "", True
            self._backoff.reset()
            worker = None
            if self._config.ledger_path is not None:
                worker = DeliveryWorker(self._config.ledger_path, target, self._metrics)
                stack.callback(worker.close)
            while not self._end.is_set():
                self._fold(ledger, worker)
                self._outages.log_recovery()
                self._send_stall((worker.stall_reason() if worker is not None else None) or "")
                if self._wake.wait(POLL_SECONDS):
                    self._end.wait(GATHER_SECONDS)
                self._wake.clear()
            self._fold(ledger, worker, deadline=time.monotonic() + LAST_FOLD_SECONDS)

    def _fold(self, ledger: Ledger, worker: DeliveryWorker | None, deadline: float | None = None) -> None:
        """Merge the pending events; stop at the deadline, or at the end of the process."""
        careful_events, self._careful_events = self._careful_events, 0
        batches = ledger.fold_log(
            max_events=min(MAX_FOLD_EVENTS, self._config.settings.ledger.batch), careful_events=careful_events
        )
        started_at = time.thread_time()
        for translation, delivery in batches:
            self._report(translation, delivery, time.thread_time() - started_at)
            if worker is not None:
                worker.wake()
            if self._end.is_set() and (deadline is None or time.monotonic() > deadline):
                return
            started_at = time.thread_time()
        if worker is None:  # of a catalogue, which has no outbox
            for translation, delivery in islice(ledger.render_withheld(), 1):
                self._report(translation, delivery, 0)

    def _report(self, translation: Translation, delivery: Delivery, seconds: float) -> None:
        self._reporter.report(translation, delivery)
        counts = translation.counts
        if counts.events and seconds / counts.events > SLOW_EVENT_SECONDS:
            self._metrics.add(slow_events=1)
            log.warning("merging a batch of events took %.1f s of CPU time (events: %s)", seconds, f"{counts.events:,}")

    def _report_failure(self, text: str) -> None:
        self._outages.log_failure(text)
        self._send_stall(text)

    def _send_stall(self, text: str) -> None:
        if text != self._stall:
            self._stall = text
            self._sender.send(WorkerMessage(stall=text))


class _SentMetrics(ReceiverMetrics):
    """Counters that are sent to the receiver."""

    def __init__(self, sender: MessageSender) -> None:
        super().__init__()
        self._sender = sender

    def add(self, **counts: int) -> None:
        """Send counts that are not 0."""
        if changed := {name: number for name, number in counts.items() if number}:
            self._sender.send(WorkerMessage(counts=changed))


class _SentLog(logging.Handler):
    """Sends log records to the receiver."""

    def __init__(self, sender: MessageSender) -> None:
        super().__init__()
        self._sender = sender

    def emit(self, record: logging.LogRecord) -> None:
        """Send a record, with its traceback."""
        self._sender.send(WorkerMessage(log=(record.name, record.levelno, self.format(record))))


def main() -> None:
    """Run a folding process until the receiver ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the receiver, which ends this process
    relax_garbage_collection()
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing else may write between the messages
    sender = MessageSender(output)
    logger = logging.getLogger("dh_bridge")
    logger.addHandler(_SentLog(sender))
    logger.setLevel(logging.INFO)
    run_folding(sys.stdin.buffer, sender)


def run_folding(pipe: IO[bytes], sender: MessageSender) -> None:
    """Fold as the first line of ``pipe`` configures it, until the end of the pipe."""
    process = FoldingProcess(FoldingConfig.decode(pipe.readline()), sender)
    Thread(target=process.follow_pipe, args=(pipe,), name="dh_bridge.pipe", daemon=True).start()
    try:
        process.run()
    except BridgeError as error:
        sender.send(WorkerMessage(fatal=(type(error).__name__, error.problem, error.location, error.remedy)))


if __name__ == "__main__":
    main()
