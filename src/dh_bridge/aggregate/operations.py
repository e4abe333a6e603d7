"""Operations that are merged into a task or application: the run of the task gets their inputs and outputs.

This needs the run of the task in the same call; otherwise the operation's own run is written, with the task or application as
its template, so that nothing is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.contributions import io_of
from dh_bridge.identity.granularity import APPLICATION
from dh_bridge.model.facts import (
    DATASET,
    EDGE_PROPERTIES,
    INPUT,
    MERGED_OPERATION,
    OPERATION,
    OUTPUT,
    PARENT,
    STATISTIC,
)
from dh_bridge.model.fold import merge_elements, value
from dh_bridge.openlineage.events import TERMINAL_TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.model.merge import Version, Versioned
    from dh_bridge.model.run_state import RunState

OPERATION_OWNER = "?operation"
"""Entity for the facts of a merged operation's job, which is not written."""

_MERGED_KINDS = (INPUT, OUTPUT, EDGE_PROPERTIES, OPERATION)
_TYPE_PRECEDENCE = {"COMPLETE": 0, "ABORT": 1, "FAIL": 2}


def merge_operations(states: list[RunState]) -> frozenset[str]:
    """Move inputs, outputs, lifecycle changes, statistics and failures of merged operations to the runs of their tasks.

    Return the changed runs.


    Counts are summed, as each operation counts its own rows.
    """
    operations = {state.urn: state for state in states if _operation_name(state) is not None}
    if not operations:
        return frozenset()
    by_urn = {state.urn: state for state in states if state.urn}
    sums: dict[str, dict[tuple[str, tuple[str, str, str]], Versioned]] = {}
    ends: dict[str, dict[str, tuple[Version, str]]] = {}
    merged_urns = set()
    for urn, state in sorted(operations.items()):
        target_run = _target_run(state, by_urn)
        if target_run is None:
            continue
        merged_urns.add(urn)
        _add_to_target(state, target_run, sums.setdefault(target_run.urn, {}))
        _record_end(state, ends.setdefault(target_run.urn, {}))
    for urn, counts in sums.items():
        for (entity, key), (version, count) in counts.items():
            statistics = by_urn[urn].facts.setdefault(entity, {}).setdefault(STATISTIC, {})
            statistics[key] = (version, count + (statistics[key][1] if key in statistics else 0))
    for urn, ends_by_name in ends.items():
        if any(kind == "FAIL" for _, kind in ends_by_name.values()):
            by_urn[urn].has_failed_operation = True
    return frozenset(merged_urns)


def drop_runs(proposals: Iterator[Proposal], runs: frozenset[str]) -> Iterator[Proposal]:
    """Return the proposals without those of the runs whose facts others carry."""
    return proposals if not runs else (proposal for proposal in proposals if proposal.entity_urn not in runs)


def _operation_name(state: RunState) -> str | None:
    """Return the operation's name; None if the run is no merged operation."""
    name = value(state.facts.get(state.urn, {}), MERGED_OPERATION)
    return name if isinstance(name, str) else None


def _target_run(state: RunState, by_urn: dict[str, RunState]) -> RunState | None:
    """Return the run of the operation's task or application, if it is in the call."""
    visited = {state.urn}
    while True:
        parent = value(state.facts.get(state.urn, {}), PARENT)
        parent_run = by_urn.get(parent[0]) if parent is not None else None
        if parent_run is None or parent_run.urn in visited:
            return None
        if _operation_name(parent_run) is None:
            return parent_run
        visited.add(parent_run.urn)
        state = parent_run


def _add_to_target(
    state: RunState, target_run: RunState, sums: dict[tuple[str, tuple[str, str, str]], Versioned]
) -> None:
    if (
        state.snapshot_outputs or target_run.snapshot_outputs
    ):  # datasets that a snapshot leaves out were written, and so were those of a side without datasets
        target_run.snapshot_outputs = frozenset({*_output_urns(target_run), *_output_urns(state)})
    for entity, registers in state.facts.items():
        for fact_kind in _MERGED_KINDS:
            # the operation on an output is on the edge, and on the points of a run that names the output itself
            if fact_kind in registers and (fact_kind is not OPERATION or entity in target_run.facts):
                merge_elements(
                    target_run.facts.setdefault(entity, {}).setdefault(fact_kind, {}), fact_kind, registers[fact_kind]
                )
        for key, (version, count) in registers.get(STATISTIC, {}).items():
            previous = sums.get((entity, key))
            sums[entity, key] = (
                (version, count) if previous is None else (max(version, previous[0]), count + previous[1])
            )
    named_urns = {
        urn for urn, registers in target_run.facts.items() if DATASET in registers
    }  # which is written all the same
    target_run.collapsed_urns |= state.collapsed_urns - named_urns


def _output_urns(state: RunState) -> Iterable[str]:
    return state.snapshot_outputs or io_of(state, OUTPUT)


def _record_end(state: RunState, ends_by_name: dict[str, tuple[Version, str]]) -> None:
    """Record how the last run of each operation ended: FAIL wins over the other results of a run."""
    job = state.job()
    ends = [(version, kind) for version, kind in state.events if kind in TERMINAL_TYPES]
    if job is None or job.granularity != APPLICATION or not ends:
        return
    end = (
        max(version for version, _ in ends),
        max((kind or "" for _, kind in ends), key=lambda kind: _TYPE_PRECEDENCE[kind]),
    )
    name = _operation_name(state) or ""
    ends_by_name[name] = max(ends_by_name.get(name, end), end)
