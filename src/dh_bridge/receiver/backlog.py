"""The proposals that wait in the ledger, read from its file on request, so that a long delivery hides nothing."""

from __future__ import annotations

import sqlite3
import time
from contextlib import suppress
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import SinkError
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.sinks.base import Closable
from dh_bridge.storage.database import Database

if TYPE_CHECKING:
    from pathlib import Path

MIN_INTERVAL_SECONDS, _INTERVAL_FACTOR = 0.5, 20
"""Minimal seconds between two counts, and the factor of the time of the last count: a million proposals are counted rarely."""


class BacklogSize(NamedTuple):
    """How many proposals wait, and since when the oldest does (seconds of the clock; None: nothing waits)."""

    number: int = 0
    since: float | None = None

    @property
    def seconds(self) -> int:
        """For how long the oldest waits."""
        return 0 if self.since is None else max(0, int(time.time() - self.since))


class Backlog(Closable):
    """Counts waiting proposals in the ledger ``path``, independent of the process that delivers; any thread may use it.

    The ledger may be created later.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: Database | None = None
        self._is_closed = False
        self._lock = Lock()
        self._size = BacklogSize()
        self._next_read = 0.0

    def read(self) -> BacklogSize:
        """Return the backlog of a moment ago; the last known one if the file cannot be read."""
        with self._lock:
            if not self._is_closed and time.monotonic() >= self._next_read:
                self._read_file()
            return self._size

    def close(self) -> None:
        """Read once more, and close the file."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                self._read_file()
                if self._file is not None:
                    self._file.close()

    def _read_file(self) -> None:
        started_at = time.monotonic()
        with suppress(sqlite3.Error, SinkError):
            self._file = self._file or Database(self._path, readonly=True)
            outbox = Outbox(self._file.connection)
            number, oldest = outbox.count()[0], outbox.oldest_time()
            self._size = BacklogSize(number, None if oldest is None else oldest / 1000)
        ended_at = time.monotonic()
        self._next_read = ended_at + max(MIN_INTERVAL_SECONDS, _INTERVAL_FACTOR * (ended_at - started_at))
