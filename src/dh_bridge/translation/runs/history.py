"""The history of a run, derived from its events: attempts, results, times."""

from __future__ import annotations

from typing import Any

import msgspec

from dh_bridge.openlineage.events import TERMINAL
from dh_bridge.translation.merge import Stamp

#: Within one attempt FAIL beats ABORT beats COMPLETE, whatever their times.
_STRENGTH = {"COMPLETE": 1, "ABORT": 2, "FAIL": 3}
_SECOND = 1_000_000
_HOUR = 3600 * _SECOND
_DAY = 24 * _HOUR
_HEARTBEATS = {"5m": _HOUR // 12, "hour": _HOUR, "day": _DAY}
MANY = 200
"""Events of one run after which those are let go that say nothing more: a run of a million events fits."""


class Point(msgspec.Struct, gc=False):
    """One point of a run's timeline: ``time`` in microseconds, ``result`` the word of the attempt's terminal event."""

    time: int
    attempt: int
    result: str | None = None
    duration: int | None = None


class History(msgspec.Struct):
    """What the events of a run say together; times in microseconds.

    ``start`` is the first START (else the first event), ``end`` the last terminal event of the last attempt;
    ``terminals`` are the stamps of all terminal events; ``winner`` is the word that counts for the last attempt.
    """

    start: int
    started: bool
    last: Stamp
    attempts: int = 1
    end: int | None = None
    winner: str | None = None
    points: list[Point] = []
    terminals: list[Stamp] = []
    completed: bool = False


class _Attempt:
    """The events of one attempt."""

    def __init__(self) -> None:
        self.start: int | None = None
        self.terminals: list[tuple[Stamp, str]] = []


def history(  # noqa: PLR0913 - what runs are, and the settings of runs
    events: list[tuple[Stamp, str | None]],
    *,
    streaming: bool = False,
    heartbeat: str = "hour",
    other_as: str = "none",
    start_skew: int = 0,
    restarts: bool = False,
    batches: bool = False,
) -> History:
    """Return the history of (stamp, type) pairs, given in any order, doubles allowed; the rest as in ``RunSettings``.

    ``restarts``: its producer says RUNNING once when it goes on after an end, and then nothing for a long time.
    ``batches``: its producer tries no run again; what begins after an end is the next batch of the same attempt.
    """
    if (alone := only(events)) is not None:
        return alone
    ordered = _distinct(sorted(events, key=lambda one: one[0]))
    starts = [stamp[0] for stamp, kind in ordered if kind == "START"]
    found = History(start=min(starts) if starts else ordered[0][0][0], started=bool(starts), last=ordered[-1][0])
    late = _late_start(ordered, start_skew * _SECOND) if start_skew else None
    attempts = _attempts(ordered if late is None else ordered[:-1], batches=batches)
    points: dict[int, Point] = {}
    step = _HEARTBEATS.get(heartbeat) if streaming else None
    running = max((stamp for stamp, kind in ordered if kind == "RUNNING"), default=None) if restarts and step else None
    for number, attempt, own in attempts:
        for stamp, kind in own:
            time = stamp[0]
            if kind == "START" or (kind == "OTHER" and other_as == "started"):
                _put(points, Point(time, number))
            elif kind == "RUNNING" and step is not None:
                _put(points, Point(time - time % step, number))
        if attempt.terminals:
            _finish(found, points, number, attempt)
        if running is not None:
            _go_on(found, points, number, [stamp for stamp, _ in attempt.terminals if stamp < running])
    if late is not None:
        # Its point is there already where the START came first: it tells of the end now, lest the run seem to go on.
        _put(points, Point(late, attempts[-1][0], found.winner))
        found.start = ordered[0][0][0]
    found.attempts = attempts[-1][0]
    found.points = sorted(points.values(), key=lambda point: point.time)
    return found


def failing(found: History) -> History:
    """Return the history of a run that failed: the COMPLETE of an application says nothing of its jobs (OpenLineage issue 4183).

    What it wrote by then was written: it counts as completed all the same.
    """
    if found.winner == "COMPLETE":
        found.winner = "FAIL"
    for point in found.points:
        if point.result == "COMPLETE":
            point.result = "FAIL"
    return found


def thinned(events: list[tuple[Stamp, str | None]], heartbeat: str = "5m") -> list[tuple[Stamp, str | None]]:
    """Return the events, sorted, without those that no :func:`history` of this ``heartbeat`` needs, whatever else comes.

    Of the RUNNING of one beat the first and the last stay: what falls between them has one on either side. So a run of a
    million events is held in the memory of some hundreds. The exception: of two ends that come later and both fall between
    the two, nobody knows any more whether it ran in between; they are of one attempt.
    """
    step = _HEARTBEATS.get(heartbeat, _DAY)
    found: list[tuple[Stamp, str | None]] = []
    for event in _distinct(sorted(events, key=lambda one: one[0])):
        beat = _beat(event, step) if len(found) > 1 else None
        if beat is not None and beat == _beat(found[-1], step) == _beat(found[-2], step):
            found[-1] = event
        else:
            found.append(event)
    return found


def let_go_of_many(events: list[tuple[Stamp, str | None]], heartbeat: str) -> list[tuple[Stamp, str | None]]:
    """Return the events of a run; whenever there are MANY more, those that say nothing more, and the bytes of the others, go."""
    if len(events) % MANY:
        return events
    left = thinned(events, heartbeat)
    for (_, _, digest, _), _ in left:
        digest.settle()
    return left


def _beat(event: tuple[Stamp, str | None], step: int) -> int | None:
    return event[0][0] // step if event[1] == "RUNNING" else None


def only(events: list[tuple[Stamp, str | None]]) -> History | None:
    """Return the history of a run of which a START or an end is all that is known, whatever its settings; None for others."""
    if len(events) != 1:
        return None
    ((stamp, kind),) = events
    if kind == "START":
        return History(start=stamp[0], started=True, last=stamp, points=[Point(stamp[0], 1)])
    if kind not in TERMINAL:
        return None
    return History(
        start=stamp[0],
        started=False,
        last=stamp,
        end=stamp[0],
        winner=kind,
        points=[Point(stamp[0], 1, kind)],
        terminals=[stamp],
        completed=kind == "COMPLETE",
    )


def _distinct(ordered: list[tuple[Stamp, str | None]]) -> list[tuple[Stamp, str | None]]:
    """Return the events without doubles, which stand side by side: two events never share a stamp."""
    return [event for position, event in enumerate(ordered) if not position or event[0] != ordered[position - 1][0]]


def _attempts(
    ordered: list[tuple[Stamp, str | None]], *, batches: bool
) -> list[tuple[int, _Attempt, list[tuple[Stamp, str | None]]]]:
    """Split the events into attempts: only a START or RUNNING after a terminal event opens the next one."""
    attempt = _Attempt()
    own: list[tuple[Stamp, Any]] = []
    found: list[tuple[int, _Attempt, list[tuple[Stamp, Any]]]] = [(1, attempt, own)]
    for stamp, kind in ordered:
        if kind in ("START", "RUNNING") and attempt.terminals and not batches:
            attempt, own = _Attempt(), []
            found.append((found[-1][0] + 1, attempt, own))
        own.append((stamp, kind))
        if kind == "START" and attempt.start is None:
            attempt.start = stamp[0]
        elif kind in TERMINAL:
            attempt.terminals.append((stamp, str(kind)))
    return found


def _late_start(ordered: list[tuple[Stamp, str | None]], skew: int) -> int | None:
    """Return the time of a run's only START where that comes last, less than ``skew`` after the end; None where it is none such."""
    if len(ordered) < 2 or ordered[-1][1] != "START" or ordered[-2][1] not in TERMINAL:
        return None
    time = ordered[-1][0][0]
    only = all(kind != "START" for _, kind in ordered[:-1])
    return time if only and time - ordered[-2][0][0] < skew else None


def _finish(found: History, points: dict[int, Point], number: int, attempt: _Attempt) -> None:
    """Add the terminal points of an attempt, all with the word that won in it."""
    strongest = max(attempt.terminals, key=lambda one: (_STRENGTH[one[1]], one[0]))
    for stamp, kind in attempt.terminals:
        duration = stamp[0] - attempt.start if attempt.start is not None and stamp[0] >= attempt.start else None
        _put(points, Point(stamp[0], number, strongest[1], duration))
        found.terminals.append(stamp)
        found.completed = found.completed or kind == "COMPLETE"
    found.end = attempt.terminals[-1][0][0]
    found.winner = strongest[1]


def _go_on(found: History, points: dict[int, Point], number: int, ends: list[Stamp]) -> None:
    """Add a point a millisecond behind each of the ``ends`` of an attempt after which the run went on, whenever that was.

    That there is one rests on an end and on any later RUNNING, so no event that comes late takes it back. It tells that the
    next attempt runs, or once more what came of this one, where a later end is of the same.
    """
    for stamp in ends:
        last = stamp[0] == found.end
        _put(points, Point(stamp[0] + 1000, number + 1 if last else number, None if last else found.winner))


def _put(points: dict[int, Point], new: Point) -> None:
    """Keep one point per millisecond: a terminal one stands (highest attempt first), else the smallest time."""
    key = new.time // 1000
    old = points.get(key)
    if old is None or (new.result is not None, new.attempt if new.result else 0, -new.time) > (
        old.result is not None,
        old.attempt if old.result else 0,
        -old.time,
    ):
        points[key] = new
