"""How long to wait: between tries, as the server says, and between requests, so that a rate is kept."""

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
    """Return seconds to wait after the given number of failed tries: doubled each time up to a minute, half of it by chance.

    Chance keeps writers that failed together from coming back together.
    """
    full_pause: float = min(_MAX_SECONDS, _FIRST_SECONDS * 2 ** min(attempts - 1, 10))
    return full_pause * (0.5 + 0.5 * _random.random())


def retry_after_seconds(headers: Mapping[str, str], clock: Callable[[], float] = time) -> float | None:
    """Return the seconds that ``Retry-After`` asks for, as a number or as a date; None when it says nothing of use.

    A date is one of the server's clock, which ``Date`` tells; ``clock``, of our own clock, is for servers that do not.

    DataHub's own rate limits and its throttle of writes tell it this way (``X-DataHub-RateLimit-*`` say which limit).
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
    """Spreads proposals over time: at most ``rate`` a second; None is no limit."""

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
