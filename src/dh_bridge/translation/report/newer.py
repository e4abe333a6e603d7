"""Aspects that only newer servers take: how many of a run were left out for its profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facts import RUN_TYPE, SQL
from dh_bridge.translation.fold import value
from dh_bridge.translation.precedence import TYPE_JOB
from dh_bridge.translation.runs.unnamed_jobs import nameless

if TYPE_CHECKING:
    from collections.abc import Collection

    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState

_RUN = "dataProcessInstance"
_JOB = "urn:li:dataJob:"
_LOGIC = "dataJob", "dataTransformLogic"


def newer_aspects(states: Collection[RunState], options: Options) -> int:
    """Return how many aspects of runs the profile does not know: platform and subtype of the runs, SQL of their jobs."""
    has = options.profile.has
    platforms, subtypes, logic = has(_RUN, "dataPlatformInstance"), has(_RUN, "subTypes"), has(*_LOGIC)
    found = 0
    if not platforms:
        found += sum([1 for state in states if state.urn and state.jobs])
    if not subtypes:
        own = [state.cells[state.urn] for state in states if state.urn in state.cells]
        found += sum([1 for slots in own if RUN_TYPE in slots and value(slots, RUN_TYPE, TYPE_JOB)])
    if not logic:
        jobs = [(state, urn) for state in states for urn in state.jobs if SQL in state.cells.get(urn, ())]
        found += sum([urn not in nameless(state) for state, urn in jobs])
    return found
