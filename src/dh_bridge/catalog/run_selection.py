"""Which runs a list has: all, those of an entity, those that pass a filter; the latest first."""

from __future__ import annotations

from functools import lru_cache, partial
from heapq import merge
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.catalog.entity import display_name
from dh_bridge.catalog.paging import Page, decode_key, take_page
from dh_bridge.catalog.search_index import find_indexed_urns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dh_bridge.catalog.store import Catalog

_MAX_MERGED_JOBS = 1_000
"""Jobs whose runs are read job by job, each with a query. If more jobs match, the jobs of all runs are compared."""
_FIRST_KEY = (1 << 62, 0)
ALL_RUNS = """
    SELECT time, run FROM run_summary WHERE (time, run) < (?, ?) AND time >= ? ORDER BY time DESC, run DESC
"""
ALL_FAILED_RUNS = """
    SELECT time, run FROM run_summary WHERE failed AND (time, run) < (?, ?) AND time >= ? ORDER BY time DESC, run DESC
"""
RUNS_OF_ENTITY = """
    SELECT time, run FROM run_link WHERE entity = ? AND (time, run) < (?, ?) AND time >= ? ORDER BY time DESC, run DESC
"""
FAILED_RUNS_OF_ENTITY = """
    SELECT time, run FROM run_link
    WHERE entity = ? AND failed AND (time, run) < (?, ?) AND time >= ? ORDER BY time DESC, run DESC
"""
_RUN_ITSELF = "SELECT time, run, failed FROM run_summary WHERE run = ?"
_JOB_OF_RUN = """
    SELECT entity.urn FROM relationship JOIN entity ON entity.id = target
    WHERE source = ? AND aspect = 'dataProcessInstanceRelationships' AND name = 'InstanceOf'
"""
_PROPERTIES = "SELECT value FROM aspect WHERE entity = ? AND name = 'dataProcessInstanceProperties'"

RunKey = tuple[int, int]


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs are listed; None and False filter nothing.

    Attributes:
        failed: only runs whose latest result is FAILURE.
        since: time in milliseconds since 1970; the latest event of the run has this time or a later one.
        job: a part of the URN or of the name of a job or flow.
        producer: a part of the producer's URI, or a whole orchestrator such as ``airflow``.
        producer_key: the custom property of runs that has the producer's URI.
    """

    failed: bool = False
    since: int | None = None
    job: str | None = None
    producer: str | None = None
    producer_key: str = "openlineage.producer"


def select_runs(
    catalog: Catalog,
    run_filter: RunFilter,
    *,
    urn: str | None = None,
    limit: int | None = None,
    page: str | None = None,
) -> Page[int]:
    """Return the row numbers of the runs that pass a filter, the latest first.

    Args:
        catalog: The catalogue.
        run_filter: The filter.
        urn: A job, flow or dataset whose runs are listed, or a run, which is listed with its children; None for all.
        limit: The number of runs to return; None for all.
        page: The token of the page; None for the first one.

    Raises:
        SettingsError: The token is not one of this list.
    """
    start = _FIRST_KEY if page is None else decode_key(page, (int, int))
    bounds = (int(start[0]), int(start[1]), 0 if run_filter.since is None else run_filter.since)
    accept: list[Callable[[int], bool]] = []
    jobs: list[str] | None = None
    if run_filter.job is not None:
        is_match = _job_matcher(catalog, run_filter.job)
        jobs = _jobs_by_text(catalog, run_filter.job, is_match) if urn is None else None
        if jobs is None:
            accept.append(partial(_has_job, catalog, is_match))
    if run_filter.producer is not None:
        accept.append(partial(_has_producer, catalog, run_filter))
    if urn is not None:
        rows = _runs_of_entities(catalog, [urn], bounds, run_filter)
    elif jobs is not None:
        rows = _runs_of_entities(catalog, jobs, bounds, run_filter)
    else:
        query = ALL_FAILED_RUNS if run_filter.failed else ALL_RUNS
        rows = catalog.connection.execute(query, bounds)
    return take_page(
        ((tuple(row), row[1]) for row in rows),
        limit=limit,
        accept=(lambda run: all(is_accepted(run) for is_accepted in accept)) if accept else None,
    )


def _runs_of_entities(
    catalog: Catalog, urns: Sequence[str], bounds: tuple[int, ...], run_filter: RunFilter
) -> Iterator[RunKey]:
    """Yield the runs of some entities, and the entities that are runs, the latest first, each once."""
    query = FAILED_RUNS_OF_ENTITY if run_filter.failed else RUNS_OF_ENTITY
    lists: list[Iterator[RunKey] | list[RunKey]] = []
    for urn in urns:
        row = catalog.connection.execute("SELECT id FROM entity WHERE urn = ?", (urn,)).fetchone()
        if row is not None:
            lists.append(catalog.connection.execute(query, (*row, *bounds)))
            own = catalog.connection.execute(_RUN_ITSELF, row).fetchone()
            if own is not None and own[:2] < bounds[:2] and own[0] >= bounds[2] and own[2] >= run_filter.failed:
                lists.append([own[:2]])
    previous = None
    for key in merge(*lists, reverse=True):
        if key != previous:
            yield key
        previous = key


def _has_job(catalog: Catalog, is_match: Callable[[str], bool], run: int) -> bool:
    row = catalog.connection.execute(_JOB_OF_RUN, (run,)).fetchone()
    return row is not None and is_match(row[0])


def _has_producer(catalog: Catalog, run_filter: RunFilter, run: int) -> bool:
    producer = (run_filter.producer or "").lower()
    row = catalog.connection.execute(_JOB_OF_RUN, (run,)).fetchone()
    if row is not None and f"dataflow:({producer}," in row[0].lower():
        return True
    properties = catalog.connection.execute(_PROPERTIES, (run,)).fetchone()
    if properties is None:
        return False
    custom = msgspec.json.decode(properties[0]).get("customProperties") or {}
    return producer in str(custom.get(run_filter.producer_key) or "").lower()


def _job_matcher(catalog: Catalog, text: str) -> Callable[[str], bool]:
    """Return a function that returns whether a job's URN or displayed name contains the text: ``nightly.clean`` is in no URN."""
    lower_text = text.lower()

    @lru_cache(maxsize=10_000)
    def is_match(urn: str) -> bool:
        return lower_text in urn.lower() or lower_text in display_name(catalog, urn).lower()

    return is_match


def _jobs_by_text(catalog: Catalog, text: str, is_match: Callable[[str], bool]) -> list[str] | None:
    """Return the jobs and flows that match; None if there are too many to read their runs one by one."""
    jobs: list[str] = []
    for part in dict.fromkeys((text, text.rpartition(".")[2] or text)):
        limit = _MAX_MERGED_JOBS + 1
        urns = find_indexed_urns(catalog.connection, part, ["dataJob", "dataFlow"], only_urns=False, limit=limit)
        if len(urns) == limit:
            return None
        jobs += filter(is_match, urns)
    return list(dict.fromkeys(jobs))
