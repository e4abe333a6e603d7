"""Edges of a job that expire by `edges`: the newest COMPLETE run does not name them.

Expiry follows from merged facts: the time of the newest COMPLETE run that names any dataset on that side, and the time of the
last run that names the edge. An open or failed run counts by its events: what it names after the newest COMPLETE run stays.
Inputs and outputs expire separately; a run without datasets on a side says nothing about that side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.model.facts import (
    EDGE_LAST_USED,
    FINE_LINEAGE,
    IMPLIED_INPUT,
    INPUT,
    INPUT_EDGE,
    INPUT_FIELD,
    LAST_COMPLETE_RUN,
    OUTPUT,
    OUTPUT_EDGE,
)
from dh_bridge.model.fold import FactsByEntity, add_facts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.aggregate.run_history import History
    from dh_bridge.model.fold import Registers
    from dh_bridge.model.merge import Versioned
    from dh_bridge.model.run_state import RunState
    from dh_bridge.settings import Settings

_DAY = 86_400_000_000
_DEFAULT_WINDOW_DAYS = 30
_DIRECTIONS = (("input", INPUT), ("input", IMPLIED_INPUT), ("output", OUTPUT))
_EDGES = (("input", INPUT_EDGE), ("output", OUTPUT_EDGE))
_FIELD_PREFIX = "urn:li:schemaField:("


def add_edge_uses(task: str, state: RunState, history: History, shared: FactsByEntity) -> None:
    """Merge when a run named the edges of a job: a COMPLETE run at its end, other runs at the time of the event."""
    end = max(history.terminals) if history.has_completed and not state.has_failed_operation else None
    for direction, fact_kind in _DIRECTIONS:
        elements = state.facts[task].get(fact_kind)
        if not elements:
            continue
        for dataset, (version, _) in elements.items():
            add_facts(shared, ((task, EDGE_LAST_USED, (direction, dataset), None),), end or version)
        if end is not None:
            add_facts(shared, ((task, LAST_COMPLETE_RUN, direction, None),), end)


def drop_expired_edges(registers: Registers, settings: Settings) -> Registers:
    """Return the facts of a job without its expired edges and their columns."""
    if settings.edges == "accumulate" or LAST_COMPLETE_RUN not in registers:
        return registers
    expired = {direction: frozenset(_expired_edges(direction, registers, settings)) for direction, _ in _EDGES}
    if not any(expired.values()):
        return registers
    remaining = dict(registers)
    for direction, fact_kind in _EDGES:
        _set_or_remove(
            remaining,
            fact_kind,
            {
                urn: versioned
                for urn, versioned in registers.get(fact_kind, {}).items()
                if urn not in expired[direction]
            },
        )
    drop_columns(remaining, expired)
    return remaining


def drop_columns(registers: Registers, removed: dict[str, frozenset[str]]) -> None:
    """Drop, in place, the facts about columns of datasets that are no longer ``input`` or ``output`` of a job."""
    fields = registers.get(INPUT_FIELD, {})
    _set_or_remove(
        registers,
        INPUT_FIELD,
        {urn: versioned for urn, versioned in fields.items() if _dataset_of(urn) not in removed["input"]},
    )
    _set_or_remove(registers, FINE_LINEAGE, dict(_remaining_columns(registers.get(FINE_LINEAGE, {}), removed)))


def _window_days(edges: str) -> int:
    """Return the days of ``window`` or ``window:30d``."""
    return int(edges.partition(":")[2].removesuffix("d") or _DEFAULT_WINDOW_DAYS)


def _expired_edges(direction: str, registers: Registers, settings: Settings) -> Iterator[str]:
    last_complete, uses = registers[LAST_COMPLETE_RUN].get(direction), registers.get(EDGE_LAST_USED, {})
    if last_complete is None:
        return
    end = last_complete[0]
    since = end if settings.edges == "last_run" else (end[0] - _window_days(settings.edges) * _DAY,)
    for dataset, (_, edge) in registers.get(dict(_EDGES)[direction], {}).items():
        use = uses.get((direction, dataset))
        # otherwise the edge is older than edge expiry: only the time of its last use is known
        last_use = use[0] if use is not None else (max(edge[0][0], edge[1][0]),)
        if last_use < since:
            yield dataset


def _remaining_columns(
    elements: dict[Any, Versioned], removed: dict[str, frozenset[str]]
) -> Iterator[tuple[Any, Versioned]]:
    for key, (version, pairs) in elements.items():
        if (key[0] if type(key) is tuple else key) in removed["output"]:
            continue
        remaining = (
            frozenset(pair for pair in pairs if _dataset_of(pair[2]) not in removed["input"])
            if removed["input"]
            else pairs
        )
        if remaining:
            yield key, (version, remaining)


def _dataset_of(field: str) -> str:
    """Return the dataset URN in a schemaField URN, or the URN itself."""
    return field[len(_FIELD_PREFIX) :].partition("),")[0] + ")" if field.startswith(_FIELD_PREFIX) else field


def _set_or_remove(registers: Registers, fact_kind: Any, elements: dict[Any, Versioned]) -> None:
    if elements:
        registers[fact_kind] = elements
    else:
        registers.pop(fact_kind, None)
