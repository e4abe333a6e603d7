"""Aspects that only newer servers take: how many of a run were left out for its profile (ruling 24)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.fold import value
from dh_bridge.translation.slots import RUN_TYPE, SQL

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState

_RUN = "dataProcessInstance"
_LOGIC = "dataJob", "dataTransformLogic"


def newer_aspects(states: Iterable[RunState], options: Options) -> int:
    """Return how many aspects of runs the profile does not know: platform and subtype of the runs, SQL of their jobs."""
    has = options.profile.has
    platforms, subtypes, logic = has(_RUN, "dataPlatformInstance"), has(_RUN, "subTypes"), has(*_LOGIC)
    found = 0
    for state in states:
        if not platforms and state.urn and state.jobs:
            found += 1
        if not subtypes and value(state.cells.get(state.urn, {}), RUN_TYPE, "job_type"):
            found += 1
        if not logic:
            found += sum(
                [1 for urn, slots in state.cells.items() if SQL in slots and urn.startswith("urn:li:dataJob:")]
            )
    return found
