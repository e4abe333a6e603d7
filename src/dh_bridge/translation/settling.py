"""One run at a time, beside many others: what its settled state is, and what it contributes to what they share.

A call that holds all its runs settles them together (`translate.Fold`). A home that keeps states, as the ledger does, settles
one run anew whenever something about it changes; what other runs say of it stands in ``others``, the shared cells of its URN.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dh_bridge.translation.contributions import contribute, settle_placeholders, settle_snapshots
from dh_bridge.translation.fold import Cells, fold
from dh_bridge.translation.history import History, history
from dh_bridge.translation.other_runs import RUN, take_over
from dh_bridge.translation.render.runs import streaming
from dh_bridge.translation.runstate import ANY_OWNER, ANY_TASK, RunState
from dh_bridge.translation.slots import DATASET, OUTPUT, WRITTEN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.translation.laws import Stamp
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.render.ladders import Slots


#: a run's state -> its settled copy, its history, and what it contributes
Settle = Callable[[RunState], tuple[RunState, History, Cells]]


def settled(state: RunState, others: Slots, options: Options) -> tuple[RunState, History]:
    """Return a settled copy of a run's state, with what other runs say of it, and its history."""
    copy = state.copy()
    settle_placeholders(copy)
    settle_snapshots(copy)
    if others:
        take_over(copy, others)
    settings = options.settings.runs
    found = history(copy.events, streaming=streaming(copy), heartbeat=settings.heartbeat, other_as=settings.other_as)
    return copy, found


def contribution(state: RunState, found: History, options: Options) -> Cells:
    """Return the cells that a settled run contributes to what many runs share, other runs among it."""
    others = {urn: slots for urn, slots in state.cells.items() if urn.startswith(RUN) and urn != state.urn}
    for urn in others:
        del state.cells[urn]
    shared: Cells = {}
    contribute(state, found, shared, options)
    shared.update(others)
    for placeholder in (ANY_OWNER, ANY_TASK):
        shared.pop(placeholder, None)
    for urn, stamp in _written(state):
        fold(shared, ((urn, WRITTEN, "", None),), stamp)
    return shared


def _written(state: RunState) -> Iterator[tuple[str, Stamp]]:
    for urn, slots in state.cells.items():
        for dataset, cell in slots.get(OUTPUT, {}).items():
            yield dataset, cell[0]
        if state.kind == "dataset" and DATASET in slots:
            yield urn, slots[DATASET][""][0]
