"""Tasks of Airflow that send no events of their own: empty operators, skipped tasks, those behind a failure.

That they are there stands in the START of their DAG, how they ended in the end of the DAG's run. Their runs are told with
`airflow.silent_tasks: runs`. Whether a task was silent follows from what the DAG's run says alone, so that a point that was told
is never to be taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.datahub.guid import datahub_guid
from dh_bridge.datahub.urns import run_urn
from dh_bridge.translation.facts import QUIET_TASK, RUN_NAME, SILENT_RUN, TASK_STATE
from dh_bridge.translation.fold import Cells, fold, value
from dh_bridge.translation.identity.airflow_plugin import task_run_urn
from dh_bridge.translation.precedence import NAME_DAG_RUN

if TYPE_CHECKING:
    from collections.abc import Collection

    from dh_bridge.translation.context import Place
    from dh_bridge.translation.identity import Job
    from dh_bridge.translation.options import Options
    from dh_bridge.translation.runstate import RunState

#: A DAG of more tasks is written without its graph: each task is several proposals.
_MOST_TASKS = 1000
_NEVER_RAN = frozenset({"skipped", "upstream_failed", "removed"})
"""States that a task reaches without running; one that skips itself while it runs has sent events, and has a duration."""


def task_jobs(tasks: Collection[str], at: Place) -> dict[str, Job]:
    """Return the jobs of a DAG's tasks by task id; none where the event's job is no DAG, or one of thousands."""
    flow = at.job
    if len(tasks) > _MOST_TASKS or flow is None or flow.placeholder or flow.skip or flow.level != "flow":
        return {}
    found = {task: at.identity.job(at.event.namespace, f"{at.event.name}.{task}", at.event.producer) for task in tasks}
    return {
        task: job
        for task, job in found.items()
        if job.flow_urn == flow.flow_urn and job.level == "job" and not job.placeholder and not job.skip
    }


def tell_silent(state: RunState, shared: Cells, options: Options) -> None:
    """Fold into ``shared`` the runs of tasks that were silent in the DAG run ``state``."""
    slots = state.cells.get(state.urn, {})
    quiet, label = slots.get(QUIET_TASK, {}), value(slots, RUN_NAME, NAME_DAG_RUN)
    for (task, time), (stamp, (job, word, ran)) in slots.get(TASK_STATE, {}).items():
        if task in quiet or (word in _NEVER_RAN and not ran):
            urn = _urn(job, state.run_id, label, options)
            if urn is not None:
                said = (job, state.urn, label or state.run_id, word)
                fold(shared, ((urn, SILENT_RUN, time, said),), stamp)


def _urn(job: Job, dag_run: str, label: Any, options: Options) -> str | None:
    """Return the URN of a silent run: one for each task and DAG run; None where DataHub's plugin tells of runs itself."""
    if not options.identity.joins_runs(job):
        return run_urn(datahub_guid({"name": job.name, "namespace": job.namespace, "runId": dag_run}))
    joined = options.settings.identity.join.airflow
    if joined.runs != "plugin" or label is None:
        return None
    return task_run_urn(joined.cluster, job.flow_name, job.job_name, str(label))
