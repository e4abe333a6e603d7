"""Logs a lasting problem with one line at its start, one per minute while it lasts, and one at its end."""

from __future__ import annotations

import logging
import time

log = logging.getLogger("dh_bridge.receiver")

REPEAT_SECONDS = 60.0
"""Seconds between two lines about what lasts: under load it would be hundreds a second, on a disk that may be full."""


class OutageLog:
    """The log of one possible problem; ``recovery_text`` is logged at its end.

    A ``reason`` starts or continues it, None ends it.
    """

    def __init__(self, recovery_text: str) -> None:
        self._recovery_text = recovery_text
        self._next_log = 0.0
        self.reason: str | None = None

    def log_failure(self, text: str) -> None:
        """It has gone wrong."""
        now = time.monotonic()
        if self.reason is None or now >= self._next_log:
            log.error("%s", text)
            self._next_log = now + REPEAT_SECONDS
        self.reason = text

    def log_recovery(self) -> None:
        """It has gone well."""
        if self.reason is not None:
            self.reason = None
            log.warning("%s", self._recovery_text)
