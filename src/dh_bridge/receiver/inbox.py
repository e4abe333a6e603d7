"""Events that are acknowledged before they are in the ledger, while another event takes long there.

The inbox is a SQLite file beside the ledger, ``LEDGER.inbox``. A transaction of the ledger may take many seconds for one large event.
Meanwhile the events of other senders are written into the inbox, synced to the disk and acknowledged. They leave the inbox when they
are in the ledger. A receiver that was killed merges the rest of the inbox at its next start: events may be merged several times.
"""

from __future__ import annotations

import logging
import sqlite3
from threading import Lock
from typing import TYPE_CHECKING

import msgspec

from dh_bridge import private_files
from dh_bridge.errors import EventError, SinkError
from dh_bridge.log_throttle import LogThrottle
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.sinks.base import Closable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    Parse = Callable[[bytes, str], Event]

log = logging.getLogger("dh_bridge.receiver")

MAX_BYTES = 64 * 1024 * 1024
"""Bytes of all events in the inbox, at most; beyond them requests wait for the ledger."""
MAX_REQUESTS = 20_000
"""Requests in the inbox, at most."""
_BUSY_SECONDS = 2.0
_TABLE = "CREATE TABLE IF NOT EXISTS request (id INTEGER PRIMARY KEY AUTOINCREMENT, events BLOB NOT NULL)"

_EventRows = list[tuple[str, bytes]]
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_EventRows).decode


class Inbox(Closable):
    """The requests that are acknowledged and not yet in the ledger; any thread may use it.

    Args:
        path: The file; it is created with the first request.
        parse: Reads an event from its bytes and its location.
        mask: Returns the bytes of an event without secrets: only these are written.

    Raises:
        SinkError: The file exists and cannot be read.
    """

    def __init__(self, path: Path, parse: Parse, mask: Callable[[bytes], bytes]) -> None:
        self._path = path
        self._parse = parse
        self._mask = mask
        self._lock = Lock()
        self._failures = LogThrottle(log, logging.ERROR)
        self._sizes: dict[int, int] = {}
        self._byte_count = 0
        self._connection: sqlite3.Connection | None = None
        if path.exists():
            try:
                self._open()
            except sqlite3.Error as error:
                raise SinkError(
                    f"cannot read the file: {error}",
                    location=str(path),
                    remedy="if the file is damaged, move it away and keep it: it contains acknowledged events that are not in the ledger",
                ) from error

    def __bool__(self) -> bool:
        """Whether requests of this process are in the inbox."""
        return bool(self._sizes)

    def pending(self) -> Iterator[tuple[int, list[Event], list[DeadLetter]]]:
        """Yield the requests of an earlier process: the number of each, its events, and those that cannot be read."""
        if self._connection is None:
            return
        for number, data in self._connection.execute("SELECT id, events FROM request ORDER BY id").fetchall():
            items = [self._parse_event(raw, location) for location, raw in _decode(data)]
            self._add_size(number, len(data))
            yield (
                number,
                [item for item in items if isinstance(item, Event)],
                [item for item in items if isinstance(item, DeadLetter)],
            )

    def add(self, events: Sequence[Event]) -> int | None:
        """Write a request to the disk.

        Returns:
            The number of the request; None if there is no room, or if the file cannot be written.
        """
        data = _encode([(event.location, self._mask(event.raw)) for event in events])
        with self._lock:
            if len(self._sizes) >= MAX_REQUESTS or self._byte_count + len(data) > MAX_BYTES:
                return None
            try:
                cursor = self._open().execute("INSERT INTO request (events) VALUES (?)", (data,))
            except sqlite3.Error as error:
                self._failures.log("cannot write the inbox", f"cannot write {self._path}: {error}")
                return None
            number = cursor.lastrowid
            assert number is not None  # noqa: S101 - of an INSERT
            self._add_size(number, len(data))
            return number

    def remove(self, numbers: Iterable[int]) -> None:
        """Remove requests that are in the ledger; those that cannot be removed are merged again at the next start."""
        rows = [(number,) for number in numbers]
        if not rows:
            return
        with self._lock:
            for (number,) in rows:
                self._byte_count -= self._sizes.pop(number, 0)
            try:
                connection = self._open()
                connection.execute("BEGIN")
                try:
                    connection.executemany("DELETE FROM request WHERE id = ?", rows)
                finally:
                    connection.execute("COMMIT")
            except sqlite3.Error as error:
                self._failures.log("cannot write the inbox", f"cannot write {self._path}: {error}")

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
        self._failures.flush()

    def _parse_event(self, raw: bytes, location: str) -> Event | DeadLetter:
        try:
            return self._parse(raw, location)
        except EventError as error:
            return DeadLetter(location, str(error), raw)

    def _add_size(self, number: int, size: int) -> None:
        self._sizes[number] = size
        self._byte_count += size

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            private_files.create_private(self._path)
            connection = sqlite3.connect(
                self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute(_TABLE)
            except BaseException:
                connection.close()
                raise
            self._connection = connection
        return self._connection
