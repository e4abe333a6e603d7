"""What a place that is down did not take: kept, in its order, until it takes it with what comes next."""

from __future__ import annotations

import math
import time
import warnings
from typing import TYPE_CHECKING

from dh_bridge.delivery import refused
from dh_bridge.retry_buffer import RetryBuffer, may_pass

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import Sink

MOST = 10_000
"""Proposals that are kept, about 10 MB; of more the oldest go."""
PATIENCE, SHARE, LONGEST = 1.0, 10, 60.0
"""A place that kept its caller waiting for longer than so many seconds is left alone for that many times as long, and no longer."""


class Waiting:
    """Tells a place what it can, and its caller in a RuntimeWarning what it cannot; no error of the place comes through.

    ``place`` opens the sink or returns the open one. What may arrive another time is kept, and sent before what comes next:
    at once, or after a while where the last try took long, as a sink's own retries do. ``clock`` returns seconds.
    """

    def __init__(self, place: Callable[[], Sink], clock: Callable[[], float] = time.monotonic) -> None:
        self._place = place
        self._clock = clock
        self._buffer = RetryBuffer()
        self._until = -math.inf

    @property
    def owes(self) -> bool:
        """Whether something is kept."""
        return len(self._buffer) > 0

    def tell(self, proposals: list[Proposal]) -> None:
        """Send ``proposals``, and before them what is kept."""
        self._buffer.add(proposals)
        number = len(self._buffer)
        began = self._clock()
        if began < self._until:
            self._keep(f"left alone for {self._until - began:.0f} s more, as it took nothing and long for that")
            return
        if not number:
            return
        try:
            done = self._buffer.send(self._place())
        except Exception as error:  # noqa: BLE001 - a sink of the caller's may raise anything
            if may_pass(error):
                self._leave_alone(began)
                self._keep(error)
            else:
                self._buffer.clear()  # the place could not be opened
                _warn(f"{_told(number)} lost: {error}")
            return
        if done.retryable:
            self._leave_alone(began)
            self._keep(refused(done.retryable, number))
        if done.permanent:
            _warn(f"lost: {refused(done.permanent, number)}")

    def last(self) -> None:
        """Try once more; what does not arrive now is lost, and counted."""
        self._until = -math.inf
        if self.owes:
            self.tell([])
        if left := self._buffer.clear():
            _warn(f"{_told(len(left))} lost: the pipeline is closed")

    def _leave_alone(self, began: float) -> None:
        now = self._clock()
        self._until = now + min(SHARE * (now - began), LONGEST) if now - began > PATIENCE else -math.inf

    def _keep(self, error: Exception | str) -> None:
        number = len(self._buffer)
        over = self._buffer.keep_newest(MOST)
        lost = f"; the oldest {over} are lost: no more than {MOST:,} are kept" if over else ""
        _warn(f"{_told(number)} not told yet: {error}{lost}")


def _told(count: int) -> str:
    return f"{count} proposal{'s' if count > 1 else ''}"


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)
