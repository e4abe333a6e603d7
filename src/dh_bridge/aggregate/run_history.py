"""The history of a run, derived from its events: attempts, results, times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.model.merge import Version
from dh_bridge.openlineage.events import TERMINAL_TYPES

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Within one attempt FAIL beats ABORT beats COMPLETE, whatever their times.
_TYPE_PRECEDENCE = {"COMPLETE": 1, "ABORT": 2, "FAIL": 3}
_SECOND = 1_000_000
_HOUR = 3600 * _SECOND
_DAY = 24 * _HOUR
_HEARTBEATS = {"5m": _HOUR // 12, "hour": _HOUR, "day": _DAY}
THINNING_INTERVAL = 200
"""Events of a run after which redundant ones are dropped: the history of a run with a million events fits in memory."""


class Point(msgspec.Struct, gc=False):
    """One point of a run's timeline: ``time`` in microseconds; ``result`` is the type of the attempt's terminal event."""

    time: int
    attempt: int
    result: str | None = None
    duration: int | None = None


class History(msgspec.Struct):
    """The history that the events of a run result in; times in microseconds.

    ``start`` is the first START (else the first event), ``end`` the last terminal event of the last attempt; ``terminals`` are
    the versions of all terminal events; ``final_type`` is the event type that counts for the last attempt.
    """

    start: int
    has_start: bool
    last_version: Version
    attempts: int = 1
    end: int | None = None
    final_type: str | None = None
    points: list[Point] = []
    terminals: list[Version] = []
    has_completed: bool = False


class _Attempt:
    """The events of one attempt."""

    def __init__(self) -> None:
        self.start: int | None = None
        self.terminals: list[tuple[Version, str]] = []


def build_history(  # noqa: PLR0913 - what runs are, and the settings of runs
    events: list[tuple[Version, str | None]],
    *,
    streaming: bool = False,
    heartbeat: str = "hour",
    other_as: str = "none",
    start_skew: int = 0,
    restarts: bool = False,
    batches: bool = False,
    stated_numbers: Mapping[tuple[int, int], int] | None = None,
) -> History:
    """Return the history of (version, type) pairs, in any order and with duplicates; other arguments as in ``RunSettings``.

    ``restarts``: the producer sends one RUNNING when it continues after an end, and then nothing for a long time.

    ``batches``: the producer never retries a run; events after an end are the next batch of the same attempt.

    ``stated_numbers``: the attempts that events state, by (time, rank of the type).

    """
    if not stated_numbers and (single_event := single_event_history(events)) is not None:
        return single_event
    ordered = _drop_duplicates(sorted(events, key=lambda event: event[0]))
    starts = [version[0] for version, kind in ordered if kind == "START"]
    run_history = History(
        start=min(starts) if starts else ordered[0][0][0], has_start=bool(starts), last_version=ordered[-1][0]
    )
    late_start = _late_start(ordered, start_skew * _SECOND) if start_skew else None
    attempts = _split_attempts(ordered if late_start is None else ordered[:-1], stated_numbers or {}, batches=batches)
    points: dict[int, Point] = {}
    beat_micros = _HEARTBEATS.get(heartbeat) if streaming else None
    last_running = (
        max((version for version, kind in ordered if kind == "RUNNING"), default=None)
        if restarts and beat_micros
        else None
    )
    for number, attempt, attempt_events in attempts:
        for version, kind in attempt_events:
            time = version[0]
            if kind == "START" or (kind == "OTHER" and other_as == "started"):
                _put_point(points, Point(time, number))
            elif kind == "RUNNING" and beat_micros is not None:
                _put_point(points, Point(time - time % beat_micros, number))
        if attempt.terminals:
            _add_terminal_points(run_history, points, number, attempt)
        if last_running is not None:
            _add_resume_points(
                run_history, points, number, [version for version, _ in attempt.terminals if version < last_running]
            )
    if late_start is not None:
        # The point exists already if the START came first: it now shows the end, or the run would seem to continue.
        _put_point(points, Point(late_start, attempts[-1][0], run_history.final_type))
        run_history.start = ordered[0][0][0]
    run_history.attempts = attempts[-1][0]
    run_history.points = sorted(points.values(), key=lambda point: point.time)
    return run_history


def mark_failed(run_history: History) -> History:
    """Return the history of a failed run: the COMPLETE of an application does not cover its jobs (OpenLineage issue 4183).

    Its outputs were written, so for edges it counts as completed.
    """
    if run_history.final_type == "COMPLETE":
        run_history.final_type = "FAIL"
    for point in run_history.points:
        if point.result == "COMPLETE":
            point.result = "FAIL"
    return run_history


def thin_events(events: list[tuple[Version, str | None]], heartbeat: str = "5m") -> list[tuple[Version, str | None]]:
    """Return the events, sorted, without those that no :func:`build_history` with this ``heartbeat`` needs.

    Whatever else arrives.

    Of the RUNNING events of one heartbeat the first and the last stay: an event between them has one on either side. So a run
    with a million events takes the memory of some hundreds. One exception: if two ends arrive later and both are between these
    two events, it is unknown whether the run was active between them; they belong to one attempt.
    """
    beat_micros = _HEARTBEATS.get(heartbeat, _DAY)
    selection: list[tuple[Version, str | None]] = []
    for event in _drop_duplicates(sorted(events, key=lambda item: item[0])):
        beat = _beat(event, beat_micros) if len(selection) > 1 else None
        if beat is not None and beat == _beat(selection[-1], beat_micros) == _beat(selection[-2], beat_micros):
            selection[-1] = event
        else:
            selection.append(event)
    return selection


def thin_periodically(events: list[tuple[Version, str | None]], heartbeat: str) -> list[tuple[Version, str | None]]:
    """Return the events of a run.

    After each THINNING_INTERVAL more, redundant events and the bytes of the others are dropped.
    """
    if len(events) % THINNING_INTERVAL:
        return events
    remaining = thin_events(events, heartbeat)
    for (_, _, digest, _), _ in remaining:
        digest.compute()
    return remaining


def _beat(event: tuple[Version, str | None], beat_micros: int) -> int | None:
    return event[0][0] // beat_micros if event[1] == "RUNNING" else None


def single_event_history(events: list[tuple[Version, str | None]]) -> History | None:
    """Return the history of a run of which only a START or an end is known, whatever its settings; None for others."""
    if len(events) != 1:
        return None
    ((version, kind),) = events
    if kind == "START":
        return History(start=version[0], has_start=True, last_version=version, points=[Point(version[0], 1)])
    if kind not in TERMINAL_TYPES:
        return None
    return History(
        start=version[0],
        has_start=False,
        last_version=version,
        end=version[0],
        final_type=kind,
        points=[Point(version[0], 1, kind)],
        terminals=[version],
        has_completed=kind == "COMPLETE",
    )


def _drop_duplicates(ordered: list[tuple[Version, str | None]]) -> list[tuple[Version, str | None]]:
    """Return the events without duplicates, which are adjacent: two events never have the same version."""
    return [event for position, event in enumerate(ordered) if not position or event[0] != ordered[position - 1][0]]


def _split_attempts(
    ordered: list[tuple[Version, str | None]], stated_numbers: Mapping[tuple[int, int], int], *, batches: bool
) -> list[tuple[int, _Attempt, list[tuple[Version, str | None]]]]:
    """Split the events into attempts: only a START or RUNNING after a terminal event opens the next one.

    An event that states its attempt belongs to that one. The others of its attempt follow the nearest statement before them,
    else the first one after them.
    """
    groups: list[list[tuple[Version, str | None]]] = [[]]
    has_ended = False
    for version, kind in ordered:
        if kind in ("START", "RUNNING") and has_ended and not batches:
            groups.append([])
            has_ended = False
        groups[-1].append((version, kind))
        has_ended = has_ended or kind in TERMINAL_TYPES
    if not stated_numbers:
        return [(number, _attempt_of(group), group) for number, group in enumerate(groups, 1)]
    events_by_number: dict[int, list[tuple[Version, str | None]]] = {}
    number = 0
    for group in groups:
        numbers = [stated_numbers.get(version[:2]) for version, _ in group]
        number = next((stated for stated in numbers if stated is not None), number + 1)
        for event, stated in zip(group, numbers, strict=True):
            number = number if stated is None else stated
            events_by_number.setdefault(number, []).append(event)
    return [(number, _attempt_of(group), group) for number, group in sorted(events_by_number.items())]


def _attempt_of(events: list[tuple[Version, str | None]]) -> _Attempt:
    attempt = _Attempt()
    for version, kind in events:
        if kind == "START" and attempt.start is None:
            attempt.start = version[0]
        elif kind in TERMINAL_TYPES:
            attempt.terminals.append((version, str(kind)))
    return attempt


def _late_start(ordered: list[tuple[Version, str | None]], skew: int) -> int | None:
    """Return the time of a run's only START if it comes last and less than ``skew`` after the end; None otherwise."""
    if len(ordered) < 2 or ordered[-1][1] != "START" or ordered[-2][1] not in TERMINAL_TYPES:
        return None
    time = ordered[-1][0][0]
    is_only_start = all(kind != "START" for _, kind in ordered[:-1])
    return time if is_only_start and time - ordered[-2][0][0] < skew else None


def _add_terminal_points(run_history: History, points: dict[int, Point], number: int, attempt: _Attempt) -> None:
    """Add the terminal points of an attempt, all with the result that won in it."""
    strongest = max(attempt.terminals, key=lambda terminal: (_TYPE_PRECEDENCE[terminal[1]], terminal[0]))
    for version, kind in attempt.terminals:
        duration = version[0] - attempt.start if attempt.start is not None and version[0] >= attempt.start else None
        _put_point(points, Point(version[0], number, strongest[1], duration))
        run_history.terminals.append(version)
        run_history.has_completed = run_history.has_completed or kind == "COMPLETE"
    run_history.end = attempt.terminals[-1][0][0]
    run_history.final_type = strongest[1]


def _add_resume_points(run_history: History, points: dict[int, Point], number: int, ends: list[Version]) -> None:
    """Add a point one millisecond after each of the ``ends`` of an attempt that were followed by later events.

    The point depends on an end and any later RUNNING, so no late event withdraws it. It shows that the next attempt runs or, if
    a later end belongs to the same attempt, its result again.
    """
    for version in ends:
        is_last = version[0] == run_history.end
        _put_point(
            points,
            Point(version[0] + 1000, number + 1 if is_last else number, None if is_last else run_history.final_type),
        )


def _put_point(points: dict[int, Point], point: Point) -> None:
    """Keep one point per millisecond: a terminal one wins (highest attempt first), else the smallest time."""
    key = point.time // 1000
    existing = points.get(key)
    if existing is None or (point.result is not None, point.attempt if point.result else 0, -point.time) > (
        existing.result is not None,
        existing.attempt if existing.result else 0,
        -existing.time,
    ):
        points[key] = point
