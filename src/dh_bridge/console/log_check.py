"""A check of the event log, in a thread of its own: it can take minutes, shows its progress, and can be stopped."""

from __future__ import annotations

import logging
import time
from threading import Event as Signal
from threading import Lock, Thread
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.console.event_survey import LOG_LOCATION, EventFindings, EventSurvey
from dh_bridge.console.logged_events import has_log, open_log
from dh_bridge.errors import INTERNAL_ERROR, BridgeError, EventError
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.openlineage.parsing import parse_event

if TYPE_CHECKING:
    from dh_bridge.console.parameters import RequestParameters
    from dh_bridge.console.source import ConsoleSource
    from dh_bridge.event_log.log import PositionedEvent
    from dh_bridge.openlineage.events import Event

log = logging.getLogger("dh_bridge.console")

_DEFAULT_EVENTS = 10_000
_MAX_EVENTS = 2**62
_EVENTS_PER_READ, _BYTES_PER_READ = 1_000, 8 * 1024 * 1024
_EVENTS_PER_TURN = 20
_MAX_PAUSE_SECONDS = 0.5


class LogCheckState(msgspec.Struct, frozen=True):
    """The check of the log.

    ``state``: none, running, done, stopped or failed. ``checked`` and ``total``: numbers of events. ``since``: when the first
    checked event was received, in milliseconds. ``findings``: None until the check ends.
    """

    has_log: bool
    state: str = "none"
    checked: int = 0
    total: int = 0
    since: int | None = None
    error: str | None = None
    findings: EventFindings | None = None


class LogCheckRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many of the latest events to check; None: all."""

    events: int | None = _DEFAULT_EVENTS


class LogCheck:
    """Checks the latest events of a log; one check at a time. It takes at most half of a processor.

    Args:
        source: The ledger and the settings.
    """

    def __init__(self, source: ConsoleSource) -> None:
        self._source = source
        self._lock = Lock()
        self._stop = Signal()
        self._thread: Thread | None = None
        self._state = LogCheckState(has_log=True)

    @property
    def state(self) -> LogCheckState:
        """How far the check is, and what it found."""
        return self._state

    def start(self, event_count: int | None) -> None:
        """Begin a check of the latest events, unless one is running."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._stop.clear()
            self._state = LogCheckState(has_log=True, state="running")
            arguments = (_MAX_EVENTS if event_count is None else event_count,)
            self._thread = Thread(target=self._run, args=arguments, name="dh_bridge.log_check", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End a running check; what it found so far remains."""
        self._stop.set()

    def wait(self) -> None:
        """Wait until the check has ended."""
        if self._thread is not None:
            self._thread.join()

    def _run(self, event_count: int) -> None:
        try:
            self._check(event_count)
        except BridgeError as error:
            self._update(state="failed", error=str(error))
        except Exception:
            log.exception("check of the event log: %s", INTERNAL_ERROR)
            self._update(state="failed", error="internal error: see the log of dh-bridge")

    def _check(self, event_count: int) -> None:
        survey = EventSurvey(self._source.bridge)
        with open_log(self._source) as event_log:
            first, last = event_log.first_position(), event_log.last_position()
            position = max(first - 1, last - event_count)
            self._update(total=last - position)
            while position < last and not self._stop.is_set():
                batch = event_log.read_after(position, max_events=_EVENTS_PER_READ, max_bytes=_BYTES_PER_READ)
                if not batch.events:
                    break
                if self._state.since is None:
                    self._update(since=batch.events[0].event.received // 1_000)
                self._see(survey, batch.events)
                position = batch.last
        self._update(state="stopped" if self._stop.is_set() else "done", findings=survey.findings())

    def _see(self, survey: EventSurvey, events: list[PositionedEvent]) -> None:
        """Check events; after each few of them, pause as long as they took."""
        begin = time.monotonic()
        for number, (position, event) in enumerate(events, 1):
            survey.see(self._parse(event.event, f"{LOG_LOCATION}{position}"))
            if number % _EVENTS_PER_TURN == 0 or number == len(events):
                self._update(checked=survey.event_count)
                if self._stop.wait(min(time.monotonic() - begin, _MAX_PAUSE_SECONDS)):
                    return
                begin = time.monotonic()

    def _parse(self, event: bytes, location: str) -> Event | DeadLetter:
        try:
            return parse_event(event, location, self._source.bridge.zone)
        except EventError as error:
            return DeadLetter(location, str(error), event)

    def _update(self, **changes: object) -> None:
        self._state = msgspec.structs.replace(self._state, **changes)


def log_check_of(source: ConsoleSource) -> LogCheck:
    """Return the check of the event log, which all requests share."""
    return source.shared("log check", lambda: LogCheck(source))


def answer_log_check(source: ConsoleSource, _parameters: RequestParameters) -> LogCheckState:
    """Return the progress or the result of the check."""
    return log_check_of(source).state if has_log(source) else LogCheckState(has_log=False)


def answer_start_log_check(source: ConsoleSource, parameters: RequestParameters) -> LogCheckState:
    """Begin a check of the log, unless one is running."""
    try:
        request = msgspec.json.decode(parameters.body or b"{}", type=LogCheckRequest)
    except msgspec.DecodeError as error:
        raise ValueError(f"the body is not valid: {error}") from error
    if request.events is not None and request.events < 1:
        raise ValueError("events: expected a number above 0")
    if has_log(source):
        log_check_of(source).start(request.events)
    return answer_log_check(source, parameters)


def answer_stop_log_check(source: ConsoleSource, parameters: RequestParameters) -> LogCheckState:
    """Stop the check of the log; what it found so far remains."""
    log_check = log_check_of(source)
    log_check.stop()
    log_check.wait()
    return answer_log_check(source, parameters)
