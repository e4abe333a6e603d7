"""Events of the ledger's log: the latest, those with a text, those of a run, and one as text."""

from __future__ import annotations

import json
import time
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
_MILLIS_MICROS = 1_000
_NO_POSITION = 2**62
_BLOCK_EVENTS = 5_000
"""Events that a search reads at once."""
_SEARCH_SECONDS = 0.5
_RUN_PREFIX = "urn:li:dataProcessInstance:"


class LoggedEventRow(msgspec.Struct, frozen=True):
    """An event of the log: its position, when it was received (milliseconds), and what it is."""

    position: int
    received: int
    type: str | None
    job: str


class LoggedEvents(msgspec.Struct, frozen=True):
    """Events, newest first; ``has_log`` is false if the ledger has no event log.

    ``before``: ask again with it for older events; None if there are none. ``searched_since``: when the oldest event that was looked
    at was received, in milliseconds.
    """

    events: list[LoggedEventRow]
    has_log: bool
    before: int | None = None
    searched_since: int | None = None


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
        return event_log.total_bytes()


def answer_logged_events(source: ConsoleSource, parameters: RequestParameters) -> LoggedEvents:
    """Return the latest events of the log before the position ``before``; with ``q``, those that contain the text.

    A search reads blocks of events backwards for half a second, or until there are ``limit`` events.
    """
    limit = max(1, parameters.number("limit", _MAX_LATEST, maximum=_MAX_LATEST))
    before = parameters.number("before", _NO_POSITION, maximum=_NO_POSITION)
    if not has_log(source):
        return LoggedEvents([], has_log=False)
    needles = _needles(parameters.text("q"))
    rows: list[LoggedEventRow] = []
    searched_since = None
    deadline = time.monotonic() + _SEARCH_SECONDS
    with open_log(source) as event_log:
        first, end = event_log.first_position(), min(before, event_log.last_position() + 1)
        while end > first and len(rows) < limit:
            start = max(first, end - (_BLOCK_EVENTS if needles else limit - len(rows)))
            matches: list[LoggedEventRow] = []
            first_received = None
            for position, event in _read_block(event_log, start, end):
                first_received = first_received or event.received // _MILLIS_MICROS
                if not needles or any(needle in event.event for needle in needles):
                    matches.append(_row(position, event))
            searched_since = first_received or searched_since
            room = limit - len(rows)
            rows += reversed(matches[-room:])
            end = matches[-room].position if len(matches) > room else start
            if time.monotonic() > deadline:
                break
    return LoggedEvents(rows, has_log=True, before=end if end > first else None, searched_since=searched_since)


def _read_block(event_log: ReadOnlyLog, start: int, end: int) -> Iterator[PositionedEvent]:
    """Yield the events from the position ``start`` up to ``end``, which is not included."""
    position = start - 1
    while position < end - 1:
        batch = event_log.read_after(position, max_events=end - 1 - position, max_bytes=_MAX_BYTES)
        if not batch.events:
            return
        yield from (item for item in batch.events if item.position < end)
        position = batch.last


def _needles(text: str) -> list[bytes]:
    """Return how a text may be written in the JSON of an event: with characters as they are, or as escapes."""
    forms = (json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True))
    return list(dict.fromkeys(form.encode("utf-8", "surrogatepass") for form in forms)) if text else []


def answer_logged_event(source: ConsoleSource, parameters: RequestParameters) -> EventTexts:
    """Return the event at ``position``."""
    position = parameters.number("position", 0, maximum=2**62)
    with open_log(source) as event_log:
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
    with open_log(source) as event_log:
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
        return LoggedEventRow(position, event.received // _MILLIS_MICROS, None, event.location)
    return LoggedEventRow(position, event.received // _MILLIS_MICROS, parsed_event.type, parsed_event.name)


def _pretty(event: bytes) -> str:
    try:
        return msgspec.json.format(event, indent=2).decode("utf-8", "replace")
    except msgspec.DecodeError:
        return event.decode("utf-8", "replace")


@contextmanager
def open_log(source: ConsoleSource) -> Iterator[ReadOnlyLog]:
    """Yield the event log of the ledger, for reading only; a SinkError if it has none."""
    with open_log_of(Path(source.file)) as event_log:
        yield event_log
