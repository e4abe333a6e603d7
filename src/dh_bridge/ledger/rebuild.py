"""Rebuilds the states of a ledger from its event log, under other settings or with another version of dh-bridge.

The events are merged in a file of their own, so the ledger is not blocked. Its states are then replaced in one transaction,
with the cursor: events that arrived meanwhile are processed again. What was sent is not touched, so only differences are sent.
"""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import SinkError
from dh_bridge.event_log import EventLog, LogBatch
from dh_bridge.ledger.compression import compression_of
from dh_bridge.ledger.factory import NullSink
from dh_bridge.ledger.ledger import Ledger
from dh_bridge.ledger.ledger_log import LedgerLog, existing_log_folder, has_all_events, has_states, log_folder
from dh_bridge.ledger.schema import STATE_TABLES
from dh_bridge.ledger.state_snapshots import list_snapshots, read_snapshot_note
from dh_bridge.ledger.withheld import WithheldWrites
from dh_bridge.options import Options
from dh_bridge.storage.connection import copy
from dh_bridge.storage.database import Database
from dh_bridge.storage.scratch import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from dh_bridge.event_log import LoggedEvent
    from dh_bridge.session import Counts
    from dh_bridge.settings import Settings

log = logging.getLogger("dh_bridge.ledger")

_MICROS = 1_000_000
_MILLIS_MICROS = 1_000
_MAX_LAG_MICROS = 86_400_000_000
"""Time from the receipt of an event until it is in the log, at most."""
_EVENTS_PER_READ = 1_000
_BYTES_PER_READ = 64 * 1024 * 1024


class ReplayStart(NamedTuple):
    """The snapshot with which a replay begins: the position of its last event, and when it was made (milliseconds)."""

    position: int
    time: int


class RebuiltStates(NamedTuple):
    """The states that the events of a log give.

    ``path``: the file that has them. ``cursor``: the position of the last event. ``counts``: of the events. ``is_complete``:
    whether they are made of all events that the ledger ever processed, and of nothing else. ``start``: the snapshot with which they
    begin otherwise; None: they begin with the present states. ``urns``: the entities.
    """

    path: Path
    cursor: int
    counts: list[Counts]
    is_complete: bool
    start: ReplayStart | None
    urns: frozenset[str]


class ReadOnlyLog(EventLog):
    """The log of a ledger, for a process that only reads it.

    ``last_received``: when the event that was read last was received, in microseconds. ``is_left_out``: whether an event is
    skipped. If another process deletes events that the log had at first, before they are read, it is an error.
    """

    def __init__(self, folder: Path, is_left_out: Callable[[LoggedEvent], bool] | None = None) -> None:
        super().__init__(folder, max_bytes=0)
        self.last_received = 0
        self._is_left_out = is_left_out
        #: the first position of the log when it was read first
        self._oldest: int | None = None

    def append(self, events: Sequence[LoggedEvent], *, min_position: int = 1) -> range:  # noqa: ARG002 - as its base class
        """Reject events."""
        raise SinkError("the log is open for reading only", location=str(self.folder))

    def read_after(self, position: int, *, max_events: int, max_bytes: int) -> LogBatch:
        """Return the events after a position.

        Raises:
            SinkError: The log cannot be read, or another process deleted events that were to be read next.
        """
        batch = self._read_next(position, max_events, max_bytes)
        while self._is_left_out is not None and batch.events:
            kept = [item for item in batch.events if not self._is_left_out(item.event)]
            if kept:
                batch = LogBatch(kept, batch.last)
                break
            batch = self._read_next(batch.last, max_events, max_bytes)
        if batch.events:
            self.last_received = max(self.last_received, batch.events[-1].event.received)
        return batch

    def _read_next(self, position: int, max_events: int, max_bytes: int) -> LogBatch:
        oldest = self.first_position() if self._oldest is None else self._oldest
        batch = super().read_after(position, max_events=max_events, max_bytes=max_bytes)
        if batch.events and batch.events[0].position == position + 1:
            return batch
        first = self.first_position()
        if oldest <= position + 1 < first:
            raise SinkError(
                f"the events {position + 1:,} to {first - 1:,} were deleted from the log before they were read",
                location=str(self.folder),
                remedy="run the command again; what `dh-bridge log export` wrote before is read with --archive",
                retryable=True,
            )
        return batch

    def first_position(self) -> int:
        """Return the position of the first event of the log."""
        position = super().first_position()
        if self._oldest is None:
            self._oldest = position
        return position

    def delete_old(self, position: int, *, retention_days: int) -> int:  # noqa: ARG002 - as its base class
        """Delete nothing."""
        return 0

    def events(self, since: int | None = None) -> Iterator[LoggedEvent]:
        """Yield the events that were received at a time (milliseconds) or later, oldest first.

        Segments that ended a day or more before that time are not read.
        """
        start = None if since is None else self.position_before_time(since * _MILLIS_MICROS - _MAX_LAG_MICROS)
        for _, event in self.positioned_events(start):
            if since is None or event.received >= since * _MILLIS_MICROS:
                yield event

    def position_before(self, since: int) -> int:
        """Return the position before the first event that was received at a time (milliseconds) or later."""
        for position, event in self.positioned_events():
            if event.received >= since * _MILLIS_MICROS:
                return position - 1
        return self.status(0).last

    def positioned_events(self, start: int | None = None) -> Iterator[tuple[int, LoggedEvent]]:
        """Yield the events after a position (None: all of them) with their positions, oldest first."""
        position = self.first_position() - 1 if start is None else start
        while (batch := self.read_after(position, max_events=_EVENTS_PER_READ, max_bytes=_BYTES_PER_READ)).events:
            yield from batch.events
            position = batch.last


def open_log_of(ledger_path: Path, is_left_out: Callable[[LoggedEvent], bool] | None = None) -> ReadOnlyLog:
    """Return the log of a ledger.

    Args:
        ledger_path: the ledger.
        is_left_out: whether an event is skipped.

    Raises:
        SinkError: The ledger has no log.
    """
    return ReadOnlyLog(existing_log_folder(ledger_path), is_left_out)


@contextmanager
def rebuild_states(
    ledger_path: Path,
    log_folder: Path,
    settings: Settings,
    *,
    since: int | None = None,
    is_left_out: Callable[[LoggedEvent], bool] | None = None,
) -> Iterator[RebuiltStates]:
    """Merge the events of a ledger's log under ``settings`` in a temporary file, and yield the result.

    Args:
        ledger_path: the ledger.
        log_folder: the folder of its log, or that of :func:`~dh_bridge.ledger.archived_log.joined_log`.
        settings: the settings to use.
        since: milliseconds; only events that were received later. They are added to the present states of the ledger.
        is_left_out: which events are skipped. The states are then made of the other events alone.

    Raises:
        SinkError: A file cannot be read or written.
    """
    with (
        ReadOnlyLog(log_folder, is_left_out) as event_log,
        scratch_folder("replay") as folder,
    ):
        path = folder / "ledger.db"
        with Database(ledger_path, readonly=True) as live:
            is_complete = since is None and has_all_events(live.connection, event_log)
        snapshot = None
        position = event_log.first_position() - 1 if since is None else event_log.position_before(since)
        if not is_complete and is_left_out is None:
            snapshot = None if since is not None else _copy_snapshot(ledger_path, position, path)
            if snapshot is None:
                copy(ledger_path, path)
            else:
                position = snapshot.position
        event_log.read_after(position, max_events=1, max_bytes=1)  # the clock of the replay begins with the first event
        counts = []
        with Database(path) as file:
            options = Options(settings, is_stateful=True)
            ledger_log = LedgerLog(event_log, file.connection, options, lambda: event_log.last_received / _MICROS)
            with file.transaction():
                ledger_log.move_cursor(position)
            ledger = Ledger(
                file, options, NullSink(), clock=lambda: event_log.last_received / _MICROS, event_log=event_log
            )
            for translation, _ in ledger.fold_log():
                counts.append(translation.counts)
                with file.transaction():
                    file.connection.execute("DELETE FROM outbox")
            urns = frozenset(urn for (urn,) in file.connection.execute("SELECT urn FROM sent"))
            yield RebuiltStates(path, ledger_log.cursor(), counts, is_complete, snapshot, urns)


def _copy_snapshot(ledger_path: Path, position: int, copy_path: Path) -> ReplayStart | None:
    """Copy the first snapshot from which a replay of the events after a position can start; None if there is none."""
    for snapshot in list_snapshots(log_folder(ledger_path)):
        if snapshot.position < position:
            continue
        try:
            copy(snapshot.path, copy_path)
            with Database(copy_path) as file:
                note = read_snapshot_note(file.connection)
        except SinkError as error:  # deleted meanwhile, damaged, or of another version: a later one may be intact
            log.warning("a snapshot cannot be used: %s", error)
            copy_path.unlink(missing_ok=True)
            continue
        return ReplayStart(snapshot.position, 0 if note is None else note.time)
    return None


def adopt_states(
    file: Database,
    event_log: EventLog,
    rebuilt: RebuiltStates,
    settings: Settings,
    prepare: Callable[[], None] | None = None,
) -> None:
    """Replace the states of a ledger by rebuilt ones, and let it render all entities again, in one transaction.

    Args:
        file: the ledger.
        event_log: its log.
        rebuilt: the states.
        settings: those of the rebuilt states.
        prepare: what else the transaction changes, before the states.
    """

    def change() -> None:
        if prepare is not None:
            prepare()
        _replace_states(file, settings)
        options = Options(settings, is_stateful=True)
        LedgerLog(event_log, file.connection, options, lambda: 0.0).move_cursor(rebuilt.cursor)

    _with_states_of(file, rebuilt.path, change)


def adopt_older_states(ledger_path: Path, new_path: Path, settings: Settings) -> bool:
    """Give a new ledger the present states of another one, if that one has processed events that its log lacks.

    The new ledger has sent nothing, so it renders all entities. If it has states, nothing happens.

    Args:
        ledger_path: the ledger.
        new_path: the new ledger, which is created.
        settings: those of both.

    Returns:
        Whether the new ledger has got the states.

    Raises:
        SinkError: A file cannot be read or written.
    """
    with Database(ledger_path, readonly=True) as live, open_log_of(ledger_path) as event_log:
        if has_all_events(live.connection, event_log):
            return False
    with Database(new_path) as file, scratch_folder("replay") as folder:
        if has_states(file.connection):
            return False
        copy_path = folder / "ledger.db"
        copy(ledger_path, copy_path)
        Database(copy_path).close()  # tables of an older version are brought up to date
        _with_states_of(file, copy_path, lambda: _replace_states(file, settings))
    return True


def _with_states_of(file: Database, path: Path, change: Callable[[], None]) -> None:
    """Call ``change`` in a transaction in which another ledger is the database ``other``."""
    file.connection.execute("ATTACH DATABASE ? AS other", (str(path),))
    try:
        with file.transaction():
            change()
    finally:
        file.connection.execute("DETACH DATABASE other")


def _replace_states(file: Database, settings: Settings) -> None:
    """Replace the states of a ledger by those of ``other``, and schedule all entities to be rendered again."""
    for table in reversed(STATE_TABLES):
        file.connection.execute(f"DELETE FROM main.{table}")  # noqa: S608 - constants of the schema
    file.connection.execute("INSERT OR IGNORE INTO main.dictionary SELECT * FROM other.dictionary")
    compression_of(file.connection).forget()
    for table in STATE_TABLES:
        file.connection.execute(f"INSERT INTO main.{table} SELECT * FROM other.{table}")  # noqa: S608 - as above
    file.connection.execute("DELETE FROM note WHERE name = 'runs'")  # the estimate of rows: it is counted again
    WithheldWrites(file.connection, settings.writes).schedule_all()


def forget_sent(file: Database, urns: Iterable[str]) -> None:
    """Let entities count as never sent, in the caller's transaction."""
    file.connection.executemany("DELETE FROM sent WHERE urn = ?", [(urn,) for urn in urns])


def sent_urns(file: Database) -> frozenset[str]:
    """Return the entities for which a ledger sent something."""
    return frozenset(urn for (urn,) in file.connection.execute("SELECT urn FROM sent"))
