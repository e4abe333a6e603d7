"""Aspects that only newer servers take: how many of a run were left out for its profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.unnamed_jobs import unnamed_job_urns
from dh_bridge.model.facts import RUN_TYPE, SQL
from dh_bridge.model.fold import value
from dh_bridge.model.precedence import TYPE_JOB

if TYPE_CHECKING:
    from collections.abc import Collection

    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options

_RUN_TYPE_NAME = "dataProcessInstance"
_JOB_URN_PREFIX = "urn:li:dataJob:"
_LOGIC_ASPECT = "dataJob", "dataTransformLogic"


def count_newer_aspects(states: Collection[RunState], options: Options) -> int:
    """Return how many aspects of runs the profile does not have: platform and subtype of the runs, SQL of their jobs."""
    has = options.profile.has_aspect
    has_platforms, has_subtypes, has_logic = (
        has(_RUN_TYPE_NAME, "dataPlatformInstance"),
        has(_RUN_TYPE_NAME, "subTypes"),
        has(*_LOGIC_ASPECT),
    )
    count = 0
    if not has_platforms:
        count += sum([1 for state in states if state.urn and state.jobs])
    if not has_subtypes:
        run_registers = [state.facts[state.urn] for state in states if state.urn in state.facts]
        count += sum(
            [1 for registers in run_registers if RUN_TYPE in registers and value(registers, RUN_TYPE, TYPE_JOB)]
        )
    if not has_logic:
        jobs = [(state, urn) for state in states for urn in state.jobs if SQL in state.facts.get(urn, ())]
        count += sum([urn not in unnamed_job_urns(state) for state, urn in jobs])
    return count
