"""The queue of requests: events are merged into the ledger, one transaction for all requests that wait.

Requests that probably take long wait in a lane of their own (``lanes.py``). While a transaction takes long, small requests are
acknowledged from the inbox (``inbox.py``), and are merged afterwards.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from math import inf
from threading import Lock, Thread
from typing import TYPE_CHECKING

from dh_bridge.errors import INTERNAL_ERROR, SinkError
from dh_bridge.log_throttle import LogThrottle
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.receiver.batch_report import SLOW_EVENT_SECONDS, BatchReporter
from dh_bridge.receiver.lanes import EVENTS_PER_BATCH, IngestRequest, RequestLanes
from dh_bridge.receiver.outage_log import OutageLog
from dh_bridge.sinks.base import Closable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dh_bridge.ledger import Ledger
    from dh_bridge.openlineage.events import Event
    from dh_bridge.receiver.inbox import Inbox
    from dh_bridge.receiver.metrics import ReceiverMetrics

log = logging.getLogger("dh_bridge.receiver")


INBOX_SECONDS = 0.1
"""Seconds that a small request waits for the transaction of a large one before it is acknowledged from the inbox."""
SMALL_SECONDS = 1.0
"""The same for a transaction of small requests, which are likely to be in the ledger soon."""


class IngestQueue(Closable):
    """Merges events in a thread of its own.

    Calls ``on_commit`` after each transaction, and ``on_dead_letter`` with invalid events.

    ``batch``: maximum events of one transaction. ``inbox``: stores small requests while a transaction takes long; those of an
    earlier process are merged first.
    """

    def __init__(  # noqa: PLR0913 - its parts
        self,
        ledger: Ledger,
        metrics: ReceiverMetrics,
        *,
        batch: int,
        inbox: Inbox | None = None,
        on_commit: Callable[[], None] = lambda: None,
        on_dead_letter: Callable[[DeadLetter], None] = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._metrics = metrics
        self._batch = min(batch, EVENTS_PER_BATCH)
        self._on_commit = on_commit
        self._on_dead_letter = on_dead_letter
        self._ingest_outages = OutageLog("events are accepted again")
        self._delivery_outages = OutageLog("proposals are delivered again")
        #: why the last events were not taken, None: they were
        self.refusal_reason: str | None = None
        self._slow_events = LogThrottle(log, logging.WARNING)
        self._reporter = BatchReporter(metrics, on_dead_letter)
        self._lanes = RequestLanes(self._batch)
        self._inbox = inbox
        self._lock = Lock()
        #: time of the monotonic clock from which small requests do not wait for the transaction that runs
        self._deadline = inf
        self._ingest_pending()
        self._thread = Thread(target=self._run, name="dh_bridge.intake", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether anything is still taken."""
        return self._thread.is_alive()

    def take(self, events: Sequence[Event], timeout: float | None = None) -> list[str | None]:
        """Merge ``events``; return None for each one in the ledger, or the reason why it is invalid.

        A SinkError if the ledger cannot be written or is full, or if ``timeout`` seconds are over: the events may then be sent
        again, any number of times. Many events are merged a batch at a time, so that other requests are merged between them.
        """
        reasons: list[str | None] = []
        while len(reasons) < len(events):
            reasons += self._take_batch(events[len(reasons) : len(reasons) + self._batch], timeout)
        return reasons

    def _take_batch(self, events: Sequence[Event], timeout: float | None) -> list[str | None]:
        request = IngestRequest(events, Future())
        self._lanes.put(request)
        deadline = inf if timeout is None else time.monotonic() + timeout
        answer = request.answer
        try:
            while not _is_done(answer, max(0.0, min(INBOX_SECONDS, deadline - time.monotonic()))):
                if self._store_in_inbox(request):
                    return [None] * len(events)
                if time.monotonic() >= deadline:
                    answer.cancel()  # the request has timed out and its client sends it again
                    raise SinkError("the ledger is busy", remedy="send the events again", retryable=True)
            return answer.result()
        finally:
            # an error leads to this frame, and the answer to the error: a cycle that would hold the events
            del request, answer

    def _store_in_inbox(self, request: IngestRequest) -> bool:
        """Write a small request into the inbox if it waits for a long transaction; return whether it is acknowledged from there."""
        inbox = self._inbox
        if inbox is None or not request.is_small or not (inbox or time.monotonic() > self._deadline):
            return False
        row = inbox.add(request.events)
        if row is None:
            return False
        with self._lock:
            if not request.answer.done():
                request.row = row
                self._metrics.add(inbox_events=len(request.events))
                return True
        inbox.remove([row])
        return False

    def _ingest_pending(self) -> None:
        """Merge the requests that an earlier process acknowledged but did not merge."""
        for row, events, letters in self._inbox.pending() if self._inbox is not None else ():
            for letter in letters:
                self._on_dead_letter(letter)
            if events:
                self._lanes.put(IngestRequest(events, Future(), row))
            elif self._inbox is not None:
                self._inbox.remove([row])

    def close(self) -> None:
        """Merge the waiting requests, and end."""
        self._lanes.close()
        self._thread.join()
        self._slow_events.flush()
        self._reporter.flush()

    def _run(self) -> None:
        while (requests := self._lanes.take()) is not None:
            self._ingest_requests(requests)
            del requests  # hold no reference to the last one while waiting

    def _ingest_requests(self, requests: list[IngestRequest]) -> None:
        """Merge those of ``requests`` that are still open.

        No error ends the thread, or all later requests would wait for ever.
        """
        requests = [request for request in requests if request.answer.set_running_or_notify_cancel()]
        if requests:
            self._ingest(requests)

    def _ingest(self, requests: list[IngestRequest]) -> None:
        started_at = time.monotonic()
        self._deadline = started_at + (
            SMALL_SECONDS if all(request.is_small for request in requests) else INBOX_SECONDS
        )
        try:
            reasons = self._ingest_timed([event for request in requests for event in request.events])
            self._acknowledge(requests, reasons)
        except SinkError as error:
            self.refusal_reason = error.problem
            self._ingest_outages.log_failure(f"events are rejected with status 503: {error}")
            self._lanes.put_back(self._fail_requests(requests, error.with_traceback(None)))
        except Exception:
            self.refusal_reason = INTERNAL_ERROR
            log.exception("%s", INTERNAL_ERROR)
            self._fail_requests(
                requests, SinkError(INTERNAL_ERROR, retryable=True)
            )  # at the next start, the inbox is tried again
        else:
            self.refusal_reason = None
            self._ingest_outages.log_recovery()
            self._call_on_commit()
        finally:
            self._deadline = inf
        self._lanes.delay_slow_lane(time.monotonic() - started_at)

    def _acknowledge(self, requests: list[IngestRequest], reasons: dict[int, str]) -> None:
        """Answer requests whose events are in the ledger."""
        with self._lock:
            for request in requests:
                request.answer.set_result([reasons.get(id(event.raw)) for event in request.events])
            rows = [request.row for request in requests if request.row is not None]
        if self._inbox is not None:
            self._inbox.remove(rows)

    def _fail_requests(self, requests: list[IngestRequest], error: Exception) -> list[IngestRequest]:
        """Answer with an error those that have no answer yet; return the others, which are acknowledged, to be tried again."""
        with self._lock:
            acknowledged = [request for request in requests if request.row is not None]
            for request in requests:
                if not request.answer.done():
                    request.answer.set_exception(error)
        return [IngestRequest(request.events, Future(), request.row) for request in acknowledged]

    def _ingest_timed(self, events: list[Event]) -> dict[int, str]:
        """Merge ``events`` into the ledger; report an event that takes longer than its budget."""
        started_at = time.thread_time()
        try:
            return self._write_events(events)
        finally:
            if (seconds := time.thread_time() - started_at) > SLOW_EVENT_SECONDS:
                self._report_slow_event(events, seconds)

    def _report_slow_event(self, events: list[Event], seconds: float) -> None:
        """Count and log an event that took longer than its budget; of several, the largest is named."""
        self._metrics.add(slow_events=1)
        event = max(events, key=lambda candidate: len(candidate.raw))
        size = f"{len(event.raw):,} bytes, run {event.run_id[:100]}"
        text = (
            f"{event.location}: writing the event to the ledger took {seconds:.1f} s ({size})"
            if len(events) == 1
            else f"{event.location}: writing {len(events):,} events to the ledger took {seconds:.1f} s; the largest has {size}"
        )
        self._slow_events.log("writing an event to the ledger takes long", text)

    def _call_on_commit(self) -> None:
        """Call ``on_commit``. Its errors are logged: the events are in the ledger already."""
        try:
            self._on_commit()
        except SinkError as error:
            self._delivery_outages.log_failure(f"delivery failed, and is retried with the next events: {error}")
        except Exception:
            log.exception("%s", INTERNAL_ERROR)
        else:
            self._delivery_outages.log_recovery()

    def _write_events(self, events: list[Event]) -> dict[int, str]:
        """Merge ``events`` together or, if that fails, each half by itself; return why some of them are invalid."""
        try:
            translation, delivery = self._ledger.process_batch(events)
        except SinkError:
            raise
        except sqlite3.Error as error:  # a read outside of a transaction: the file is the cause, and no event
            raise SinkError(
                f"cannot read the file: {error}",
                location="the ledger",
                remedy="if the file is damaged, start with a new one: clients send events that were not acknowledged again",
                retryable=True,
            ) from error
        except Exception:
            if len(events) == 1:
                log.exception("%s: %s", events[0].location, INTERNAL_ERROR)
                self._metrics.add(dead_letters=1)
                self._on_dead_letter(DeadLetter(events[0].location, INTERNAL_ERROR, events[0].raw))
                return {id(events[0].raw): INTERNAL_ERROR}
            middle = len(events) // 2
            return self._write_events(events[:middle]) | self._write_events(events[middle:])
        self._reporter.report(translation, delivery)
        return {id(letter.raw): letter.reason for letter in translation.dead}


def _is_done(answer: Future[list[str | None]], timeout: float) -> bool:
    """Return whether a request is answered within ``timeout`` seconds; ``concurrent.futures.wait`` takes three times as long."""
    try:
        answer.exception(timeout)
    except FutureTimeoutError:
        return False
    return True
