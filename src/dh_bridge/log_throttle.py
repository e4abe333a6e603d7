"""Repeated messages: the first of each kind is logged, the others are counted."""

from __future__ import annotations

import re
import time
from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

PERIOD_SECONDS = 60.0
"""Seconds after which a message of the same kind is logged again."""
MAX_KINDS = 100
"""Maximum number of kinds; all others count as one."""
_MAX_TEXT_LENGTH = 1_000
_MAX_KIND_LENGTH = 200
_VALUES = re.compile(r"'[^']*'?|\"[^\"]*\"?|[0-9]+")


def kind_of(text: str) -> str:
    """Return the kind of a message: its text without quoted values and numbers.

    >>> kind_of("not an ISO 8601 time: 'yesterday'") == kind_of("not an ISO 8601 time: 'tomorrow'")
    True
    """
    return _VALUES.sub("…", text[:_MAX_KIND_LENGTH])


def shorten_message(text: str) -> str:
    """Return a message that fits a line: it may quote a value of many megabytes."""
    return text if len(text) <= _MAX_TEXT_LENGTH else f"{text[:_MAX_TEXT_LENGTH]}…"


class KindCounter:
    """Counts messages by kind, for any thread; a bounded number of kinds."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, kind: str) -> tuple[str, bool]:
        """Count a message; return its kind, and whether it is the first one of it."""
        if kind not in self.counts and len(self.counts) >= MAX_KINDS:
            kind = "messages of other kinds"
        count = self.counts[kind] = self.counts.get(kind, 0) + 1
        return kind, count == 1


class LogThrottle:
    """Writes one line per minute for each kind of message; the next line has the number of suppressed ones.

    Args:
        log: The logger, or anything with its ``log`` method.
        level: The level of the lines.
        clock: Seconds of a clock that only goes forward.
    """

    def __init__(self, log: logging.Logger, level: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._level = level
        self._clock = clock
        self._lock = Lock()
        self._logged_at: dict[str, float] = {}
        self._counter = KindCounter()

    def log(self, kind: str, text: str) -> None:
        """Log ``text``, or count it when a message of ``kind`` was logged within the last minute."""
        now = self._clock()
        with self._lock:
            kind, first = self._counter.add(kind)
            if not first and now - self._logged_at[kind] < PERIOD_SECONDS:
                return
            left_out = max(0, self._counter.counts[kind] - 2)  # neither the last line nor this one
            self._logged_at[kind] = now
            self._counter.counts[kind] = 1
        suffix = f" ({left_out:,} more like this before)" if left_out else ""
        self._log.log(self._level, "%s%s", shorten_message(text), suffix)

    def flush(self) -> None:
        """Log the counts of suppressed messages."""
        with self._lock:
            left_out = {kind: count - 1 for kind, count in self._counter.counts.items() if count > 1}
            self._counter.counts.clear()
            self._logged_at.clear()
        for kind, count in left_out.items():
            self._log.log(self._level, "%s more like this: %s", f"{count:,}", kind)
