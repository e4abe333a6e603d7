"""Temporary datasets that lineage runs through (settings ``filters.through``): what was made of them was made of their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.laws import Cell, span
from dh_bridge.translation.slots import (
    DATASET,
    FINE_LINEAGE,
    INPUT,
    INPUT_FIELD,
    OUTPUT,
    UPSTREAM,
    UPSTREAM_FIELD,
    UPSTREAM_MARK,
)

if TYPE_CHECKING:
    from dh_bridge.translation.render.ladders import Slots
    from dh_bridge.translation.runstate import RunState


def run_through(states: list[RunState]) -> None:
    """Replace temporary inputs, in every run of the call, by what their writers read; drop temporary outputs."""
    temporary = set().union(*[state.through for state in states])
    if not temporary:
        return
    sources = _sources(states, temporary)
    for state in states:
        for urn in temporary & state.cells.keys():
            state.cells[urn].pop(DATASET, None)  # a facet may have named it
    for state in states:
        for slots in state.cells.values():
            inputs = slots.get(INPUT)
            if inputs is not None:
                for urn in sorted(temporary & inputs.keys()):
                    stamp, first = inputs.pop(urn)
                    for source in sorted(sources[urn]):
                        cell: Cell = (stamp, first)
                        inputs[source] = span(inputs[source], cell) if source in inputs else cell
                if not inputs:
                    del slots[INPUT]
            outputs = slots.get(OUTPUT)
            if outputs is not None:
                for urn in temporary & outputs.keys():
                    del outputs[urn]
                if not outputs:
                    del slots[OUTPUT]
            _forget_fields(slots, temporary)
            _upstreams(slots, temporary, sources)


def _forget_fields(slots: Slots, temporary: set[str]) -> None:
    """Drop what is said of the columns of temporary datasets."""
    fields = slots.get(INPUT_FIELD)
    if fields is not None:
        slots[INPUT_FIELD] = {field: cell for field, cell in fields.items() if _dataset_of(field) not in temporary}
        if not slots[INPUT_FIELD]:
            del slots[INPUT_FIELD]
    fine = slots.get(FINE_LINEAGE)
    if fine is not None:
        for dataset, (stamp, pairs) in list(fine.items()):
            left = frozenset(p for p in pairs if not {_dataset_of(p[1]), _dataset_of(p[2])} & temporary)
            if left:
                fine[dataset] = (stamp, left)
            else:
                del fine[dataset]
        if not fine:
            del slots[FINE_LINEAGE]


def _upstreams(slots: Slots, temporary: set[str], sources: dict[str, set[str]]) -> None:
    """Replace temporary upstreams of a dataset by what they were made of; drop what is said of their columns."""
    upstreams = slots.get(UPSTREAM)
    if upstreams is None:
        return
    for facet, urn in sorted(upstreams.keys()):
        if urn in temporary:
            cell = upstreams.pop((facet, urn))
            for source in sources[urn]:
                upstreams[facet, source] = max(upstreams.get((facet, source), cell), cell)
    slots[UPSTREAM_MARK] = {key: cell for key, cell in slots.get(UPSTREAM_MARK, {}).items() if key[0] not in temporary}
    left: dict[Any, Cell] = {}
    for (facet, pairs), cell in slots.get(UPSTREAM_FIELD, {}).items():
        key = (facet, frozenset(pair for pair in pairs if _dataset_of(pair[2]) not in temporary))
        left[key] = max(left.get(key, cell), cell)
    slots[UPSTREAM_FIELD] = left


def _sources(states: list[RunState], temporary: set[str]) -> dict[str, set[str]]:
    """Return, for each temporary dataset, the lasting ones that it was made of, through other temporary ones too."""
    made_of: dict[str, set[str]] = {urn: set() for urn in temporary}
    for state in states:
        for slots in state.cells.values():
            for urn in temporary & slots.get(OUTPUT, {}).keys():
                made_of[urn].update(slots.get(INPUT, {}))
    found: dict[str, set[str]] = {}
    for urn in temporary:
        seen, open_ends = {urn}, [urn]
        while open_ends:
            for source in made_of.get(open_ends.pop(), ()):
                if source not in seen:
                    seen.add(source)
                    open_ends.append(source)
        found[urn] = seen - temporary
    return found


def _dataset_of(field: str) -> str:
    if field.startswith("urn:li:dataset:"):
        return field
    return field.removeprefix("urn:li:schemaField:(").rpartition(",")[0]
