"""Facts in the lineage of one run about other runs: they are added to runs of the same call, or stored for later.

A run's inputs and relationships are written as a whole. Facts about a run outside of the call are therefore not written to it
(they would erase what its own events wrote); they stay in the property ``lineage.jobs`` of the run that states them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.application_totals import APPLICATION_KINDS, is_application
from dh_bridge.model.facts import IMPLIED_INPUT, IMPLIED_PARENT_RUN, INPUT, UPSTREAM_RUN
from dh_bridge.model.fold import merge_elements

if TYPE_CHECKING:
    from dh_bridge.model.fold import Registers
    from dh_bridge.model.run_state import RunState

RUN_URN_PREFIX = "urn:li:dataProcessInstance:"


def resolve_other_runs(states: list[RunState]) -> None:
    """Move upstream runs and inputs of other runs to the states of those runs; drop those of runs outside of the call."""
    open_runs = {state.urn: state for state in states if state.urn}
    mentions = [
        (state, urn) for state in states for urn in state.facts if urn.startswith(RUN_URN_PREFIX) and urn != state.urn
    ]
    for urn, registers in [(urn, state.facts.pop(urn)) for state, urn in mentions]:
        target = open_runs.get(urn)
        if target is not None:
            apply_foreign_facts(target, registers)


def apply_foreign_facts(state: RunState, registers: Registers) -> None:
    """Add the facts in the lineage of other runs to a run."""
    job = state.job()
    if is_application(state):
        for fact_kind in APPLICATION_KINDS:
            if fact_kind in registers:
                merge_elements(
                    state.facts.setdefault(state.urn, {}).setdefault(fact_kind, {}), fact_kind, registers[fact_kind]
                )
    for fact_kind, entity, target_kind in (
        (UPSTREAM_RUN, state.urn, UPSTREAM_RUN),
        (IMPLIED_PARENT_RUN, state.urn, IMPLIED_PARENT_RUN),
        (IMPLIED_INPUT, job.job_urn if job is not None else "", INPUT),
    ):
        if fact_kind in registers and entity:
            merge_elements(
                state.facts.setdefault(entity, {}).setdefault(target_kind, {}), target_kind, registers[fact_kind]
            )
