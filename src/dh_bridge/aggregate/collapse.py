"""Temporary datasets: lineage is collapsed across them (settings ``temporary``).

Or no edge names them (``temporary.dataset_type``).

What a job reads from a collapsed dataset, it reads from the inputs of that dataset's writers. One run may declare a dataset
temporary that other runs name, so the runs of a call are resolved together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.model.facts import (
    DATASET,
    FINE_LINEAGE,
    IMPLIED_INPUT,
    INPUT,
    INPUT_FIELD,
    OUTPUT,
    TEMPORARY,
    UPSTREAM,
    UPSTREAM_FIELD,
    UPSTREAM_PROPERTY,
)
from dh_bridge.model.merge import Versioned, interval

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from dh_bridge.model.fold import Registers
    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options


def can_collapse(options: Options) -> bool:
    """Return whether a run may name a dataset that only other runs mark as temporary.

    Temporary names do not require this: each run that names such a dataset recognises the name.
    """
    settings = options.settings.temporary
    return bool(settings.datasets) or settings.dataset_type != "keep"


def lineage_datasets(state: RunState) -> set[str]:
    """Return the datasets that a run names as ends of lineage."""
    urns: set[str] = set()
    for registers in state.facts.values():
        urns.update(registers.get(INPUT, ()), registers.get(OUTPUT, ()), registers.get(IMPLIED_INPUT, ()))
        urns.update(urn for _, urn in registers.get(UPSTREAM, ()))
    return urns


def collapse_temporary(states: list[RunState]) -> None:
    """Collapse the lineage of all runs of the call across temporary datasets.

    Drop the edges of temporary datasets that are not collapsed.
    """
    collapsed_urns = set().union(*[state.collapsed_urns for state in states])
    if collapsed_urns:
        sources = _sources(states, collapsed_urns)
        for state in states:
            for urn in collapsed_urns & state.facts.keys():
                state.facts[urn].pop(DATASET, None)  # a facet may name it
            _replace_temporary(state, collapsed_urns, sources)
    policies = [
        (urn, registers[TEMPORARY][""][1])
        for state in states
        for urn, registers in state.facts.items()
        if TEMPORARY in registers
    ]
    if policies:
        _apply_policy(states, frozenset([urn for urn, _ in policies]), collapse=policies[0][1] == "collapse")


def _apply_policy(states: list[RunState], temporary: frozenset[str], *, collapse: bool) -> None:
    """Drop the edges of datasets that some run declares temporary; datasets that an event names otherwise are still written.

    A dataset or an operation that was written cannot be withdrawn when a later event declares the dataset temporary; edges can.
    """
    sources = _sources(states, temporary) if collapse else {}
    for state in states:
        collapsed = {urn for urn in temporary if DATASET not in state.facts.get(urn, ())} if collapse else set()
        state.unlinked_urns = temporary
        _replace_temporary(state, collapsed, sources)
        state.collapsed_urns |= collapsed
        for urn, registers in state.facts.items():
            inputs = registers.get(INPUT)
            if inputs is not None and collapse:
                _add_sources(inputs, temporary - collapsed, sources)
            _drop_fields(registers, temporary)
            _replace_upstreams(registers, temporary, sources)
            if urn in temporary:
                for fact_kind in (UPSTREAM, UPSTREAM_FIELD, UPSTREAM_PROPERTY):
                    registers.pop(fact_kind, None)


def _replace_temporary(state: RunState, temporary: AbstractSet[str], sources: Mapping[str, AbstractSet[str]]) -> None:
    """Replace temporary inputs of a run by what their writers read; drop temporary outputs."""
    for registers in state.facts.values():
        for fact_kind in (INPUT, IMPLIED_INPUT):
            inputs = registers.get(fact_kind)
            if inputs is not None:
                _add_sources(inputs, temporary, sources)
                for urn in temporary & inputs.keys():
                    del inputs[urn]
                if not inputs:
                    del registers[fact_kind]
        outputs = registers.get(OUTPUT)
        if outputs is not None:
            for urn in temporary & outputs.keys():
                del outputs[urn]
            if not outputs:
                del registers[OUTPUT]
        _drop_fields(registers, temporary)
        _replace_upstreams(registers, temporary, sources)


def _add_sources(
    inputs: dict[Any, Versioned], temporary: AbstractSet[str], sources: Mapping[str, AbstractSet[str]]
) -> None:
    """Add to inputs the sources of the temporary ones among them."""
    for urn in sorted(temporary & inputs.keys()):
        versioned = inputs[urn]
        for source in sorted(sources.get(urn, ())):
            inputs[source] = interval(inputs[source], versioned) if source in inputs else versioned


def _drop_fields(registers: Registers, temporary: AbstractSet[str]) -> None:
    """Drop the facts about the columns of temporary datasets."""
    fields = registers.get(INPUT_FIELD)
    if fields is not None:
        registers[INPUT_FIELD] = {
            field: versioned for field, versioned in fields.items() if _dataset_of(field) not in temporary
        }
        if not registers[INPUT_FIELD]:
            del registers[INPUT_FIELD]
    fine_lineage = registers.get(FINE_LINEAGE)
    if fine_lineage is not None:
        for dataset, (version, pairs) in list(fine_lineage.items()):
            remaining = frozenset(
                pair for pair in pairs if not {_dataset_of(pair[1]), _dataset_of(pair[2])} & temporary
            )
            if remaining:
                fine_lineage[dataset] = (version, remaining)
            else:
                del fine_lineage[dataset]
        if not fine_lineage:
            del registers[FINE_LINEAGE]


def _replace_upstreams(
    registers: Registers, temporary: AbstractSet[str], sources: Mapping[str, AbstractSet[str]]
) -> None:
    """Replace temporary upstreams of a dataset by their own upstreams; drop the facts about their columns."""
    upstreams = registers.get(UPSTREAM)
    if upstreams is None:
        return
    for facet, urn in sorted(upstreams.keys()):
        if urn in temporary:
            versioned = upstreams.pop((facet, urn))
            for source in sources.get(urn, ()):
                upstreams[facet, source] = max(upstreams.get((facet, source), versioned), versioned)
    registers[UPSTREAM_PROPERTY] = {
        key: versioned for key, versioned in registers.get(UPSTREAM_PROPERTY, {}).items() if key[0] not in temporary
    }
    remaining: dict[Any, Versioned] = {}
    for (facet, pairs), versioned in registers.get(UPSTREAM_FIELD, {}).items():
        key = (facet, frozenset(pair for pair in pairs if _dataset_of(pair[2]) not in temporary))
        remaining[key] = max(remaining.get(key, versioned), versioned)
    registers[UPSTREAM_FIELD] = remaining


def _sources(states: list[RunState], temporary: AbstractSet[str]) -> dict[str, set[str]]:
    """Return, for each temporary dataset, its persistent sources, also across other temporary ones."""
    inputs_by_urn: dict[str, set[str]] = {urn: set() for urn in temporary}
    for state in states:
        for registers in state.facts.values():
            for urn in temporary & registers.get(OUTPUT, {}).keys():
                inputs_by_urn[urn].update(registers.get(INPUT, {}))
    sources_by_urn: dict[str, set[str]] = {}
    for urn in temporary:
        visited, queue = {urn}, [urn]
        while queue:
            for source in inputs_by_urn.get(queue.pop(), ()):
                if source not in visited:
                    visited.add(source)
                    queue.append(source)
        sources_by_urn[urn] = visited - temporary
    return sources_by_urn


def _dataset_of(field: str) -> str:
    if field.startswith("urn:li:dataset:"):
        return field
    return field.removeprefix("urn:li:schemaField:(").rpartition(",")[0]
