"""Temporary datasets: lineage runs through them, or no edge names them (settings ``filters.through`` and ``temporary``).

What was made of a dataset that lineage runs through was made of its inputs. Which ones are temporary, one run may say of a
dataset that others name: the runs of a call are settled together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facts import (
    DATASET,
    FINE_LINEAGE,
    INPUT,
    INPUT_FIELD,
    NAMED_INPUT,
    OUTPUT,
    TEMPORARY,
    UPSTREAM,
    UPSTREAM_FIELD,
    UPSTREAM_MARK,
)
from dh_bridge.translation.merge import Cell, span

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState


def passes(options: Options) -> bool:
    """Return whether some datasets may be temporary by the settings: what one run says of them then changes others."""
    settings = options.settings
    return bool(settings.filters.through) or settings.temporary != "keep"


def named_datasets(state: RunState) -> set[str]:
    """Return the datasets that a run names as ends of lineage."""
    found: set[str] = set()
    for slots in state.cells.values():
        found.update(slots.get(INPUT, ()), slots.get(OUTPUT, ()), slots.get(NAMED_INPUT, ()))
        found.update(urn for _, urn in slots.get(UPSTREAM, ()))
    return found


def run_through(states: list[RunState]) -> None:
    """Let lineage of all runs of the call run through temporary datasets, and take edges from those that get none."""
    through = set().union(*[state.through for state in states])
    if through:
        sources = _sources(states, through)
        for state in states:
            for urn in through & state.cells.keys():
                state.cells[urn].pop(DATASET, None)  # a facet may have named it
            _replace(state, through, sources)
    marked = [
        (urn, said[TEMPORARY][""][1]) for state in states for urn, said in state.cells.items() if TEMPORARY in said
    ]
    if marked:
        _mark(states, frozenset([urn for urn, _ in marked]), collapse=marked[0][1] == "collapse")


def _mark(states: list[RunState], temporary: frozenset[str], *, collapse: bool) -> None:
    """Take the edges of what some run calls temporary; what an event names without calling it so is written all the same.

    A dataset or an operation that was written once cannot be taken back when a later event tells, edges can.
    """
    sources = _sources(states, temporary) if collapse else {}
    for state in states:
        hidden = {urn for urn in temporary if DATASET not in state.cells.get(urn, ())} if collapse else set()
        state.unlinked = temporary
        _replace(state, hidden, sources)
        state.through |= hidden
        for urn, slots in state.cells.items():
            inputs = slots.get(INPUT)
            if inputs is not None and collapse:
                _made_of(inputs, temporary - hidden, sources)
            _forget_fields(slots, temporary)
            _upstreams(slots, temporary, sources)
            if urn in temporary:
                for slot in (UPSTREAM, UPSTREAM_FIELD, UPSTREAM_MARK):
                    slots.pop(slot, None)


def _replace(state: RunState, temporary: AbstractSet[str], sources: Mapping[str, AbstractSet[str]]) -> None:
    """Replace temporary inputs of a run by what their writers read; drop temporary outputs."""
    for slots in state.cells.values():
        for slot in (INPUT, NAMED_INPUT):
            inputs = slots.get(slot)
            if inputs is not None:
                _made_of(inputs, temporary, sources)
                for urn in temporary & inputs.keys():
                    del inputs[urn]
                if not inputs:
                    del slots[slot]
        outputs = slots.get(OUTPUT)
        if outputs is not None:
            for urn in temporary & outputs.keys():
                del outputs[urn]
            if not outputs:
                del slots[OUTPUT]
        _forget_fields(slots, temporary)
        _upstreams(slots, temporary, sources)


def _made_of(inputs: dict[Any, Cell], temporary: AbstractSet[str], sources: Mapping[str, AbstractSet[str]]) -> None:
    """Add to inputs what the temporary ones among them were made of."""
    for urn in sorted(temporary & inputs.keys()):
        cell = inputs[urn]
        for source in sorted(sources.get(urn, ())):
            inputs[source] = span(inputs[source], cell) if source in inputs else cell


def _forget_fields(slots: Slots, temporary: AbstractSet[str]) -> None:
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


def _upstreams(slots: Slots, temporary: AbstractSet[str], sources: Mapping[str, AbstractSet[str]]) -> None:
    """Replace temporary upstreams of a dataset by what they were made of; drop what is said of their columns."""
    upstreams = slots.get(UPSTREAM)
    if upstreams is None:
        return
    for facet, urn in sorted(upstreams.keys()):
        if urn in temporary:
            cell = upstreams.pop((facet, urn))
            for source in sources.get(urn, ()):
                upstreams[facet, source] = max(upstreams.get((facet, source), cell), cell)
    slots[UPSTREAM_MARK] = {key: cell for key, cell in slots.get(UPSTREAM_MARK, {}).items() if key[0] not in temporary}
    left: dict[Any, Cell] = {}
    for (facet, pairs), cell in slots.get(UPSTREAM_FIELD, {}).items():
        key = (facet, frozenset(pair for pair in pairs if _dataset_of(pair[2]) not in temporary))
        left[key] = max(left.get(key, cell), cell)
    slots[UPSTREAM_FIELD] = left


def _sources(states: list[RunState], temporary: AbstractSet[str]) -> dict[str, set[str]]:
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
