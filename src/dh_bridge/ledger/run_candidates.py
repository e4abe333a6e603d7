"""The runs of a ledger that an answer may contain, the latest first; their status and names are known only after rendering."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.other_runs import RUN_URN_PREFIX

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator

    from dh_bridge.catalog.paging import PageKey
    from dh_bridge.catalog.run_selection import RunFilter

MAX_RUNS_OF_ENTITY = 10_000
"""Runs of one entity that are sorted by time: those that the ledger received last."""
FIRST_KEY = (1 << 62, 0)

RUN_TIME = "coalesce(ended / 1000, touched)"
"""The time of a run in milliseconds: its end, or when it was named last."""
IS_RUN = f"state IS NOT NULL AND key GLOB '{RUN_URN_PREFIX}*'"
LATEST_RUNS = f"""
    SELECT {RUN_TIME}, id, key FROM run
    WHERE {IS_RUN} AND ({RUN_TIME}, id) < (?, ?) AND {RUN_TIME} >= ? ORDER BY {RUN_TIME} DESC, id DESC
"""  # noqa: S608 - constants
LATEST_FAILED_RUNS = LATEST_RUNS.replace(IS_RUN, f"{IS_RUN} AND may_have_failed IS NOT 0")
_RUN_TIME_OF = f"SELECT {RUN_TIME}, key FROM run WHERE id = ? AND {IS_RUN}"  # noqa: S608 - constants
_RUNS_OF_ENTITY = """
    SELECT run FROM contribution WHERE entity = (SELECT id FROM shared WHERE urn = ?) ORDER BY run DESC LIMIT ?
"""
_CHILDREN = "SELECT run FROM run_ancestry WHERE parent = ? ORDER BY run DESC LIMIT ?"
_RUN_ITSELF = "SELECT id FROM run WHERE key = ?"


def candidate_runs(
    connection: sqlite3.Connection, urns: Iterable[str] | None, run_filter: RunFilter, after: PageKey
) -> Iterator[tuple[PageKey, str]]:
    """Yield (time in milliseconds, row number) and URN of the runs that a list may contain, the latest first.

    Args:
        connection: The ledger.
        urns: Entities to which the runs contribute, or runs, which come with their children; None for all runs.
        run_filter: The filter; its names of jobs and producers are not used here.
        after: The key after which the runs follow.
    """
    since = run_filter.since or 0
    if urns is None:
        query = LATEST_FAILED_RUNS if run_filter.failed else LATEST_RUNS
        for time, run_id, key in connection.execute(query, (*after, since)):
            yield (time, run_id), key
        return
    rows = []
    for run_id in {run_id for urn in urns for run_id in _runs_of(connection, urn)}:
        row = connection.execute(_RUN_TIME_OF, (run_id,)).fetchone()
        if row is not None and row[0] >= since:
            rows.append(((row[0], run_id), row[1]))
    yield from (row for row in sorted(rows, reverse=True) if row[0] < after)


def _runs_of(connection: sqlite3.Connection, urn: str) -> Iterator[int]:
    queries: list[tuple[str, tuple[str | int, ...]]] = [(_RUNS_OF_ENTITY, (urn, MAX_RUNS_OF_ENTITY))]
    if urn.startswith(RUN_URN_PREFIX):
        queries += [(_CHILDREN, (urn, MAX_RUNS_OF_ENTITY)), (_RUN_ITSELF, (urn,))]
    for query, values in queries:
        yield from (run_id for (run_id,) in connection.execute(query, values))
