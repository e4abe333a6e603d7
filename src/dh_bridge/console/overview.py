"""The first view: counts, events by producer, runs by state, and the size of the file, its event log and its outbox."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.catalog.listing import urn_range
from dh_bridge.console.logged_events import log_bytes
from dh_bridge.console.parameters import platform_of
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.ledger.producer_activity import DAY_MILLIS, read_producer_activity

if TYPE_CHECKING:
    import sqlite3

    from dh_bridge.catalog.store import Catalog
    from dh_bridge.console.parameters import RequestParameters
    from dh_bridge.console.source import ConsoleSource

_DAYS = 60
"""Days that charts have: of runs up to the day of the latest run, of events up to today."""
_MIN_DAYS = 14
"""Days that a chart has at least, so that a line is to be seen."""
_COUNTED_TYPES = ("dataset", "dataJob", "dataFlow", "assertion", "container", "tag")
_COUNT_TYPE = """
    SELECT count(*) FROM entity WHERE urn > ? AND urn < ? AND (
        EXISTS (SELECT 1 FROM aspect WHERE aspect.entity = entity.id) OR EXISTS (SELECT 1 FROM point WHERE point.entity = entity.id)
    )
"""
_COUNT_RUNS = "SELECT count(*) FROM run_summary"
_LAST_TIME = "SELECT max(time) FROM run_summary"
_RUNS_BY_DAY = """
    SELECT coalesce(min(job.urn), ''), run_summary.time / 86400000, count(*), max(run_summary.time)
    FROM run_summary LEFT JOIN relationship ON relationship.source = run_summary.run
        AND relationship.aspect = 'dataProcessInstanceRelationships' AND relationship.name = 'InstanceOf'
    LEFT JOIN entity job ON job.id = relationship.target
    WHERE run_summary.time >= ? GROUP BY CASE -- by the orchestrator in the URN of a job or flow
        WHEN job.urn LIKE 'urn:li:dataJob:(urn:li:dataFlow:(%' THEN substr(job.urn, 34, instr(substr(job.urn, 34), ','))
        ELSE substr(job.urn, 18, instr(substr(job.urn, 18), ',')) END, 2
"""
_STATES = """
    SELECT coalesce(json_extract(CAST(value AS TEXT), '$.result.type'), json_extract(CAST(value AS TEXT), '$.status')), count(*)
    FROM run_summary JOIN point ON point.entity = run AND point.aspect = 'dataProcessInstanceRunEvent'
        AND point.time = run_summary.time AND point.document = run_summary.document
    WHERE run_summary.time >= ? GROUP BY 1 ORDER BY 2 DESC, 1
"""


class OutboxState(msgspec.Struct, frozen=True):
    """The queue of proposals; ``oldest`` is in milliseconds since 1970."""

    waiting: int
    dead: int
    oldest: int | None
    is_paused: bool


class ProducerActivity(msgspec.Struct, frozen=True):
    """A producer: the number of its events or runs, the time of the last one (milliseconds), and the number of each day."""

    producer: str
    count: int
    last: int
    by_day: list[int]


class DailyActivity(msgspec.Struct, frozen=True):
    """Events or runs by producer and day; ``days`` are the begins of the days (UTC) in seconds since 1970."""

    days: list[int]
    producers: list[ProducerActivity]


class Overview(msgspec.Struct, frozen=True):
    """The file: its name, whether it is a ledger, the size of it and of its event log in bytes, the number of entities by type.

    ``events``: the events of the last 60 days by producer; a producer that sent none of them is listed, too.
    """

    file: str
    is_ledger: bool
    notes: list[str]
    file_bytes: int
    log_bytes: int | None
    entities: dict[str, int]
    outbox: OutboxState
    events: DailyActivity


class RunActivity(msgspec.Struct, frozen=True):
    """Runs of the last 60 days: by state, and by orchestrator and day of their latest event."""

    states: dict[str, int]
    runs: DailyActivity


def answer_overview(source: ConsoleSource, parameters: RequestParameters) -> Overview:
    """Return what is known without reading runs; with ``counts=0`` at once, without the numbers of entities."""
    with source.read_ledger() as ledger:
        outbox = Outbox(ledger.connection)
        waiting, dead = outbox.count()
        outbox_state = OutboxState(waiting, dead, outbox.oldest_time(), outbox.is_paused)
        events = _event_activity(ledger.connection, int(time.time() * 1000) // DAY_MILLIS)
    entities: dict[str, int] = {}
    if parameters.text("counts") != "0":
        with source.read_catalog() as catalog:
            entities = source.cached("entities", lambda: _count_entities(catalog))
    return Overview(
        file=Path(source.file).name,
        is_ledger=source.is_ledger,
        notes=source.notes,
        file_bytes=source.file_bytes(),
        log_bytes=log_bytes(source),
        entities=entities,
        outbox=outbox_state,
        events=events,
    )


def _event_activity(connection: sqlite3.Connection, today: int) -> DailyActivity:
    """Return the events by producer, which the ledger counts while it processes them."""
    rows = read_producer_activity(connection, today - _DAYS + 1)
    counts: dict[str, dict[int, int]] = {}
    last_times: dict[str, int] = {}
    for row in rows:
        counts.setdefault(row.producer, {})[row.day] = row.events
        last_times[row.producer] = max(last_times.get(row.producer, 0), row.last)
    return _daily_activity(counts, last_times, range(today - _DAYS + 1, today + 1))


def _daily_activity(counts: dict[str, dict[int, int]], last_times: dict[str, int], days: range) -> DailyActivity:
    """Return the activity of the days from the first one with a count, at least 14; producers with most first."""
    used_days = {day for by_day in counts.values() for day in by_day if day in days}
    shown_days = range(min(*used_days, days.stop - _MIN_DAYS), days.stop) if used_days else range(0)
    producers = [
        ProducerActivity(
            producer,
            sum(by_day.get(day, 0) for day in shown_days),
            last_times[producer],
            [by_day.get(day, 0) for day in shown_days],
        )
        for producer, by_day in counts.items()
    ]
    producers.sort(key=lambda activity: (-activity.count, activity.producer))
    return DailyActivity([day * DAY_MILLIS // 1000 for day in shown_days], producers)


def _count_entities(catalog: Catalog) -> dict[str, int]:
    """Return the number of entities by type: by ranges of URNs, as columns are many more, and nobody counts them."""
    counts = {
        name: int(catalog.connection.execute(_COUNT_TYPE, urn_range(name)).fetchone()[0]) for name in _COUNTED_TYPES
    }
    counts["dataProcessInstance"] = int(catalog.connection.execute(_COUNT_RUNS).fetchone()[0])
    return {name: count for name, count in counts.items() if count}


def answer_activity(source: ConsoleSource, _parameters: RequestParameters) -> RunActivity:
    """Return the runs of the last 60 days; the answer is cached while the file does not change."""
    with source.read_catalog() as catalog:
        return source.cached("activity", lambda: _run_activity(catalog))


def _run_activity(catalog: Catalog) -> RunActivity:
    (last_time,) = catalog.connection.execute(_LAST_TIME).fetchone()
    if last_time is None:
        return RunActivity({}, DailyActivity([], []))
    last_day = last_time // DAY_MILLIS
    first_day = last_day - _DAYS + 1
    since = first_day * DAY_MILLIS
    counts: dict[str, dict[int, int]] = {}
    last_times: dict[str, int] = {}
    for urn, day, count, last_event in catalog.connection.execute(_RUNS_BY_DAY, (since,)):
        producer = platform_of(urn) or "unknown"
        days = counts.setdefault(producer, {})
        days[day] = days.get(day, 0) + count
        last_times[producer] = max(last_times.get(producer, 0), last_event)
    states = dict(catalog.connection.execute(_STATES, (since,)).fetchall())
    return RunActivity(states, _daily_activity(counts, last_times, range(first_day, last_day + 1)))
