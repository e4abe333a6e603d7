"""The first view: counts, runs by state, events over time, and the size of the file and of its outbox."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.catalog.listing import urn_range
from dh_bridge.console.logged_events import log_bytes
from dh_bridge.console.parameters import platform_of
from dh_bridge.ledger.outbox import Outbox

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog
    from dh_bridge.console.parameters import RequestParameters
    from dh_bridge.console.source import ConsoleSource

_DAY_MILLIS = 86_400_000
_DAYS = 60
"""Days that the activity has: up to the day of the latest event."""
_COUNTED_TYPES = ("dataset", "dataJob", "dataFlow", "assertion", "container", "tag")
_COUNT_TYPE = """
    SELECT count(*) FROM entity WHERE urn > ? AND urn < ? AND (
        EXISTS (SELECT 1 FROM aspect WHERE aspect.entity = entity.id) OR EXISTS (SELECT 1 FROM point WHERE point.entity = entity.id)
    )
"""
_COUNT_RUNS = "SELECT count(*) FROM run_summary"
_LAST_TIME = "SELECT max(time) FROM run_summary"
_RUNS_BY_DAY = """
    SELECT coalesce(job.urn, ''), run_summary.time / 86400000, count(*), max(run_summary.time)
    FROM run_summary LEFT JOIN relationship ON relationship.source = run_summary.run
        AND relationship.aspect = 'dataProcessInstanceRelationships' AND relationship.name = 'InstanceOf'
    LEFT JOIN entity job ON job.id = relationship.target
    WHERE run_summary.time >= ? GROUP BY relationship.target, 2
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


class Overview(msgspec.Struct, frozen=True):
    """The file: its name, whether it is a ledger, the size of it and of its event log in bytes, the number of entities by type, its outbox."""

    file: str
    is_ledger: bool
    notes: list[str]
    file_bytes: int
    log_bytes: int | None
    entities: dict[str, int]
    outbox: OutboxState


class ProducerActivity(msgspec.Struct, frozen=True):
    """The runs of an orchestrator: their number, the time of the last event (milliseconds), and the number of each day."""

    producer: str
    runs: int
    last_event: int
    by_day: list[int]


class Activity(msgspec.Struct, frozen=True):
    """Runs of the last 60 days by state, and by orchestrator and day (seconds since 1970 of its begin, UTC) of their latest event."""

    states: dict[str, int]
    days: list[int]
    producers: list[ProducerActivity]


def answer_overview(source: ConsoleSource, parameters: RequestParameters) -> Overview:
    """Return what is known without reading runs; with ``counts=0`` at once, without the numbers of entities."""
    with source.read_ledger() as ledger:
        outbox = Outbox(ledger.connection)
        waiting, dead = outbox.count()
        outbox_state = OutboxState(waiting, dead, outbox.oldest_time(), outbox.is_paused)
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
    )


def _count_entities(catalog: Catalog) -> dict[str, int]:
    """Return the number of entities by type: by ranges of URNs, as columns are many more, and nobody counts them."""
    counts = {
        name: int(catalog.connection.execute(_COUNT_TYPE, urn_range(name)).fetchone()[0]) for name in _COUNTED_TYPES
    }
    counts["dataProcessInstance"] = int(catalog.connection.execute(_COUNT_RUNS).fetchone()[0])
    return {name: count for name, count in counts.items() if count}


def answer_activity(source: ConsoleSource, _parameters: RequestParameters) -> Activity:
    """Return the activity of the last 60 days; the answer is cached while the file does not change."""
    with source.read_catalog() as catalog:
        return source.cached("activity", lambda: _compute_activity(catalog))


def _compute_activity(catalog: Catalog) -> Activity:
    (last_time,) = catalog.connection.execute(_LAST_TIME).fetchone()
    if last_time is None:
        return Activity({}, [], [])
    last_day = last_time // _DAY_MILLIS
    first_day = last_day - _DAYS + 1
    since = first_day * _DAY_MILLIS
    counts: dict[str, dict[int, int]] = {}
    last_events: dict[str, int] = {}
    for urn, day, count, last_event in catalog.connection.execute(_RUNS_BY_DAY, (since,)):
        producer = platform_of(urn) or "unknown"
        days = counts.setdefault(producer, {})
        days[day] = days.get(day, 0) + count
        last_events[producer] = max(last_events.get(producer, 0), last_event)
    first_day = min(day for days in counts.values() for day in days)
    days_shown = range(first_day, last_day + 1)
    producers = [
        ProducerActivity(producer, sum(days.values()), last_events[producer], [days.get(day, 0) for day in days_shown])
        for producer, days in counts.items()
    ]
    producers.sort(key=lambda activity: (-activity.runs, activity.producer))
    states = dict(catalog.connection.execute(_STATES, (since,)).fetchall())
    return Activity(states, [day * _DAY_MILLIS // 1000 for day in days_shown], producers)
