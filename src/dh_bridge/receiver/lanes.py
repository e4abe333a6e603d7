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
"""Bytes of one transaction from which it takes no more events."""
SMALL_EVENTS = 50
SMALL_BYTES = 256 * 1024
SMALL_VALUES = 20_000
SMALL_DATASETS = 200
"""Events, bytes, JSON values of an event, and datasets of a request that is small, at most: they predict its time."""
RETRY_SECONDS = 1.0
"""Seconds after which acknowledged requests are tried again that the ledger did not take."""
_LIVELY = 1.0
"""Seconds since the last small request in which others are likely to follow."""


class Brought:
    """Events that are folded together, and their answer: of each event None when it is in the ledger, else why it is not.

    ``row``: the number of the request in the inbox, where it is acknowledged before it is in the ledger.
    """

    __slots__ = ("answer", "events", "row", "size", "small")

    def __init__(self, events: Sequence[Event], answer: Future[list[str | None]], row: int | None = None) -> None:
        self.events = events
        self.answer = answer
        self.row = row
        self.size = sum([len(event.raw) for event in events])
        self.small = (
            len(events) <= SMALL_EVENTS
            and self.size <= SMALL_BYTES
            and sum([len(event.inputs) + len(event.outputs) for event in events]) <= SMALL_DATASETS
            and not any(has_more_values(event.raw, SMALL_VALUES) for event in events)
        )


class Lanes:
    """The two queues; ``batch`` is the number of events that are folded together, at most."""

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._changed = Condition()
        self._fast: deque[Brought] = deque()
        self._slow: deque[Brought] = deque()
        #: acknowledged requests that the ledger did not take
        self._owed: deque[Brought] = deque()
        self._closed = self._slow_turn = False
        self._next_slow = self._next_owed = 0.0
        self._last_fast = 0.0

    def put(self, brought: Brought) -> None:
        """Add events to the lane of their size."""
        with self._changed:
            (self._fast if brought.small else self._slow).append(brought)
            self._changed.notify()

    def put_back(self, requests: Sequence[Brought]) -> None:
        """Let acknowledged requests be tried again in RETRY_SECONDS; after :meth:`close` they stay in the inbox alone."""
        with self._changed:
            if requests and not self._closed:
                self._owed.extend(requests)
                self._next_owed = time.monotonic() + RETRY_SECONDS
                self._changed.notify()

    def close(self) -> None:
        """Let :meth:`take` return None once all queues are empty."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def take(self) -> list[Brought] | None:
        """Wait for requests; return small ones that fit one transaction, or a single slow one; None at the end."""
        with self._changed:
            while True:
                now = time.monotonic()
                if self._owed and (self._closed or self._next_owed <= now):
                    return self._together(self._owed)
                pause = self._next_slow - now
                if self._slow and (pause <= 0 or self._closed) and not (self._fast and pause + _LIVELY > 0):
                    self._slow_turn = True
                    return [self._slow.popleft()]
                if self._fast:
                    self._slow_turn, self._last_fast = False, now
                    return self._together(self._fast)
                if self._closed and not self._slow:
                    return None
                wait = min(pause if self._slow else inf, self._next_owed - now if self._owed else inf)
                self._changed.wait(None if wait == inf else max(0.0, wait))

    def rest(self, seconds: float) -> None:
        """Let small requests have as much time as a slow one took, ``seconds``."""
        now = time.monotonic()
        if self._slow_turn and now - self._last_fast < _LIVELY + seconds:
            self._next_slow = now + seconds

    def _together(self, lane: deque[Brought]) -> list[Brought]:
        found: list[Brought] = []
        count = size = 0
        while lane and count < self._batch and size < BYTES_PER_BATCH:
            count += len(lane[0].events)
            if found and count > self._batch:
                break
            size += lane[0].size
            found.append(lane.popleft())
        return found
