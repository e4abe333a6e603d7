"""Edges of a job that leave, where `edges` says so: what its newest COMPLETE run names no more.

Whether an edge is there follows from folded facts alone: when the newest COMPLETE run was that names anything on its side, and
when a run last named it. A run that is open or did not complete counts by its events: what it names after the newest COMPLETE run
stays. Inputs and outputs leave separately, and a run that lists none on a side is no statement about it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facts import (
    FINE_LINEAGE,
    INPUT,
    INPUT_EDGE,
    INPUT_FIELD,
    NAMED_INPUT,
    NEWEST,
    OUTPUT,
    OUTPUT_EDGE,
    SEEN,
)
from dh_bridge.translation.fold import Cells, fold

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.settings import Settings
    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.merge import Cell
    from dh_bridge.translation.runs.history import History
    from dh_bridge.translation.runstate import RunState

_DAY = 86_400_000_000
_SIDES = (("input", INPUT), ("input", NAMED_INPUT), ("output", OUTPUT))
_EDGES = (("input", INPUT_EDGE), ("output", OUTPUT_EDGE))
_FIELD = "urn:li:schemaField:("


def tell_seen(task: str, state: RunState, history: History, shared: Cells) -> None:
    """Fold when a run named the edges of one of its jobs: a COMPLETE run at its end, another one when it named them."""
    end = max(history.terminals) if history.completed and not state.failed else None
    for side, slot in _SIDES:
        elements = state.cells[task].get(slot)
        if not elements:
            continue
        for dataset, (stamp, _) in elements.items():
            fold(shared, ((task, SEEN, (side, dataset), None),), end or stamp)
        if end is not None:
            fold(shared, ((task, NEWEST, side, None),), end)


def present(slots: Slots, settings: Settings) -> Slots:
    """Return the cells of a job without the edges that have left, and without the columns that went with them."""
    if settings.edges == "accumulate" or NEWEST not in slots:
        return slots
    gone = {side: frozenset(_gone(side, slots, settings)) for side, _ in _EDGES}
    if not any(gone.values()):
        return slots
    found = dict(slots)
    for side, slot in _EDGES:
        _put(found, slot, {urn: cell for urn, cell in slots.get(slot, {}).items() if urn not in gone[side]})
    forget_columns(found, gone)
    return found


def forget_columns(slots: Slots, gone: dict[str, frozenset[str]]) -> None:
    """Drop, in place, what is said of the columns of datasets that are no ``input`` or ``output`` of a job any more."""
    fields = slots.get(INPUT_FIELD, {})
    _put(slots, INPUT_FIELD, {urn: cell for urn, cell in fields.items() if _dataset(urn) not in gone["input"]})
    _put(slots, FINE_LINEAGE, dict(_columns(slots.get(FINE_LINEAGE, {}), gone)))


def _gone(side: str, slots: Slots, settings: Settings) -> Iterator[str]:
    newest, seen = slots[NEWEST].get(side), slots.get(SEEN, {})
    if newest is None:
        return
    end = newest[0]
    since = end if settings.edges == "last_run" else (end[0] - settings.edges_window_days * _DAY,)
    for dataset, (_, edge) in slots.get(dict(_EDGES)[side], {}).items():
        cell = seen.get((side, dataset))
        # without it the edge is of a time when edges did not leave: all that is known is when it was named last
        last = cell[0] if cell is not None else (max(edge[0][0], edge[1][0]),)
        if last < since:
            yield dataset


def _columns(cells: dict[Any, Cell], gone: dict[str, frozenset[str]]) -> Iterator[tuple[Any, Cell]]:
    for key, (stamp, pairs) in cells.items():
        if (key[0] if type(key) is tuple else key) in gone["output"]:
            continue
        left = frozenset(pair for pair in pairs if _dataset(pair[2]) not in gone["input"]) if gone["input"] else pairs
        if left:
            yield key, (stamp, left)


def _dataset(field: str) -> str:
    """Return the URN of the dataset that a schemaField is of, or the URN itself."""
    return field[len(_FIELD) :].partition("),")[0] + ")" if field.startswith(_FIELD) else field


def _put(slots: Slots, slot: Any, elements: dict[Any, Cell]) -> None:
    if elements:
        slots[slot] = elements
    else:
        slots.pop(slot, None)
