"""Events of the ledger's log (setting `log.enabled`): the latest ones, those of a run, and one as text."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.errors import EventError
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.ledger.rebuild import open_log_of
from dh_bridge.ledger.run_history import read_history
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.options import Options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.console.parameters import RequestParameters
    from dh_bridge.console.source import ConsoleSource
    from dh_bridge.event_log import LoggedEvent
    from dh_bridge.event_log.log import PositionedEvent
    from dh_bridge.ledger.rebuild import ReadOnlyLog

_MAX_LATEST = 200
_MAX_RUN_EVENTS = 50
_MAX_BYTES = 32 * 1024 * 1024
"""Bytes of events that are read at once, at most."""
_MAX_LAG_MILLIS = 86_400_000
"""The time between receipt and processing of an event, at most."""
_RUN_PREFIX = "urn:li:dataProcessInstance:"


class LoggedEventRow(msgspec.Struct, frozen=True):
    """An event of the log: its position, when it was received (milliseconds), and what it is."""

    position: int
    received: int
    type: str | None
    job: str


class LoggedEvents(msgspec.Struct, frozen=True):
    """The latest events, newest first; ``has_log`` is false if the ledger has no event log."""

    events: list[LoggedEventRow]
    has_log: bool


class EventTexts(msgspec.Struct, frozen=True):
    """Events as text, one on each line; empty if the log does not have them."""

    text: str


def has_log(source: ConsoleSource) -> bool:
    """Return whether the ledger has an event log."""
    return log_folder(source.file).is_dir()


def log_bytes(source: ConsoleSource) -> int | None:
    """Return the size of the event log in bytes; None without a log."""
    if not has_log(source):
        return None
    with open_log_of(Path(source.file)) as event_log:
        return event_log.status(0).total_bytes


def latest_events(source: ConsoleSource, number: int) -> list[PositionedEvent]:
    """Return the latest events of the log, oldest first; none without a log."""
    if not has_log(source):
        return []
    with _open_log(source) as event_log:
        status = event_log.status(0)
        start = max(status.first - 1, status.last - number)
        return list(event_log.read_after(start, max_events=number, max_bytes=_MAX_BYTES).events)


def answer_logged_events(source: ConsoleSource, parameters: RequestParameters) -> LoggedEvents:
    """Return the latest events of the log."""
    number = max(1, parameters.number("limit", _MAX_LATEST, maximum=_MAX_LATEST))
    rows = [_row(position, event) for position, event in latest_events(source, number)]
    return LoggedEvents(rows[::-1], has_log(source))


def answer_logged_event(source: ConsoleSource, parameters: RequestParameters) -> EventTexts:
    """Return the event at ``position``."""
    position = parameters.number("position", 0, maximum=2**62)
    with _open_log(source) as event_log:
        batch = event_log.read_after(position - 1, max_events=1, max_bytes=1)
    if not batch.events or batch.events[0].position != position:
        raise ValueError(f"the log has no event {position} (it may be older than log.retention_days)")
    return EventTexts(_pretty(batch.events[0].event.event))


def answer_run_events(source: ConsoleSource, parameters: RequestParameters) -> EventTexts:
    """Return the events of the run ``urn``, the first 50; the log is read from the time of the first one on."""
    run_id = parameters.required("urn").removeprefix(_RUN_PREFIX)
    if not has_log(source):
        return EventTexts("")
    texts: list[str] = []
    with _open_log(source) as event_log:
        for event in event_log.events(_first_recorded(source, run_id)):
            if event.run_key == run_id:
                texts.append(event.event.decode("utf-8", "replace").strip())
                if len(texts) == _MAX_RUN_EVENTS:
                    break
    return EventTexts("\n".join(" ".join(text.splitlines()) for text in texts))


def _first_recorded(source: ConsoleSource, run_id: str) -> int | None:
    """Return a time (milliseconds) before which the log has no event of a run; None if it is unknown."""
    with source.read_ledger() as ledger:
        try:
            options = Options(source.settings, is_stateful=True)
            history = read_history(ledger.connection, run_id, options, location=source.file)
        except EventError:
            return None
    return min((entry.recorded_at for _, entry in history.events), default=0) - _MAX_LAG_MILLIS


def _row(position: int, event: LoggedEvent) -> LoggedEventRow:
    try:
        parsed_event = parse_event(event.event, event.location)
    except EventError:
        return LoggedEventRow(position, event.received // 1000, None, event.location)
    return LoggedEventRow(position, event.received // 1000, parsed_event.type, parsed_event.name)


def _pretty(event: bytes) -> str:
    try:
        return msgspec.json.format(event, indent=2).decode("utf-8", "replace")
    except msgspec.DecodeError:
        return event.decode("utf-8", "replace")


@contextmanager
def _open_log(source: ConsoleSource) -> Iterator[ReadOnlyLog]:
    with open_log_of(Path(source.file)) as event_log:
        yield event_log
