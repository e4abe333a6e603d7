"""Two queues in front of the ledger: small requests first, large and slow ones between them."""

from __future__ import annotations

import time
from collections import deque
from math import inf
from threading import Condition
from typing import TYPE_CHECKING

from dh_bridge.openlineage.json_size import has_more_values

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Future

    from dh_bridge.openlineage.events import Event

EVENTS_PER_BATCH = 500
"""Events of one transaction, at most: others wait for it."""
BYTES_PER_BATCH = 1024 * 1024
"""Maximum bytes of the events of one transaction."""
MAX_SMALL_EVENTS = 50
MAX_SMALL_BYTES = 256 * 1024
MAX_SMALL_VALUES = 20_000
MAX_SMALL_DATASETS = 200
"""Events, bytes, JSON values of an event, and datasets of a request that is small, at most: they predict its time."""
RETRY_SECONDS = 1.0
"""Seconds after which acknowledged requests are tried again that the ledger did not take."""
_ACTIVE_SECONDS = 1.0
"""Seconds since the last small request in which others are likely to follow."""


class IngestRequest:
    """Events that are merged together, and their result: for each event None if it is in the ledger, else the reason.

    ``row``: the number of the request in the inbox, if it is acknowledged before it is in the ledger.
    """

    __slots__ = ("answer", "events", "is_small", "row", "size")

    def __init__(self, events: Sequence[Event], answer: Future[list[str | None]], row: int | None = None) -> None:
        self.events = events
        self.answer = answer
        self.row = row
        self.size = sum([len(event.raw) for event in events])
        self.is_small = (
            len(events) <= MAX_SMALL_EVENTS
            and self.size <= MAX_SMALL_BYTES
            and sum([len(event.inputs) + len(event.outputs) for event in events]) <= MAX_SMALL_DATASETS
            and not any(has_more_values(event.raw, MAX_SMALL_VALUES) for event in events)
        )


class RequestLanes:
    """The two queues; ``batch`` is the maximal number of events that are merged together."""

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._condition = Condition()
        self._fast: deque[IngestRequest] = deque()
        self._slow: deque[IngestRequest] = deque()
        #: acknowledged requests that the ledger did not take
        self._acknowledged: deque[IngestRequest] = deque()
        self._is_closed = self._is_slow_next = False
        self._next_slow = self._next_retry = 0.0
        self._last_fast = 0.0

    def put(self, request: IngestRequest) -> None:
        """Add events to the lane of their size."""
        with self._condition:
            (self._fast if request.is_small else self._slow).append(request)
            self._condition.notify()

    def put_back(self, requests: Sequence[IngestRequest]) -> None:
        """Retry acknowledged requests after RETRY_SECONDS; after :meth:`close` they remain only in the inbox."""
        with self._condition:
            if requests and not self._is_closed:
                self._acknowledged.extend(requests)
                self._next_retry = time.monotonic() + RETRY_SECONDS
                self._condition.notify()

    def close(self) -> None:
        """Let :meth:`take` return None once all queues are empty."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()

    def take(self) -> list[IngestRequest] | None:
        """Wait for requests; return small ones that fit one transaction, or a single slow one; None at the end."""
        with self._condition:
            while True:
                now = time.monotonic()
                if self._acknowledged and (self._is_closed or self._next_retry <= now):
                    return self._take_batch(self._acknowledged)
                pause = self._next_slow - now
                if self._slow and (pause <= 0 or self._is_closed) and not (self._fast and pause + _ACTIVE_SECONDS > 0):
                    self._is_slow_next = True
                    return [self._slow.popleft()]
                if self._fast:
                    self._is_slow_next, self._last_fast = False, now
                    return self._take_batch(self._fast)
                if self._is_closed and not self._slow:
                    return None
                wait = min(pause if self._slow else inf, self._next_retry - now if self._acknowledged else inf)
                self._condition.wait(None if wait == inf else max(0.0, wait))

    def delay_slow_lane(self, seconds: float) -> None:
        """Let small requests have as much time as a slow one took, ``seconds``."""
        now = time.monotonic()
        if self._is_slow_next and now - self._last_fast < _ACTIVE_SECONDS + seconds:
            self._next_slow = now + seconds

    def _take_batch(self, lane: deque[IngestRequest]) -> list[IngestRequest]:
        requests: list[IngestRequest] = []
        count = size = 0
        while lane and count < self._batch and size < BYTES_PER_BATCH:
            count += len(lane[0].events)
            if requests and count > self._batch:
                break
            size += lane[0].size
            requests.append(lane.popleft())
        return requests
