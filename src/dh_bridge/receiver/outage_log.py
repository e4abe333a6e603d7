"""What goes wrong again and again is a line in the log when it begins, one a minute while it lasts, and one when it is over."""

from __future__ import annotations

import logging
import time

log = logging.getLogger("dh_bridge.receiver")

AGAIN = 60.0
"""Seconds between two lines about what lasts: under load it would be hundreds a second, on a disk that may be full."""


class News:
    """Tells of one thing that may go wrong; ``over`` is what is said when it goes on. ``why`` it does not, None: it does."""

    def __init__(self, over: str) -> None:
        self._over = over
        self._next = 0.0
        self.why: str | None = None

    def bad(self, text: str) -> None:
        """It has gone wrong."""
        now = time.monotonic()
        if self.why is None or now >= self._next:
            log.error("%s", text)
            self._next = now + AGAIN
        self.why = text

    def good(self) -> None:
        """It has gone well."""
        if self.why is not None:
            self.why = None
            log.warning("%s", self._over)
