"""Processes the events of a ledger's log that are not in its states yet.

An error of one event must not stop the others. If a batch fails, its events are processed one by one, and each try is stored
before it begins, so that an event that kills the process is counted, too. After three tries an event becomes a dead letter.
"""

from __future__ import annotations

import logging
import sqlite3
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from dh_bridge.errors import INTERNAL_ERROR, SinkError
from dh_bridge.ledger.batch_source import PendingEvents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dh_bridge.ledger.batch_source import BatchSource
    from dh_bridge.ledger.ledger_log import LedgerLog
    from dh_bridge.ledger.log_failures import FailedEvent
    from dh_bridge.session import Translation
    from dh_bridge.sinks.base import Delivery
    from dh_bridge.storage.database import Database

log = logging.getLogger("dh_bridge.ledger")

KILLED = "the process ended while it processed the event"


class ProcessBatch(Protocol):
    """The ledger's method that processes one transaction."""

    def __call__(self, source: BatchSource, /) -> tuple[Translation, Delivery]:
        """Process the events of a source."""


class LogFolder:
    """Processes pending events in batches of at most ``max_events`` and ``max_bytes``; ``clock`` in seconds.

    ``careful_events``: how many events are processed one by one, as one of them may have ended an earlier process.
    """

    def __init__(  # noqa: PLR0913 - the parts of a ledger
        self,
        file: Database,
        ledger_log: LedgerLog,
        process: ProcessBatch,
        clock: Callable[[], float],
        *,
        max_events: int,
        max_bytes: int,
        careful_events: int = 0,
    ) -> None:
        self._file = file
        self._log = ledger_log
        self._process = process
        self._clock = clock
        self._max_events = max_events
        self._max_bytes = max_bytes
        #: events that are processed one by one, because a batch of them failed
        self._careful_events = max(careful_events, self._interrupted_events())

    def fold(self, last: int | None = None) -> Iterator[tuple[Translation, Delivery]]:
        """Yield the result of each batch, until no event is pending, or that at the position ``last`` is processed."""
        while (last is None or self._log.cursor() < last) and (result := self.fold_batch()) is not None:
            yield result

    def fold_batch(self) -> tuple[Translation, Delivery] | None:
        """Process the next events; return None if there are none.

        Raises:
            SinkError: The ledger or the log cannot be read or written; the events stay pending.
        """
        if self._careful_events:
            self._careful_events -= 1
            return self._fold_one()
        source = PendingEvents(self._log, max_events=self._max_events, max_bytes=self._max_bytes)
        try:
            result = self._process(source)
        except (SinkError, sqlite3.Error):
            raise
        except Exception:
            if source.batch is None or not source.batch.events:
                raise
            log.exception("%s events of the log cannot be processed: each is tried alone", len(source.batch.events))
            self._careful_events = len(source.batch.events)
            self._log.forget_accepted()  # the failed try may have changed the events in memory
            return self.fold_batch()
        return result if source.batch is not None and source.batch.events else None

    def _fold_one(self) -> tuple[Translation, Delivery] | None:
        """Process one event alone, until it succeeds or is given up."""
        batch = self._log.read(max_events=1, max_bytes=1)
        if not batch.events:
            self._careful_events = 0
            return None
        ((position, event),) = batch.events
        while True:
            earlier = self._begin_try(position, event.location)
            try:
                return self._process(PendingEvents(self._log, max_events=1, max_bytes=1))
            except (SinkError, sqlite3.Error):
                with suppress(SinkError, sqlite3.Error), self._file.transaction():
                    self._log.failures.restore(position, earlier)  # the event is not the cause
                raise
            except Exception as error:
                log.exception("%s: event %s of the log cannot be processed", event.location, position)
                reason = f"{INTERNAL_ERROR}: {type(error).__name__}: {error}"
                with self._file.transaction():
                    self._log.failures.update_reason(position, reason)

    def _begin_try(self, position: int, location: str) -> FailedEvent | None:
        """Store a try, and return the failure that was stored before."""
        earlier = self._log.failures.get(position)
        if earlier is None or not earlier.is_dead:
            with self._file.transaction():
                reason = KILLED if earlier is None else earlier.reason
                self._log.failures.record_try(position, location, reason, int(self._clock() * 1000))
        return earlier

    def _interrupted_events(self) -> int:
        """Return how many events are processed one by one, because a process was killed by one of them."""
        cursor = self._log.cursor()
        interrupted = [
            failure for failure in self._log.failures.iter_failures(is_dead=False) if failure.position > cursor
        ]
        return max((failure.position - cursor for failure in interrupted), default=0)
