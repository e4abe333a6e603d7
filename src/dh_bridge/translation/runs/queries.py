"""Queries: the SQL of a run as an entity of its own, where ``queries: on`` asks for it.

A query is its text and dialect, whoever runs it; lineage between columns, upstreams and operations of the run name it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.guid import datahub_guid
from dh_bridge.datahub.urns import query_urn
from dh_bridge.translation.facts import (
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
from dh_bridge.translation.fold import fold, value
from dh_bridge.translation.properties import capped

if TYPE_CHECKING:
    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.merge import Cell, Stamp
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runs.history import History
    from dh_bridge.translation.runstate import RunState

_DATASET = "urn:li:dataset:"


def sql_text(cell: Cell) -> tuple[Stamp, str]:
    """Return the longest text that starts with the text of the last stamp, and that stamp."""
    pairs = cell[1]
    stamp, last = max(pairs)
    longest = max((text for _, text in pairs if text.startswith(last)), key=lambda text: (len(text), text))
    return stamp, longest


def sql_digest(text: str) -> str:
    """Return the hash by which a statement is known."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def sql_properties(text: str) -> dict[str, str]:
    """Return the properties of a statement: its text, capped, and its hash."""
    return {"sql.query": capped(text), "sql.sha256": sql_digest(text)}


def query_of(text: str, dialect: str | None) -> str:
    """Return the URN of a query: the same for texts that differ in white space, or in a semicolon at the end."""
    plain = " ".join(text.split()).rstrip("; ")
    return query_urn(datahub_guid({"dialect": dialect, "sql": sql_digest(plain)}))


def tell_queries(state: RunState, history: History, actor: str, options: Options) -> None:
    """State the queries of the run's jobs in its own cells, and let what was made by one query name it.

    Subjects replace each other on the wire, so they are told by a call that holds the START (as a run's
    properties are), or by a job event; the text is the same whoever tells it.
    """
    whole = history.started or state.single or not state.urn
    found: dict[str, str] = {}
    for task, (job, _) in state.jobs.items():
        slots = state.cells.get(job.owner_urn, {})
        if SQL not in slots or job.placeholder or job.skip:
            continue
        stamp, text = sql_text(slots[SQL][""])
        said = value(slots, JOB_PROPERTIES, "sql")
        dialect = said.get("sql.dialect") if isinstance(said, dict) else None
        found[task] = urn = query_of(text, dialect.lower() if dialect else None)
        times = (history.start, actor), (history.last[0], actor)
        fold(state.cells, ((urn, QUERY, "", (*times, (text, dialect))),), stamp)
        if whole:
            _subjects(urn, state, state.cells.get(task, {}))
    state.queries = found
    if found:
        _name_queries(state, options)


def _subjects(urn: str, state: RunState, slots: Slots) -> None:
    for slot in (INPUT, OUTPUT):
        for dataset, (stamp, _) in slots.get(slot, {}).items():
            if dataset not in state.through:
                fold(state.cells, ((urn, QUERY_SUBJECT, dataset, None),), stamp)


def queries_of(state: RunState, dataset: str) -> list[str]:
    """Return the URNs of the queries of the run whose jobs wrote the dataset, sorted."""
    cells = state.cells
    return sorted({query for task, query in state.queries.items() if dataset in cells.get(task, {}).get(OUTPUT, ())})


def query_behind(state: RunState, dataset: str) -> str | None:
    """Return the URN of the query that wrote the dataset, None when none is known or several did."""
    found = queries_of(state, dataset) if state.queries else []
    return found[0] if len(found) == 1 else None


def _name_queries(state: RunState, options: Options) -> None:
    """Put the query into the keys of the lineage between columns, and into what the run says of upstreams."""
    for task, query in state.queries.items():
        slots = state.cells.get(task, {})
        if FINE_LINEAGE in slots:
            slots[FINE_LINEAGE] = {(dataset, query): cell for dataset, cell in slots[FINE_LINEAGE].items()}
    if options.settings.column_lineage.target == "job" and options.settings.column_lineage.pair_lineage == "job":
        return
    for dataset, slots in state.cells.items():
        behind = query_behind(state, dataset) if dataset.startswith(_DATASET) else None
        if behind is not None:
            _name_of_dataset(slots, behind)


def _name_of_dataset(slots: Slots, query: str) -> None:
    if UPSTREAM in slots:
        slots[UPSTREAM] = {key: (stamp, query) for key, (stamp, _) in slots[UPSTREAM].items()}
    if UPSTREAM_FIELD in slots:
        named: dict[Any, Cell] = {(*key, query): cell for key, cell in slots[UPSTREAM_FIELD].items()}
        slots[UPSTREAM_FIELD] = named
