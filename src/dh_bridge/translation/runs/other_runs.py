"""What the lineage of one run says of other runs: handed to those that are open in the same call, or kept for them.

A run's inputs and relationships are written whole. What is known of a run that is not at hand is therefore not written
to it (it would erase what that run's own events wrote); it stays as the property ``lineage.jobs`` of the one that said it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facts import INPUT, NAMED_INPUT, STUB_RUN, UPSTREAM_RUN
from dh_bridge.translation.fold import pour

if TYPE_CHECKING:
    from dh_bridge.translation.fold import Slots
    from dh_bridge.translation.runstate import RunState

RUN = "urn:li:dataProcessInstance:"


def hand_over(states: list[RunState]) -> None:
    """Move upstream runs and inputs of other runs to those runs' states; forget those of runs that are not there."""
    open_runs = {state.urn: state for state in states if state.urn}
    said = [(state, urn) for state in states for urn in state.cells if urn.startswith(RUN) and urn != state.urn]
    for urn, slots in [(urn, state.cells.pop(urn)) for state, urn in said]:
        other = open_runs.get(urn)
        if other is not None:
            take_over(other, slots)


def take_over(state: RunState, slots: Slots) -> None:
    """Fold into a run what the lineage of others says of it."""
    job = state.job()
    for slot, entity, to in (
        (UPSTREAM_RUN, state.urn, UPSTREAM_RUN),
        (STUB_RUN, state.urn, STUB_RUN),
        (NAMED_INPUT, job.job_urn if job is not None else "", INPUT),
    ):
        if slot in slots and entity:
            pour(state.cells.setdefault(entity, {}).setdefault(to, {}), to, slots[slot])
