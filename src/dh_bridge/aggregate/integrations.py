"""Events of an unknown producer, some of which state the integration of their job (``jobType``) and some do not.

Hamilton states it in START alone. All events of the run then belong to the job of the integration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.model.facts import FLOW_JOB, JOB
from dh_bridge.model.fold import merge_elements
from dh_bridge.model.job import DEFAULT_PLATFORM

if TYPE_CHECKING:
    from dh_bridge.model.job import Job
    from dh_bridge.model.run_state import RunState


def resolve_integration(state: RunState) -> None:
    """Move the facts of a job without a known platform to the job of the same name that has one."""
    if len(state.jobs) < 2:
        return
    jobs = [job for job, _ in state.jobs.values() if not job.placeholder and not job.skip]
    stated_jobs = {(job.namespace, job.name): job for job in jobs if not _is_default(job)}
    for job in jobs:
        target = stated_jobs.get((job.namespace, job.name)) if _is_default(job) else None
        if target is not None:
            _move_job(state, job, target)


def _is_default(job: Job) -> bool:
    """Whether nothing gave the job its platform."""
    return job.platform == DEFAULT_PLATFORM and (job.producer_key or "").partition("|")[0] == ""


def _move_job(state: RunState, job: Job, target: Job) -> None:
    _, rank = state.jobs.pop(job.job_urn)
    state.jobs[target.job_urn] = (target, max(rank, state.jobs[target.job_urn][1]))
    for source_urn, target_urn in ((job.flow_urn, target.flow_urn), (job.job_urn, target.job_urn)):
        registers = state.facts.pop(source_urn, None) or {}
        for fact_kind, elements in registers.items():
            if fact_kind not in (JOB, FLOW_JOB):
                merge_elements(state.facts.setdefault(target_urn, {}).setdefault(fact_kind, {}), fact_kind, elements)
