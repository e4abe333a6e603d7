"""``mode: datahub-airflow-plugin``: its ids for flows, tasks and runs of tasks.

https://github.com/datahub-project/datahub/tree/master/metadata-ingestion-modules/airflow-plugin
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.urns import data_flow_urn, data_job_urn, datahub_guid, run_urn
from dh_bridge.identity.granularity import AIRFLOW_QUERY, OPERATION, TASK
from dh_bridge.model.job import AIRFLOW
from dh_bridge.settings.naming import FABRIC_TYPES

if TYPE_CHECKING:
    from dh_bridge.identity.hints import AirflowTask, Hints, RunReference
    from dh_bridge.identity.overlay import DefaultNames
    from dh_bridge.model.job import Job
    from dh_bridge.settings.identity import AirflowPluginSettings

PLATFORM = "airflow"
_QUERY = re.compile(rf"{AIRFLOW_QUERY}\Z")


class AirflowPlugin:
    """The plugin's ids for jobs that the default mode assigns to Airflow; other ids are not changed."""

    def __init__(self, settings: AirflowPluginSettings) -> None:
        self._settings = settings

    def replace_job(self, job: Job, hints: Hints, names: DefaultNames) -> Job:  # noqa: ARG002 - the modes' signature
        """Return the DAG as the flow and the task without the DAG's id; SQL of a task is a task that the plugin lacks."""
        if job.platform != PLATFORM or job.placeholder or job.skip:
            return job
        dag, task, dag_source = _split_name(job, hints)
        settings = self._settings
        flow = dag if job.instance is None else f"{job.instance}.{dag}"
        flow_urn = data_flow_urn(PLATFORM, flow, settings.cluster)
        fabric = settings.cluster.upper()
        return msgspec.structs.replace(
            job,
            level="flow" if task is None else "job",
            flow_urn=flow_urn,
            job_urn=data_job_urn(flow_urn, task or flow),
            flow_name=dag,
            job_name=task or dag,
            flow_id=flow,
            job_id=task or flow,
            cluster=settings.cluster,
            env=fabric if fabric in FABRIC_TYPES else None,
            rules=(f"mode: datahub-airflow-plugin, DAG by {dag_source}",),
            lints=(),
            foreign_owner=None if _QUERY.search(job.name) else AIRFLOW,
            # The plugin's clean-up soft-deletes tasks of its cluster that no DAG has.
            granularity=TASK if job.granularity == OPERATION else job.granularity,
        )

    def run_urn(self, reference: RunReference, event_job: Job, hints: Hints) -> str | None:
        """Return the plugin's id of a task's run: one for all its tries and mapped indexes; None for other runs."""
        if self._settings.runs == "openlineage":
            return None
        if reference[2] == hints.run_id:
            is_task = event_job.platform == PLATFORM and event_job.level == "job" and not is_query(hints)
            return self._task_run_urn(event_job.flow_name, event_job.job_name, hints.task) if is_task else None
        if hints.parent is not None and reference[2] == hints.parent[2]:
            parent_task = hints.parent_task
            return (
                self._task_run_urn(parent_task.dag_id, parent_task.task_id, parent_task)
                if parent_task.dag_id and parent_task.task_id
                else None
            )
        return None

    def _task_run_urn(self, dag: str, task: str, airflow_task: AirflowTask) -> str | None:
        if airflow_task.dag_run is None:
            return None
        return task_run_urn(self._settings.cluster, dag, task, airflow_task.dag_run)


def task_run_urn(cluster: str, dag: str, task: str, dag_run: str) -> str:
    """Return the plugin's URN of a task's run; ``dag_run`` is Airflow's own id of the DAG run."""
    return run_urn(datahub_guid({"cluster": cluster, "orchestrator": PLATFORM, "id": f"{dag}_{task}_{dag_run}"}))


def is_query(hints: Hints) -> bool:
    """Whether the event is about SQL that a task ran."""
    return (hints.job_type or "").upper() == "QUERY" or bool(not hints.job_type and _QUERY.search(hints.name))


def _split_name(job: Job, hints: Hints) -> tuple[str, str | None, str]:
    """Return DAG, task (None: the DAG itself), and the source of the DAG; other jobs of the DAG get the same result."""
    for dag, dag_source in _dag_candidates(hints):
        if job.name == dag:
            return dag, None, dag_source
        if job.name.startswith(f"{dag}."):
            return dag, job.name[len(dag) + 1 :], dag_source
    if job.level == "flow":
        return job.flow_name, None, "name"
    return job.flow_name, job.name.removeprefix(f"{job.flow_name}."), "name"


def _dag_candidates(hints: Hints) -> list[tuple[str, str]]:
    """Return the possible ids of the DAG in the event, the most reliable first."""
    candidates: list[tuple[str | None, str]] = []
    kind = (hints.job_type or "").upper()
    if kind == "DAG":
        candidates.append((hints.name, "jobType"))
    candidates.append((hints.task.dag_id, "airflow facet"))
    if is_query(hints):
        candidates.append((hints.root[1] if hints.root else None, "root"))
    elif kind in ("TASK", ""):
        candidates.append((hints.parent[1] if hints.parent else None, "parent"))
    return [(dag, dag_source) for dag, dag_source in candidates if dag]
