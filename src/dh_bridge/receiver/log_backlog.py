"""The events in the log that are not processed yet, counted on request."""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING

from dh_bridge.errors import SinkError
from dh_bridge.event_log import LogStatus
from dh_bridge.ledger.log_cursor import read_cursor
from dh_bridge.sinks.base import Closable
from dh_bridge.storage.database import Database

if TYPE_CHECKING:
    from pathlib import Path

    from dh_bridge.event_log import EventLog

MIN_INTERVAL_SECONDS, _INTERVAL_FACTOR = 0.5, 20
"""Minimal seconds between two looks, and the factor of the time of the last one: a large backlog is read rarely."""
_MICROS = 1_000_000


class LogBacklog(Closable):
    """Reads how much of ``event_log`` the ledger ``path`` has processed; the ledger may be created later."""

    def __init__(self, event_log: EventLog, path: Path) -> None:
        self._event_log = event_log
        self._path = path
        self._file: Database | None = None
        self._is_closed = False
        self._lock = Lock()
        self._status = LogStatus()
        self._next_read = 0.0

    def read(self) -> LogStatus:
        """Return the status of a moment ago; the last one if a file cannot be read."""
        with self._lock:
            started_at = time.monotonic()
            if not self._is_closed and started_at >= self._next_read:
                with suppress(sqlite3.Error, SinkError):
                    self._status = self._event_log.status(self._read_cursor())
                ended_at = time.monotonic()
                self._next_read = ended_at + max(MIN_INTERVAL_SECONDS, _INTERVAL_FACTOR * (ended_at - started_at))
            return self._status

    def next_position(self) -> int:
        """Return the first position that the ledger has not processed; 1 if there is no ledger."""
        with self._lock, suppress(sqlite3.Error, SinkError):
            return self._read_cursor() + 1
        return 1

    def close(self) -> None:
        """Close the ledger."""
        with self._lock:
            self._is_closed = True
            if self._file is not None:
                self._file.close()
                self._file = None

    def _read_cursor(self) -> int:
        if self._file is None and not self._path.exists():
            return 0
        self._file = self._file or Database(self._path, readonly=True)
        cursor = read_cursor(self._file.connection)
        return 0 if cursor is None or cursor.log_id != self._event_log.log_id() else cursor.position


def age_seconds(status: LogStatus) -> int:
    """Return the seconds since the oldest event was received that is not processed; 0 if there is none."""
    return 0 if status.oldest is None else max(0, int(time.time() - status.oldest / _MICROS))
