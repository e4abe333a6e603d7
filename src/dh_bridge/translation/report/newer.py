"""Aspects that only newer servers take: how many of a run were left out for its profile (ruling 24)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.fold import value
from dh_bridge.translation.runs.nameless import nameless
from dh_bridge.translation.runstate import kinds_of
from dh_bridge.translation.slots import RUN_TYPE, SQL

if TYPE_CHECKING:
    from collections.abc import Collection

    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState

_RUN = "dataProcessInstance"
_JOB = "urn:li:dataJob:"
_LOGIC = "dataJob", "dataTransformLogic"


def newer_aspects(states: Collection[RunState], options: Options) -> int:
    """Return how many aspects of runs the profile does not know: platform and subtype of the runs, SQL of their jobs."""
    has, said = options.profile.has, kinds_of(states)
    platforms = has(_RUN, "dataPlatformInstance")
    subtypes = RUN_TYPE not in said or has(_RUN, "subTypes")
    logic = SQL not in said or has(*_LOGIC)
    found = 0
    for state in states:
        if not platforms and state.urn and state.jobs:
            found += 1
        if not subtypes and value(state.cells.get(state.urn, {}), RUN_TYPE, "job_type"):
            found += 1
        if not logic:
            left = nameless(state)
            found += sum([SQL in state.cells[urn] for urn in state.cells if urn.startswith(_JOB) and urn not in left])
    return found
