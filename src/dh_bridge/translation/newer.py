"""Aspects that only newer servers take: how many of a run were left out for its profile (ruling 24)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.fold import value
from dh_bridge.translation.slots import RUN_TYPE, SQL

if TYPE_CHECKING:
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState

_RUN = "dataProcessInstance"


def newer_aspects(state: RunState, options: Options) -> int:
    """Return how many aspects of the run its profile does not know: platform and subtype of the run, SQL of its jobs."""
    profile = options.profile
    found = 0
    if state.urn and state.jobs and not profile.has(_RUN, "dataPlatformInstance"):
        found += 1
    if not profile.has(_RUN, "subTypes") and value(state.cells.get(state.urn, {}), RUN_TYPE, "job_type"):
        found += 1
    if not profile.has("dataJob", "dataTransformLogic"):
        found += sum(1 for urn, slots in state.cells.items() if SQL in slots and urn.startswith("urn:li:dataJob:"))
    return found
