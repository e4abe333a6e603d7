"""Accepts events: requests that wait are appended to the event log together, and answered when their events are on the disk."""

from __future__ import annotations

import logging
import time
from collections import deque
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from threading import Condition, Thread
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import INTERNAL_ERROR, SinkError
from dh_bridge.event_log import LoggedEvent
from dh_bridge.receiver.outage_log import OutageLog
from dh_bridge.sinks.base import Closable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dh_bridge.event_log import EventLog
    from dh_bridge.openlineage.events import Event
    from dh_bridge.options import Options
    from dh_bridge.receiver.metrics import ReceiverMetrics

log = logging.getLogger("dh_bridge.receiver")

MAX_GROUP_EVENTS, MAX_GROUP_BYTES = 5_000, 8 * 1024 * 1024
"""Events, and their bytes, that are appended together, at most; a single request may be larger."""
_MICROS = 1_000_000


class _AcceptRequest(NamedTuple):
    """Events that are accepted together, their size in bytes, and the answer: None, or the error."""

    events: list[LoggedEvent]
    size: int
    answer: Future[None]


class AcceptQueue(Closable):
    """Appends the events of requests to ``event_log`` in a thread of its own, and calls ``on_append`` after each group.

    An accepted event is durable. It is processed later, by the folding process.
    """

    def __init__(
        self,
        event_log: EventLog,
        options: Options,
        metrics: ReceiverMetrics,
        *,
        min_position: int = 1,
        on_append: Callable[[], None] = lambda: None,
    ) -> None:
        self._event_log = event_log
        self._options = options
        self._metrics = metrics
        self._min_position = min_position
        self._on_append = on_append
        #: why the last events were refused, None: they were accepted
        self.refusal_reason: str | None = None
        self._outages = OutageLog("events are accepted again")
        self._condition = Condition()
        self._waiting: deque[_AcceptRequest] = deque()
        self._is_closed = False
        self._thread = Thread(target=self._run, name="dh_bridge.accept", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether anything is still accepted."""
        return self._thread.is_alive()

    def take(self, events: Sequence[Event], timeout: float | None = None) -> list[str | None]:
        """Accept events; return None for each one that is in the log, or the reason why the settings refuse it.

        Raises:
            SinkError: The log is full, cannot be written, or ``timeout`` seconds are over; the events may be sent again.
        """
        received = int(time.time() * _MICROS)
        reasons, records = [], []
        for event in events:
            self._options.masking.mask_event(event)
            reasons.append(self._options.rejection_reason(event))
            if reasons[-1] is None:
                records.append(LoggedEvent(received, event.location, event.run_id, event.raw))
        if records:
            self._append(records, timeout)
        return reasons

    def close(self) -> None:
        """Append the waiting events, and end."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()
        self._thread.join()

    def _append(self, records: list[LoggedEvent], timeout: float | None) -> None:
        """Wait until records are in the log."""
        request = _AcceptRequest(records, sum(len(record.event) for record in records), Future())
        with self._condition:
            if self._is_closed:
                raise SinkError("the receiver is stopping", remedy="send the events again", retryable=True)
            self._waiting.append(request)
            self._condition.notify()
        answer = request.answer
        try:
            answer.result(timeout)
        except FutureTimeoutError:
            answer.cancel()  # its client sends the events again
            raise SinkError("the event log is busy", remedy="send the events again", retryable=True) from None
        finally:
            del request, answer  # an error refers to this frame, and the answer to the error

    def _run(self) -> None:
        while requests := self._take_group():
            self._append_group(requests)
            del requests

    def _take_group(self) -> list[_AcceptRequest]:
        """Wait for requests, and return those that fit one write; none at the end."""
        with self._condition:
            while not self._waiting and not self._is_closed:
                self._condition.wait()
            group: list[_AcceptRequest] = []
            count = size = 0
            while self._waiting:
                count += len(self._waiting[0].events)
                size += self._waiting[0].size
                if group and (count > MAX_GROUP_EVENTS or size > MAX_GROUP_BYTES):
                    break
                group.append(self._waiting.popleft())
            return group

    def _append_group(self, requests: list[_AcceptRequest]) -> None:
        """Append requests and answer them; no error ends the thread, or all later requests would wait for ever."""
        requests = [request for request in requests if request.answer.set_running_or_notify_cancel()]
        records = [record for request in requests for record in request.events]
        try:
            self._event_log.append(records, min_position=self._min_position)
        except SinkError as error:
            self.refusal_reason = error.problem
            self._outages.log_failure(f"events are rejected with status 503: {error}")
            self._answer(requests, error.with_traceback(None))
        except Exception:
            self.refusal_reason = INTERNAL_ERROR
            log.exception("%s", INTERNAL_ERROR)
            self._answer(requests, SinkError(INTERNAL_ERROR, retryable=True))
        else:
            self.refusal_reason = None
            self._outages.log_recovery()
            self._metrics.add(accepted=len(records))
            self._answer(requests, None)
            self._on_append()

    @staticmethod
    def _answer(requests: list[_AcceptRequest], error: SinkError | None) -> None:
        for request in requests:
            if error is None:
                request.answer.set_result(None)
            else:
                request.answer.set_exception(error)
