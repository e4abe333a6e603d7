"""Steps of closing runs: what runs state of themselves and of each other, their history, and what they contribute.

`dh_bridge.translation.closing` takes these steps in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facts import RESULTS, TEMPORARY, WRITTEN
from dh_bridge.translation.fold import Cells, fold
from dh_bridge.translation.merge import BEFORE
from dh_bridge.translation.precedence import TYPE_BATCHES, TYPE_RESTARTS, TYPE_STREAMING
from dh_bridge.translation.runs.collapse import run_through
from dh_bridge.translation.runs.contributions import contribute, outputs_of, settle_placeholders, settle_snapshots
from dh_bridge.translation.runs.history import History, failing, history, only
from dh_bridge.translation.runs.other_runs import RUN
from dh_bridge.translation.runs.skipped import withdraw_skipped

if TYPE_CHECKING:
    from dh_bridge.translation.facts import Slot
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState


def settle_alone(state: RunState) -> None:
    """Settle what a run says of itself: placeholders and snapshots."""
    settle_placeholders(state)
    settle_snapshots(state)


def settle_among(states: list[RunState], said: set[Slot], options: Options) -> None:
    """Settle what runs change in each other: temporary datasets, and tests of a model that failed; ``said`` as of `kinds_of`."""
    if TEMPORARY in said or any([state.through for state in states]):  # noqa: C419 - a list is faster
        run_through(states)
    if RESULTS in said and len(states) > 1:
        withdraw_skipped(states, options.tables.assertions)


def history_of(state: RunState, options: Options) -> History:
    """Return the history of a settled run, by the settings."""
    settings = options.settings.runs
    found = only(state.events) or history(
        state.events,
        streaming=state.hinted(TYPE_STREAMING),
        heartbeat=settings.heartbeat,
        other_as=settings.other_as,
        start_skew=settings.start_skew_seconds,
        restarts=state.hinted(TYPE_RESTARTS),
        batches=state.hinted(TYPE_BATCHES),
    )
    return failing(found) if state.failed else found


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
    mark_written(state, shared)
    return shared


def mark_written(state: RunState, shared: Cells) -> None:
    """Note in ``shared`` which datasets a run wrote, or a dataset event is about."""
    for urn in outputs_of(state):
        fold(shared, ((urn, WRITTEN, "", None),), BEFORE)
