"""Some runs at a time, beside many others: what their settled states are, and what they contribute to what is shared.

A call that holds all its runs settles them in place (`translate.Fold`). A home that keeps states, as the ledger does, settles
copies of a run and its kin anew whenever something about them changes; what other runs say of a run stands in the shared
cells of its URN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dh_bridge.translation.contributions import contribute, settle_placeholders, settle_snapshots
from dh_bridge.translation.fold import Cells, fold
from dh_bridge.translation.history import History, history
from dh_bridge.translation.joined import matched
from dh_bridge.translation.operations import carried
from dh_bridge.translation.other_runs import RUN, take_over
from dh_bridge.translation.render.runs import streaming
from dh_bridge.translation.skipped import withdraw_skipped
from dh_bridge.translation.slots import DATASET, OUTPUT, WRITTEN
from dh_bridge.translation.through import run_through

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.translation.laws import Stamp
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.render.ladders import Slots
    from dh_bridge.translation.runstate import RunState

#: URN of a run -> the shared cells of that URN: what other runs say of it
Others = Callable[[str], "Slots"]


def settled(states: Iterable[RunState], others: Others) -> tuple[list[RunState], frozenset[str]]:
    """Return settled copies of a family of runs, and the URNs of those whose facts others of the family carry.

    A run that is known by two ids is one in the end: there may be fewer copies than states.
    """
    copies = matched([state.copy() for state in states])
    for copy in copies:
        settle_placeholders(copy)
        settle_snapshots(copy)
        if copy.urn and (said := others(copy.urn)):
            take_over(copy, said)
    run_through(copies)
    if len(copies) > 1:
        withdraw_skipped(copies)
        return copies, carried(copies)
    return copies, frozenset()


def history_of(state: RunState, options: Options) -> History:
    """Return the history of a settled run, by the settings."""
    settings = options.settings.runs
    return history(state.events, streaming=streaming(state), heartbeat=settings.heartbeat, other_as=settings.other_as)


def contribution(state: RunState, found: History, options: Options) -> Cells:
    """Return the cells that a settled run contributes to what many runs share, other runs among it."""
    others = {urn: slots for urn, slots in state.cells.items() if urn.startswith(RUN) and urn != state.urn}
    for urn in others:
        del state.cells[urn]
    shared: Cells = {}
    contribute(state, found, shared, options)
    shared.update(others)
    for placeholder in [urn for urn in shared if urn.startswith("?")]:  # of no job that is written
        del shared[placeholder]
    for urn, stamp in _written(state):
        fold(shared, ((urn, WRITTEN, "", None),), stamp)
    return shared


def _written(state: RunState) -> Iterator[tuple[str, Stamp]]:
    for urn, slots in state.cells.items():
        for dataset, cell in slots.get(OUTPUT, {}).items():
            yield dataset, cell[0]
        if state.kind == "dataset" and DATASET in slots:
            yield urn, slots[DATASET][""][0]
