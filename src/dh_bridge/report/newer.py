"""Aspects that only newer servers take: how many of a run were left out for its profile."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from dh_bridge.aggregate.unnamed_jobs import unnamed_job_urns
from dh_bridge.datahub.profiles import profile
from dh_bridge.model.facts import RUN_TYPE, SQL
from dh_bridge.model.fold import value
from dh_bridge.model.precedence import TYPE_JOB

if TYPE_CHECKING:
    from collections.abc import Collection

    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options

_RUN_PLATFORM = "dataProcessInstance", "dataPlatformInstance"
_RUN_SUBTYPES = "dataProcessInstance", "subTypes"
_JOB_LOGIC = "dataJob", "dataTransformLogic"


def count_newer_aspects(states: Collection[RunState], options: Options) -> int:
    """Return how many aspects of runs the profile does not have: platform and subtype of the runs, SQL of their jobs."""
    missing_aspects = _missing_aspects(options.profile.name)
    if not missing_aspects:
        return 0
    count = 0
    if _RUN_PLATFORM in missing_aspects:
        count += sum([1 for state in states if state.urn and state.jobs])
    if _RUN_SUBTYPES in missing_aspects:
        run_registers = [state.facts[state.urn] for state in states if state.urn in state.facts]
        count += sum(
            [1 for registers in run_registers if RUN_TYPE in registers and value(registers, RUN_TYPE, TYPE_JOB)]
        )
    if _JOB_LOGIC in missing_aspects:
        jobs = [(state, urn) for state in states for urn in state.jobs if SQL in state.facts.get(urn, ())]
        count += sum([urn not in unnamed_job_urns(state) for state, urn in jobs])
    return count


@cache
def _missing_aspects(version: str) -> frozenset[tuple[str, str]]:
    """Return the aspects that the profile of a version does not have."""
    has_aspect = profile(version).has_aspect
    return frozenset(aspect for aspect in (_RUN_PLATFORM, _RUN_SUBTYPES, _JOB_LOGIC) if not has_aspect(*aspect))
