"""A buffer of proposals that the target did not accept, in order, until it accepts them with later ones."""

from __future__ import annotations

import math
import time
import warnings
from typing import TYPE_CHECKING

from dh_bridge.delivery import delivery_error
from dh_bridge.retry_buffer import RetryBuffer, is_retryable

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import Sink

MAX_PROPOSALS = 10_000
"""Buffered proposals, about 10 MB; beyond that, the oldest are dropped."""
SLOW_SECONDS, PAUSE_FACTOR, MAX_PAUSE_SECONDS = 1.0, 10, 60.0
"""If a target takes longer than so many seconds to fail, the next try is after this multiple of the time, but no later."""


class BufferedSender:
    """Sends proposals, and reports failures to the caller as a RuntimeWarning; no error of the target is raised.

    ``open_sink`` opens the sink or returns the open one. Proposals that may arrive later are buffered, and sent before the next
    ones: at once, or after a while if the last try took long, for example because of the sink's own retries. ``clock`` returns
    seconds.
    """

    def __init__(self, open_sink: Callable[[], Sink], clock: Callable[[], float] = time.monotonic) -> None:
        self._open_sink = open_sink
        self._clock = clock
        self._buffer = RetryBuffer()
        self._paused_until = -math.inf

    @property
    def has_unsent(self) -> bool:
        """Whether something is buffered."""
        return len(self._buffer) > 0

    def send(self, proposals: list[Proposal]) -> None:
        """Send ``proposals`` after the buffered ones."""
        self._buffer.add(proposals)
        number = len(self._buffer)
        started_at = self._clock()
        if started_at < self._paused_until:
            self._store(
                f"next attempt in {self._paused_until - started_at:.0f} s, as the target was slow and accepted nothing"
            )
            return
        if not number:
            return
        try:
            outcome = self._buffer.send(self._open_sink())
        except Exception as error:  # noqa: BLE001 - a sink of the caller's may raise anything
            if is_retryable(error):
                self._pause(started_at)
                self._store(error)
            else:
                self._buffer.clear()  # the target could not be opened
                _warn(f"{_count_text(number)} lost: {error}")
            return
        if outcome.retryable:
            self._pause(started_at)
            self._store(delivery_error(outcome.retryable, number))
        if outcome.permanent:
            _warn(f"proposals lost: {delivery_error(outcome.permanent, number)}")

    def send_last(self) -> None:
        """Try once more; what does not arrive now is lost, and counted."""
        self._paused_until = -math.inf
        if self.has_unsent:
            self.send([])
        if unsent := self._buffer.clear():
            _warn(f"{_count_text(len(unsent))} lost: the pipeline is closed")

    def _pause(self, started_at: float) -> None:
        now = self._clock()
        self._paused_until = (
            now + min(PAUSE_FACTOR * (now - started_at), MAX_PAUSE_SECONDS)
            if now - started_at > SLOW_SECONDS
            else -math.inf
        )

    def _store(self, error: Exception | str) -> None:
        number = len(self._buffer)
        excess = self._buffer.keep_newest(MAX_PROPOSALS)
        suffix = f"; the oldest {excess} are lost: the buffer holds {MAX_PROPOSALS:,}" if excess else ""
        _warn(f"{_count_text(number)} not sent yet: {error}{suffix}")


def _count_text(count: int) -> str:
    return f"{count} proposal{'s' if count > 1 else ''}"


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=2)
