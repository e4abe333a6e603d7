"""Cross-run facts of a run, separate from its other facts.

Four kinds of facts are about other runs: lineage that names another run, tests that dbt skipped because their model failed,
temporary datasets across which lineage is collapsed, and DAG runs that ended, which makes failed tries of their tasks final. A run
with such facts leaves a *witness*: a state with these facts only. A run that such facts may change is *open*, and closes together
with all witnesses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.attempts import can_be_final, final_failures
from dh_bridge.aggregate.collapse import can_collapse
from dh_bridge.aggregate.contributions import io_of
from dh_bridge.aggregate.other_runs import RUN_URN_PREFIX
from dh_bridge.aggregate.run_history import build_history
from dh_bridge.model.facts import FINAL_FAILURE, INPUT, OUTPUT, PARENT, RESULTS, TEMPORARY
from dh_bridge.model.merge import MIN_VERSION
from dh_bridge.model.run_state import RunState

if TYPE_CHECKING:
    from dh_bridge.model.fold import FactsByEntity
    from dh_bridge.options import Options


def witness_of(state: RunState, options: Options) -> RunState | None:
    """Return the facts of ``state`` about other runs, as a state of its own; None if there are none."""
    collapses = can_collapse(options)
    facts: FactsByEntity = {
        urn: registers for urn, registers in state.facts.items() if urn.startswith(RUN_URN_PREFIX) and urn != state.urn
    }
    is_failed = has_failed_under_parent(state) and bool(state.snapshot_outputs or io_of(state, OUTPUT))
    if is_failed and build_history(state.events).has_completed:
        is_failed = False
    if is_failed:
        facts[state.urn] = {PARENT: state.facts[state.urn][PARENT]}
    if options.settings.runs.up_for_retry and (failures := final_failures(state)):
        facts.setdefault(state.urn, {})[FINAL_FAILURE] = {task: (MIN_VERSION, time) for task, time in failures.items()}
    if is_failed or collapses or state.collapsed_urns:
        fact_kinds = (INPUT, OUTPUT, TEMPORARY) if collapses or state.collapsed_urns else (OUTPUT,)
        for urn, registers in state.facts.items():
            stated_registers = {fact_kind: registers[fact_kind] for fact_kind in fact_kinds if fact_kind in registers}
            if stated_registers:
                facts[urn] = {**facts.get(urn, {}), **stated_registers}
    if not facts and not state.collapsed_urns:
        return None
    witness_state = RunState(state.urn, "", state.kind, state.urn or "witness")
    witness_state.facts, witness_state.snapshot_outputs, witness_state.collapsed_urns = (
        facts,
        state.snapshot_outputs,
        state.collapsed_urns,
    )
    if is_failed:
        witness_state.events = state.events
    return witness_state


def named_run_urns(witness_state: RunState) -> list[str]:
    """Return the URNs of the other runs that a witness names."""
    return [urn for urn in witness_state.facts if urn.startswith(RUN_URN_PREFIX) and urn != witness_state.urn]


def is_open(state: RunState, options: Options) -> bool:
    """Return whether other runs may change the state: its datasets may be temporary, dbt may have skipped it, or its DAG run ended."""
    if state.collapsed_urns or can_collapse(options):
        return True  # only other runs may know which datasets are temporary
    if not has_failed_under_parent(state):
        return False
    return can_be_final(state) or any(RESULTS in registers for registers in state.facts.values())


def has_failed_under_parent(state: RunState) -> bool:
    """Return whether the run failed and names a parent, as the runs of dbt nodes do."""
    if state.kind != "run" or PARENT not in state.facts.get(state.urn, {}):
        return False
    return any(event_type == "FAIL" for _, event_type in state.events)
