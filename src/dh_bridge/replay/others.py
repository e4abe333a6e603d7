"""What a run says of other runs, apart from what they share.

Three things cross from run to run in one call: lineage that names another run, tests that dbt skipped as their model failed,
and temporary datasets that lineage runs through. A run that says such a thing leaves a *witness*: a state that holds no more;
a run that such a thing may change is *open*, and closes together with all witnesses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facts import INPUT, OUTPUT, PARENT, RESULTS, TEMPORARY
from dh_bridge.translation.runs.collapse import passes
from dh_bridge.translation.runs.contributions import io_of
from dh_bridge.translation.runs.history import history
from dh_bridge.translation.runs.other_runs import RUN
from dh_bridge.translation.runstate import RunState

if TYPE_CHECKING:
    from dh_bridge.translation.fold import Cells
    from dh_bridge.translation.options import Options


def witness(state: RunState, options: Options) -> RunState | None:
    """Return what ``state`` says of other runs, as a state of its own; None if it says nothing."""
    through = passes(options)
    cells: Cells = {urn: slots for urn, slots in state.cells.items() if urn.startswith(RUN) and urn != state.urn}
    broken = failed_under_parent(state) and bool(state.listed or io_of(state, OUTPUT))
    if broken and history(state.events).completed:
        broken = False
    if broken:
        cells[state.urn] = {PARENT: state.cells[state.urn][PARENT]}
    if broken or through:
        wanted = (INPUT, OUTPUT, TEMPORARY) if through else (OUTPUT,)
        for urn, slots in state.cells.items():
            found = {slot: slots[slot] for slot in wanted if slot in slots}
            if found:
                cells[urn] = {**cells.get(urn, {}), **found}
    if not cells and not state.through:
        return None
    told = RunState(state.urn, "", state.kind, state.urn or "witness")
    told.cells, told.listed, told.through = cells, state.listed, state.through
    if broken:
        told.events = state.events
    return told


def named_runs(told: RunState) -> list[str]:
    """Return the URNs of the other runs that a witness names."""
    return [urn for urn in told.cells if urn.startswith(RUN) and urn != told.urn]


def is_open(state: RunState, options: Options) -> bool:
    """Return whether what other runs say may change the state: it may name temporary datasets, or dbt may have skipped it."""
    if passes(options):
        return True  # which datasets are temporary may be known from other runs only
    return failed_under_parent(state) and any(RESULTS in slots for slots in state.cells.values())


def failed_under_parent(state: RunState) -> bool:
    """Return whether the run failed and names a parent, as dbt's nodes do."""
    if state.kind != "run" or PARENT not in state.cells.get(state.urn, {}):
        return False
    return any(word == "FAIL" for _, word in state.events)
