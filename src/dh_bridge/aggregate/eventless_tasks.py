"""Airflow tasks without events of their own: empty operators, skipped tasks, and tasks after a failure.

The START of their DAG lists them, and the end of the DAG's run has their states. `airflow.tasks_without_events: runs` writes
their runs. Whether a task sent events follows from the DAG's run alone, so a written point is never withdrawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.urns import datahub_guid, run_urn
from dh_bridge.identity.airflow_plugin import task_run_urn
from dh_bridge.model.facts import EVENTLESS_RUN, EVENTLESS_TASK, RUN_NAME, TASK_STATE
from dh_bridge.model.fold import FactsByEntity, add_facts, value
from dh_bridge.model.precedence import NAME_DAG_RUN

if TYPE_CHECKING:
    from collections.abc import Collection

    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.identity import Job
    from dh_bridge.model.run_state import RunState
    from dh_bridge.options import Options

#: A DAG with more tasks is written without its graph: each task is several proposals.
_MAX_TASKS = 1000
_STATES_WITHOUT_RUN = frozenset({"skipped", "upstream_failed", "removed"})
"""States that a task reaches without running. A task that skips itself while it runs has events and a duration."""


def task_jobs(tasks: Collection[str], ctx: FacetContext) -> dict[str, Job]:
    """Return the jobs of a DAG's tasks by task id; empty if the event's job is no DAG, or has thousands of tasks."""
    flow = ctx.job
    if len(tasks) > _MAX_TASKS or flow is None or flow.placeholder or flow.skip or flow.level != "flow":
        return {}
    jobs = {task: ctx.identity.job(ctx.event.namespace, f"{ctx.event.name}.{task}", ctx.sender) for task in tasks}
    return {
        task: job
        for task, job in jobs.items()
        if job.flow_urn == flow.flow_urn and job.level == "job" and not job.placeholder and not job.skip
    }


def add_eventless_runs(state: RunState, shared: FactsByEntity, options: Options) -> None:
    """Add to ``shared`` the runs of tasks without events in the DAG run ``state``."""
    registers = state.facts.get(state.urn, {})
    eventless, label = registers.get(EVENTLESS_TASK, {}), value(registers, RUN_NAME, NAME_DAG_RUN)
    for (task, time), (version, (job, airflow_state, has_run)) in registers.get(TASK_STATE, {}).items():
        if task in eventless or (airflow_state in _STATES_WITHOUT_RUN and not has_run):
            urn = _eventless_run_urn(job, state.run_id, label, options)
            if urn is not None:
                eventless_run = (job, state.urn, label or state.run_id, airflow_state)
                add_facts(shared, ((urn, EVENTLESS_RUN, time, eventless_run),), version)


def _eventless_run_urn(job: Job, dag_run: str, label: Any, options: Options) -> str | None:
    """Return the URN of a run without events: one for each task and DAG run; None if DataHub's plugin writes runs itself."""
    if not options.identity.has_foreign_runs(job):
        return run_urn(datahub_guid({"name": job.name, "namespace": job.namespace, "runId": dag_run}))
    if options.settings.identity.airflow_plugin.runs != "plugin" or label is None:
        return None
    return task_run_urn(job.cluster, job.flow_name, job.job_name, str(label))
