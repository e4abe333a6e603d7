"""Totals of applications: what the runs of a Spark application's operations read and wrote, on the run of the application.

A ledger knows the operations of a run, so the run has the union of their inputs and outputs and the sums of their counts. Only
aspects of the run show them: the application itself has no edges of lineage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.contributions import counts_of, io_of
from dh_bridge.model.facts import (
    INPUT,
    MERGED_OPERATION,
    OPERATION_INPUT,
    OPERATION_OUTPUT,
    OPERATION_STATISTIC,
    OUTPUT,
    PARENT,
    STATISTIC,
    FactKind,
)
from dh_bridge.model.fold import merge_elements, value

if TYPE_CHECKING:
    from typing import Any

    from dh_bridge.model.fold import FactsByEntity, Registers
    from dh_bridge.model.merge import Versioned
    from dh_bridge.model.run_state import RunState

_SPARK = "spark"
#: inputs and outputs of a run -> those of its operations
TOTAL_KINDS: dict[FactKind, FactKind] = {INPUT: OPERATION_INPUT, OUTPUT: OPERATION_OUTPUT}
APPLICATION_KINDS = (OPERATION_INPUT, OPERATION_OUTPUT, OPERATION_STATISTIC)


def add_application_totals(state: RunState, foreign_facts: FactsByEntity) -> None:
    """Add to ``foreign_facts`` the contribution of an operation's run to the run of its application."""
    registers = state.facts.get(state.urn, {})
    parent, job = value(registers, PARENT), state.job()
    if parent is None or parent[0] == state.urn or MERGED_OPERATION in registers:
        return
    if job is None or job.platform != _SPARK or job.level == "flow":
        return
    totals: Registers = {}
    for fact_kind, total_kind in TOTAL_KINDS.items():
        datasets = {
            urn: versioned for urn, versioned in io_of(state, fact_kind).items() if urn not in state.collapsed_urns
        }
        if datasets:
            totals[total_kind] = dict(datasets)
    counts: dict[Any, Versioned] = {}
    for statistics in [facts[STATISTIC] for facts in state.facts.values() if STATISTIC in facts]:
        for (direction, dataset, statistic), versioned in statistics.items():
            if dataset not in state.collapsed_urns:
                merge_elements(counts, OPERATION_STATISTIC, {(direction, dataset, statistic, state.urn): versioned})
    if counts:
        totals[OPERATION_STATISTIC] = counts
    if totals:
        # a copy: the facts of a run are never changed in place
        foreign_facts[parent[0]] = {**foreign_facts.get(parent[0], {}), **totals}


def is_application(state: RunState) -> bool:
    """Return whether the run is one of a Spark application."""
    job = state.job()
    return job is not None and job.platform == _SPARK and job.level == "flow"


def total_io_of(state: RunState, fact_kind: FactKind) -> dict[str, Versioned]:
    """Return the datasets that a run reads or writes, with those of its operations."""
    datasets = io_of(state, fact_kind)
    totals = state.facts.get(state.urn, {}).get(TOTAL_KINDS[fact_kind])
    if totals:
        datasets = dict(datasets)
        merge_elements(datasets, fact_kind, totals)
    return datasets


def total_counts_of(state: RunState) -> dict[tuple[str, str], dict[str, int]]:
    """Return the statistics of a run by (direction, dataset): its own, and the sums of its operations."""
    totals = counts_of(state)
    for (direction, dataset, statistic, _), (_, count) in (
        state.facts.get(state.urn, {}).get(OPERATION_STATISTIC, {}).items()
    ):
        counts = totals.setdefault((direction, dataset), {})
        counts[statistic] = counts.get(statistic, 0) + count
    return totals
