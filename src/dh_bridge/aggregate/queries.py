"""Queries: the SQL of a run as a separate entity, with ``optional_metadata: [queries]``.

A query is identified by its text and dialect, not by its run; lineage between columns, upstreams and operations of the run name it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.urns import datahub_guid, query_urn
from dh_bridge.model.facts import (
    FINE_LINEAGE,
    INPUT,
    JOB_PROPERTIES,
    OUTPUT,
    QUERY,
    QUERY_SUBJECT,
    SQL,
    UPSTREAM,
    UPSTREAM_FIELD,
)
from dh_bridge.model.fold import add_facts, value
from dh_bridge.model.properties import truncate

if TYPE_CHECKING:
    from dh_bridge.aggregate.run_history import History
    from dh_bridge.model.fold import Registers
    from dh_bridge.model.merge import Version, Versioned
    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options

_DATASET_URN_PREFIX = "urn:li:dataset:"


def sql_text(versioned: Versioned) -> tuple[Version, str]:
    """Return the longest text that starts with the text of the last version, and that version."""
    pairs = versioned[1]
    version, last_text = max(pairs)
    longest = max((text for _, text in pairs if text.startswith(last_text)), key=lambda text: (len(text), text))
    return version, longest


def sql_digest(text: str) -> str:
    """Return the hash that identifies a statement."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sql_properties(text: str) -> dict[str, str]:
    """Return the properties of a statement: its text, truncated, and its hash."""
    return {"sql.query": truncate(text), "sql.sha256": sql_digest(text)}


def urn_of_query(text: str, dialect: str | None) -> str:
    """Return the URN of a query: the same for texts that differ in white space, or in a semicolon at the end."""
    normalized = " ".join(text.split()).rstrip("; ")
    return query_urn(datahub_guid({"dialect": dialect, "sql": sql_digest(normalized)}))


def add_queries(state: RunState, history: History, actor: str, options: Options) -> None:
    """Add the queries of the run's jobs to its facts, and to lineage that one query made.

    Subjects replace each other on the server, so only a call with the START of the run (as for its properties) or a job event
    writes them; the text is the same in every call.
    """
    is_complete = history.has_start or state.is_single_event or not state.urn
    query_urns: dict[str, str] = {}
    for task, (job, _) in state.jobs.items():
        registers = state.facts.get(job.owner_urn, {})
        if SQL not in registers or job.placeholder or job.skip:
            continue
        version, text = sql_text(registers[SQL][""])
        properties = value(registers, JOB_PROPERTIES, "sql")
        dialect = properties.get("sql.dialect") if isinstance(properties, dict) else None
        query_urns[task] = urn = urn_of_query(text, dialect.lower() if dialect else None)
        times = (history.start, actor), (history.last_version[0], actor)
        add_facts(state.facts, ((urn, QUERY, "", (*times, (text, dialect))),), version)
        if is_complete:
            _add_subjects(urn, state, state.facts.get(task, {}))
    state.queries = query_urns
    if query_urns:
        _add_queries_to_lineage(state, options)


def _add_subjects(urn: str, state: RunState, registers: Registers) -> None:
    for fact_kind in (INPUT, OUTPUT):
        for dataset, (version, _) in registers.get(fact_kind, {}).items():
            if dataset not in state.collapsed_urns:
                add_facts(state.facts, ((urn, QUERY_SUBJECT, dataset, None),), version)


def queries_of(state: RunState, dataset: str) -> list[str]:
    """Return the URNs of the queries of the run whose jobs wrote the dataset, sorted."""
    facts = state.facts
    return sorted({query for task, query in state.queries.items() if dataset in facts.get(task, {}).get(OUTPUT, ())})


def single_query_of(state: RunState, dataset: str) -> str | None:
    """Return the URN of the query that wrote the dataset; None if none is known or several did."""
    query_urns = queries_of(state, dataset) if state.queries else []
    return query_urns[0] if len(query_urns) == 1 else None


def _add_queries_to_lineage(state: RunState, options: Options) -> None:
    """Add the query to the keys of the lineage between columns, and to the upstreams of the run."""
    for task, query in state.queries.items():
        registers = state.facts.get(task, {})
        if FINE_LINEAGE in registers:
            registers[FINE_LINEAGE] = {
                (dataset, query): versioned for dataset, versioned in registers[FINE_LINEAGE].items()
            }
    if options.settings.column_lineage.target == "job":
        return
    for dataset, registers in state.facts.items():
        query_urn = single_query_of(state, dataset) if dataset.startswith(_DATASET_URN_PREFIX) else None
        if query_urn is not None:
            _add_query_to_upstreams(registers, query_urn)


def _add_query_to_upstreams(registers: Registers, query: str) -> None:
    if UPSTREAM in registers:
        registers[UPSTREAM] = {key: (version, query) for key, (version, _) in registers[UPSTREAM].items()}
    if UPSTREAM_FIELD in registers:
        upstream_fields: dict[Any, Versioned] = {
            (*key, query): versioned for key, versioned in registers[UPSTREAM_FIELD].items()
        }
        registers[UPSTREAM_FIELD] = upstream_fields
