"""The event log of a ledger, and the cursor: the position up to which its events are in the states of the ledger.

The cursor is written in the transaction that merges the events, so each event takes effect once, whatever is killed. It names
the log by its id: if the folder of the log was deleted or replaced, the new log is read from its first event.
"""

from __future__ import annotations

import logging
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import EventError, SinkError
from dh_bridge.event_log import EventLog, LogBatch, LoggedEvent, LogStatus, PositionedEvent
from dh_bridge.ledger.log_cursor import LogPosition, read_cursor, write_cursor
from dh_bridge.ledger.log_failures import LogFailures
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.ledger.state_snapshots import delete_old_events
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.options import zone_of
from dh_bridge.storage.connection import MEMORY_PATH

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from dh_bridge.options import Options
    from dh_bridge.settings import Settings
    from dh_bridge.storage.database import Database

log = logging.getLogger("dh_bridge.ledger")

_INCOMPLETE_NOTE = "log incomplete"
_TRIM_SECONDS = 10.0
"""Seconds between two looks for segments that can be deleted."""
_MICROS = 1_000_000


class _AcceptedEvents(NamedTuple):
    """Events that were appended together: the position of the first one, their records, and the events as they were parsed."""

    first: int
    records: list[LoggedEvent]
    events: list[Event]


def log_folder(ledger_path: str | Path) -> Path:
    """Return the folder of the log of a ledger.

    >>> log_folder("runs.db").name
    'runs.db.log'
    """
    path = Path(ledger_path).resolve()  # a link leads to the same log
    return path.with_name(f"{path.name}.log")


def existing_log_folder(ledger_path: Path) -> Path:
    """Return the folder of the log of a ledger.

    Raises:
        SinkError: The ledger has no log.
    """
    folder = log_folder(ledger_path)
    if not folder.is_dir():
        raise SinkError(
            "the ledger has no event log",
            location=str(ledger_path),
            remedy="events that the next `dh-bridge emit` or `serve` accepts can be replayed",
        )
    return folder


def open_event_log(
    ledger_path: str | Path, settings: Settings, *, clock: Callable[[], float] = time.time
) -> EventLog | None:
    """Return the event log of a ledger; None for a ledger in memory."""
    if str(ledger_path) == MEMORY_PATH:
        return None
    return EventLog(log_folder(ledger_path), max_bytes=settings.log.max_bytes, clock=clock)


def log_status(file: Database) -> LogStatus:
    """Return the size of the log of a ledger, and how many of its events are not processed; it reads only."""
    folder = log_folder(file.path)
    if not folder.is_dir():
        return LogStatus()
    with EventLog(folder, max_bytes=0) as event_log:
        cursor = read_cursor(file.connection)
        return event_log.status(0 if cursor is None or cursor.log_id != event_log.log_id() else cursor.position)


def has_all_events(connection: sqlite3.Connection, event_log: EventLog) -> bool:
    """Return whether the log has every event that the ledger ever processed."""
    if Outbox(connection).read_note(_INCOMPLETE_NOTE) is not None or event_log.first_position() != 1:
        return False
    cursor = read_cursor(connection)
    if cursor is None or cursor.log_id != event_log.log_id():
        return not has_states(connection)
    return cursor.position <= event_log.last_position()  # an archive ends before the open segment of a lost log


def forget_missing_events(connection: sqlite3.Connection) -> None:
    """Store that the states of a ledger are those of its log alone, in the caller's transaction."""
    Outbox(connection).delete_note(_INCOMPLETE_NOTE)


class LedgerLog:
    """Appends the events of a ledger to its log, and reads those that are not processed yet."""

    def __init__(
        self, event_log: EventLog, connection: sqlite3.Connection, options: Options, clock: Callable[[], float]
    ) -> None:
        self.event_log = event_log
        self.failures = LogFailures(connection)
        self._notes = Outbox(connection)
        self._connection = connection
        self._options = options
        self._zone = zone_of(options.settings)
        self._masking = options.masking
        self._retention_days = options.settings.log.retention_days
        self._clock = clock
        self._next_trim = 0.0
        self._accepted: _AcceptedEvents | None = None
        #: the position of the last event of the last :meth:`accept`; 0: it accepted none
        self.last_accepted = 0

    def cursor(self) -> int:
        """Return the position of the last event that the ledger has processed; 0 if there is none."""
        note = read_cursor(self._connection)
        return 0 if note is None or note.log_id != self.event_log.log_id() else note.position

    def last_position(self) -> int:
        """Return the position of the last event of the log; 0 if it has none."""
        return self.event_log.status(self.cursor()).last

    def begin(self) -> None:
        """Before events are processed: store whether the ledger has states of events that the log lacks, in the caller's transaction."""
        cursor = read_cursor(self._connection)
        is_new_log = cursor is None or cursor.log_id != self.event_log.log_id()
        if is_new_log and has_states(self._connection):
            self._notes.write_note(_INCOMPLETE_NOTE, "the ledger is older than its log")

    def accept(self, items: Sequence[Event | DeadLetter]) -> list[DeadLetter]:
        """Append events to the log, and return those that are not accepted: invalid ones, and those that the settings refuse.

        Raises:
            SinkError: The log is full, or cannot be written; no event is accepted.
        """
        letters = [item for item in items if isinstance(item, DeadLetter)]
        accepted: list[Event] = []
        for event in items:
            if isinstance(event, Event):
                reason = self.rejection_reason(event)
                if reason is None:
                    accepted.append(event)
                else:
                    letters.append(DeadLetter(event.location, reason, event.raw))
        self.forget_accepted()
        self.last_accepted = 0
        if accepted:
            records = self.to_records(accepted)
            positions = self.event_log.append(records, min_position=self.cursor() + 1)
            self._accepted = _AcceptedEvents(positions.start, records, accepted)
            self.last_accepted = positions.stop - 1
        return letters

    def rejection_reason(self, event: Event) -> str | None:
        """Return why the settings refuse an event; None if they do not. Its secrets are masked."""
        return self._options.rejection_reason(self._masking.mask_event(event))

    def append(self, items: Sequence[Event | DeadLetter]) -> None:
        """Append the events of a batch that is merged now, at the end of its transaction; dead letters are not stored.

        If the log has other events that are not processed, the cursor stays before them. They are processed next, and the events
        of this batch once more, which changes nothing.
        """
        events = self.to_records([item for item in items if isinstance(item, Event)])
        if not events:
            return
        cursor = self.cursor()
        positions = self.event_log.append(events, min_position=cursor + 1)
        is_next = positions.start == cursor + 1 or not self.pending(cursor, positions.start - 1)
        self.move_cursor(positions.stop - 1 if is_next else cursor)

    def to_records(self, events: Sequence[Event]) -> list[LoggedEvent]:
        """Return events as the log stores them: without secrets."""
        received = int(self._clock() * _MICROS)
        return [
            LoggedEvent(received, event.location, event.run_id, self._masking.mask_event(event).raw) for event in events
        ]

    def pending(self, cursor: int, last: int) -> bool:
        """Return whether the log has events between the cursor and a position, which is included."""
        batch = self.event_log.read_after(cursor, max_events=1, max_bytes=1)
        return bool(batch.events) and batch.events[0].position <= last

    def read(self, *, max_events: int, max_bytes: int) -> LogBatch:
        """Return the next events after the cursor; those that were just accepted together, without reading them from the disk."""
        cursor, accepted = self.cursor(), self._accepted
        if accepted is None or accepted.first != cursor + 1 or max_events == 1:
            return self.event_log.read_after(cursor, max_events=max_events, max_bytes=max_bytes)
        events = list(map(PositionedEvent, count(accepted.first), accepted.records))
        return LogBatch(events, events[-1].position)

    def forget_accepted(self) -> None:
        """Read the events that were just accepted from the disk from now on."""
        self._accepted = None

    def parse(self, event: LoggedEvent, position: int = 0) -> Event | DeadLetter:
        """Return an event of the log as it was accepted; with its position, without parsing it again if it was just accepted."""
        accepted = self._accepted
        if accepted is not None and 0 <= position - accepted.first < len(accepted.events):
            return accepted.events[position - accepted.first]
        try:
            return parse_event(event.event, event.location, self._zone)
        except EventError as error:
            return DeadLetter(event.location, str(error), event.event)

    def move_cursor(self, position: int) -> None:
        """Store that all events up to a position are processed, in the caller's transaction."""
        write_cursor(self._connection, LogPosition(self.event_log.log_id(), position))

    def trim(self) -> None:
        """Delete segments that are processed and old, some seconds after the last look; a snapshot has their effect."""
        now = time.monotonic()
        if now < self._next_trim:
            return
        self._next_trim = now + _TRIM_SECONDS
        try:
            delete_old_events(
                self._connection, self.event_log, self.cursor(), retention_days=self._retention_days, clock=self._clock
            )
        except SinkError as error:  # the events of the batch are processed all the same
            log.warning("old events of the log are not deleted: %s", error)


def has_states(connection: sqlite3.Connection) -> bool:
    """Return whether a ledger has processed events."""
    query = "SELECT EXISTS (SELECT 1 FROM run) OR EXISTS (SELECT 1 FROM shared)"
    return bool(connection.execute(query).fetchone()[0])
