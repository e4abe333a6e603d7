# ruff: noqa: S608 - the statements are made of constants
"""Searches in a catalogue: entities by type and text, runs by status and time. Values of callers are bound, never formatted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from dh_bridge.catalog.entity import display_name

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from dh_bridge.catalog.store import Catalog

ENTITY_TYPES = {
    "datasets": "dataset",
    "jobs": "dataJob",
    "flows": "dataFlow",
    "runs": "dataProcessInstance",
    "checks": "assertion",
}
"""What people list -> DataHub's entity type."""

FAILED_STATUS = "FAILURE"

_HAS_CONTENT = """(EXISTS (SELECT 1 FROM aspect WHERE aspect.entity = entity.id)
    OR EXISTS (SELECT 1 FROM point WHERE point.entity = entity.id))"""
_HAS_TYPE = "(json_array_length(:types) = 0 OR entity.type IN (SELECT value FROM json_each(:types)))"
_ORDER = "ORDER BY type = 'dataProcessInstance', length(urn), urn LIMIT :limit"

_BY_URN = f"""
    SELECT urn, count(*) OVER () FROM entity
    WHERE instr(lower(urn), lower(:text)) AND {_HAS_TYPE} AND {_HAS_CONTENT} {_ORDER}
"""
_BY_TYPE = f"""
    SELECT urn, count(*) OVER () FROM entity WHERE {_HAS_TYPE} AND {_HAS_CONTENT} ORDER BY urn LIMIT :limit
"""
_TEXT = "CAST(aspect.value AS TEXT)"
_NAMED_ASPECTS = """'datasetProperties', 'dataJobInfo', 'dataFlowInfo', 'dataProcessInstanceProperties', 'containerProperties',
    'assertionInfo'"""
_BY_CONTENT = f"""
    SELECT urn, count(*) OVER () FROM (
        SELECT urn, type FROM entity WHERE instr(lower(urn), lower(:text)) AND {_HAS_TYPE} AND {_HAS_CONTENT}
        UNION
        SELECT urn, type FROM aspect JOIN entity ON entity.id = aspect.entity
        WHERE aspect.name IN ({_NAMED_ASPECTS}) AND {_HAS_TYPE} AND instr(lower({_TEXT}), lower(:text))
            AND (instr(lower(coalesce(json_extract({_TEXT}, '$.name'), '')), lower(:text))
                OR instr(lower(coalesce(json_extract({_TEXT}, '$.description'), '')), lower(:text)))
        UNION
        SELECT urn, type FROM aspect JOIN entity ON entity.id = aspect.entity
        WHERE aspect.name = 'schemaMetadata' AND {_HAS_TYPE} AND instr(lower({_TEXT}), lower(:text))
            AND EXISTS (
                SELECT 1 FROM json_each({_TEXT}, '$.fields') column_row
                WHERE instr(lower(json_extract(column_row.value, '$.fieldPath')), lower(:text))
            )
    ) {_ORDER}
"""
_RUNS = """
    SELECT runs.urn, count(*) OVER () FROM runs
    WHERE (:status IS NULL OR status = :status) AND (:since IS NULL OR coalesce(ended, started) >= :since)
        AND (json_array_length(:urns) IS NULL OR runs.urn IN (SELECT value FROM json_each(:urns)))
        AND (:job IS NULL OR instr(lower(job), lower(:job)) OR job IN (SELECT value FROM json_each(:jobs)))
        AND (:producer IS NULL OR instr(lower(job), lower(:orchestrator)) OR EXISTS (
            SELECT 1 FROM aspects WHERE aspects.urn = runs.urn AND aspect = 'dataProcessInstanceProperties'
                AND instr(lower(json_extract(value, :producer_path)), lower(:producer))
        ))
    ORDER BY started DESC, runs.urn LIMIT :limit
"""


class UrnPage(NamedTuple):
    """The first URNs of a search, and how many URNs there are in all."""

    urns: list[str]
    total: int


class RunFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs are listed; None and empty values filter nothing.

    Attributes:
        status: a status of the view ``runs``, such as FAILURE.
        since: ISO 8601 time in UTC; the run ended then or later, or, if it has not ended, started then or later.
        job: a part of the URN or of the name of a job or flow.
        producer: a part of the producer's URI, or a whole orchestrator such as ``airflow``.
        producer_key: the custom property of runs that has the producer's URI.
    """

    status: str | None = None
    since: str | None = None
    job: str | None = None
    producer: str | None = None
    producer_key: str = "openlineage.producer"


def find_urns(connection: sqlite3.Connection, text: str, types: Sequence[str] = (), *, limit: int = -1) -> UrnPage:
    """Return the entities whose URN contains ``text``, whatever its case, the shortest first; all of ``types`` if it is empty."""
    return _page(connection, _BY_URN if text else _BY_TYPE, {"text": text, "types": _json(types), "limit": limit})


def search_urns(connection: sqlite3.Connection, text: str, types: Sequence[str] = (), *, limit: int = -1) -> UrnPage:
    """Return the entities that have ``text`` in their URN, name or description, or in the name of a column."""
    return _page(connection, _BY_CONTENT, {"text": text, "types": _json(types), "limit": limit})


def select_runs(
    catalog: Catalog, run_filter: RunFilter, *, urns: Sequence[str] | None = None, limit: int = -1
) -> UrnPage:
    """Return the runs that pass a filter, the youngest first.

    Args:
        catalog: The catalogue.
        run_filter: The filter.
        urns: Only these runs; None for all.
        limit: The number of runs to return; -1 for all.
    """
    producer = run_filter.producer
    values: dict[str, object] = {
        "status": run_filter.status,
        "since": run_filter.since,
        "urns": None if urns is None else _json(urns),
        "job": run_filter.job,
        "jobs": _json(_jobs_by_name(catalog, run_filter.job) if run_filter.job else []),
        "producer": producer,
        "orchestrator": f"dataFlow:({producer},",
        "producer_path": f'$.customProperties."{run_filter.producer_key}"',
        "limit": limit,
    }
    return _page(catalog.connection, _RUNS, values)


def _jobs_by_name(catalog: Catalog, text: str) -> list[str]:
    """Return the jobs and flows whose displayed name contains the text: ``nightly.clean`` is in no URN."""
    jobs = find_urns(catalog.connection, "", ["dataJob", "dataFlow"]).urns
    return [urn for urn in jobs if text.lower() in display_name(catalog, urn).lower()]


def _page(connection: sqlite3.Connection, query: str, values: dict[str, object]) -> UrnPage:
    rows = connection.execute(query, values).fetchall()
    return UrnPage([urn for urn, _ in rows], rows[0][1] if rows else 0)


def _json(values: Sequence[str]) -> str:
    return msgspec.json.encode(list(values)).decode()
