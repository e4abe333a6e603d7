"""Two queues in front of the ledger: small requests first, large and slow ones between them."""

from __future__ import annotations

import time
from collections import deque
from threading import Condition
from typing import TYPE_CHECKING, NamedTuple

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
"""Events and bytes of a request that is small, at most."""
_LIVELY = 1.0
"""Seconds since the last small request in which others are likely to follow."""
_REST = 4
"""Times that small requests get the time of a slow one that was interrupted for them."""


class Brought(NamedTuple):
    """Events that are folded together, and their answer: of each event None when it is in the ledger, else why it is not."""

    events: Sequence[Event]
    answer: Future[list[str | None]]
    slow: bool = False

    @property
    def size(self) -> int:
        """The bytes of the events."""
        return sum([len(event.raw) for event in self.events])


class Lanes:
    """The two queues; ``batch`` is the number of events that are folded together, at most."""

    def __init__(self, batch: int) -> None:
        self._batch = batch
        self._changed = Condition()
        self._fast: deque[Brought] = deque()
        self._slow: deque[Brought] = deque()
        self._closed = self._slow_turn = False
        self._next_slow = 0.0
        self._last_fast = 0.0

    @property
    def fast_waiting(self) -> bool:
        """Whether a small request waits."""
        return bool(self._fast)

    def put(self, brought: Brought) -> None:
        """Add events to the lane of their size."""
        slow = brought.slow or len(brought.events) > SMALL_EVENTS or brought.size > SMALL_BYTES
        with self._changed:
            (self._slow if slow else self._fast).append(brought)
            self._changed.notify()

    def close(self) -> None:
        """Let :meth:`take` return None once both queues are empty."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def take(self) -> list[Brought] | None:
        """Wait for requests; return small ones that fit one transaction, or a single slow one; None at the end."""
        with self._changed:
            while True:
                pause = self._next_slow - time.monotonic()
                if self._slow and (pause <= 0 or self._closed) and not (self._fast and pause + _LIVELY > 0):
                    self._slow_turn = True
                    return [self._slow.popleft()]
                if self._fast:
                    self._slow_turn, self._last_fast = False, time.monotonic()
                    return self._small()
                if self._closed and not self._slow:
                    return None
                self._changed.wait(pause if self._slow else None)

    def rest(self, seconds: float, *, interrupted: bool) -> None:
        """Let small requests have the next time, if what took ``seconds`` was slow."""
        now = time.monotonic()
        if interrupted:
            self._next_slow = now + _REST * seconds
        elif self._slow_turn and now - self._last_fast < _LIVELY + seconds:
            self._next_slow = now + seconds

    def _small(self) -> list[Brought]:
        found: list[Brought] = []
        count = size = 0
        while self._fast and count < self._batch and size < BYTES_PER_BATCH:
            count += len(self._fast[0].events)
            if found and count > self._batch:
                break
            size += self._fast[0].size
            found.append(self._fast.popleft())
        return found
