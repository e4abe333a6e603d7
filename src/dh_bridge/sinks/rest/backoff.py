"""Pauses: between retries, by the server's ``Retry-After``, and between requests, to limit the rate."""

from __future__ import annotations

import random
from email.utils import parsedate_to_datetime
from time import monotonic, sleep, time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FIRST_SECONDS = 1.0
_MAX_SECONDS = 60.0

_random = random.SystemRandom()


def backoff_seconds(attempts: int) -> float:
    """Return the seconds to wait after the given number of failed tries.

    Doubled each time up to a minute, half of it random.

    Random pauses keep writers that failed together from retrying together.
    """
    full_pause: float = min(_MAX_SECONDS, _FIRST_SECONDS * 2 ** min(attempts - 1, 10))
    return full_pause * (0.5 + 0.5 * _random.random())


def retry_after_seconds(headers: Mapping[str, str], clock: Callable[[], float] = time) -> float | None:
    """Return the seconds of ``Retry-After``, a number or a date; None if it is absent or invalid.

    A date is on the server's clock, whose time is in ``Date``; ``clock``, our own clock, is for servers without it.

    DataHub's own rate limits and its throttle of writes use this header (``X-DataHub-RateLimit-*`` name the limit).
    """
    text = headers.get("Retry-After", "").strip()
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        retry_at = parsedate_to_datetime(text).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None
    try:
        server_now = parsedate_to_datetime(headers.get("Date", "")).timestamp()
    except (ValueError, TypeError, OverflowError):
        server_now = clock()
    return max(0.0, retry_at - server_now)


class RateLimiter:
    """Spreads proposals over time: at most ``rate`` per second; None is no limit."""

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._next_send = 0.0

    def delay(self) -> float:
        """Return the seconds until more may be sent."""
        return 0.0 if self._rate is None else max(0.0, self._next_send - monotonic())

    def wait(self, count: int) -> None:
        """Wait until ``count`` more may be sent."""
        if self._rate is None:
            return
        now = monotonic()
        if self._next_send > now:
            sleep(self._next_send - now)
            now = self._next_send
        self._next_send = now + count / self._rate
