"""Tasks of Airflow that send no events of their own: empty operators, skipped tasks, those behind a failure.

That they are there stands in the START of their DAG, how they ended in the end of the DAG's run. Their runs are told with
`airflow.tasks_without_events: runs`. Whether a task was silent follows from what the DAG's run says alone, so that a point that was told
is never to be taken back.
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

#: A DAG of more tasks is written without its graph: each task is several proposals.
_MAX_TASKS = 1000
_STATES_WITHOUT_RUN = frozenset({"skipped", "upstream_failed", "removed"})
"""States that a task reaches without running; one that skips itself while it runs has sent events, and has a duration."""


def task_jobs(tasks: Collection[str], ctx: FacetContext) -> dict[str, Job]:
    """Return the jobs of a DAG's tasks by task id; none where the event's job is no DAG, or one of thousands."""
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
    """Fold into ``shared`` the runs of tasks that were silent in the DAG run ``state``."""
    registers = state.facts.get(state.urn, {})
    eventless, label = registers.get(EVENTLESS_TASK, {}), value(registers, RUN_NAME, NAME_DAG_RUN)
    for (task, time), (version, (job, airflow_state, has_run)) in registers.get(TASK_STATE, {}).items():
        if task in eventless or (airflow_state in _STATES_WITHOUT_RUN and not has_run):
            urn = _eventless_run_urn(job, state.run_id, label, options)
            if urn is not None:
                eventless_run = (job, state.urn, label or state.run_id, airflow_state)
                add_facts(shared, ((urn, EVENTLESS_RUN, time, eventless_run),), version)


def _eventless_run_urn(job: Job, dag_run: str, label: Any, options: Options) -> str | None:
    """Return the URN of a silent run: one for each task and DAG run; None where DataHub's plugin tells of runs itself."""
    if not options.identity.has_foreign_runs(job):
        return run_urn(datahub_guid({"name": job.name, "namespace": job.namespace, "runId": dag_run}))
    if options.settings.identity.airflow_plugin.runs != "plugin" or label is None:
        return None
    return task_run_urn(job.cluster, job.flow_name, job.job_name, str(label))
