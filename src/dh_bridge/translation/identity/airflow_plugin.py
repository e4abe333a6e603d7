"""``mode: join`` with DataHub's Airflow plugin: its ids for flows, tasks and runs of tasks.

https://github.com/datahub-project/datahub/tree/master/metadata-ingestion-modules/airflow-plugin
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.datahub.guid import datahub_guid
from dh_bridge.datahub.urns import data_flow_urn, data_job_urn, run_urn
from dh_bridge.settings.naming import FABRIC_TYPES
from dh_bridge.translation.identity.granularity import AIRFLOW_QUERY, OPERATION, TASK
from dh_bridge.translation.identity.job import AIRFLOW

if TYPE_CHECKING:
    from dh_bridge.settings.identity import AirflowJoin
    from dh_bridge.translation.identity import Identity
    from dh_bridge.translation.identity.hints import Hints, RunReference, Task
    from dh_bridge.translation.identity.job import Job

PLATFORM = "airflow"
_QUERY = re.compile(rf"{AIRFLOW_QUERY}\Z")


class AirflowPlugin:
    """The plugin's ids for what the default mode calls Airflow's; everything else stays as it is."""

    def __init__(self, settings: AirflowJoin) -> None:
        self._settings = settings

    def job(self, found: Job, hints: Hints, identity: Identity) -> Job:  # noqa: ARG002 - the modes' signature
        """Return the DAG as the flow and the task without the DAG's id; SQL of a task is a task that the plugin lacks."""
        if found.platform != PLATFORM or found.placeholder or found.skip:
            return found
        dag, task, why = _split(found, hints)
        said = self._settings
        flow = dag if said.platform_instance is None else f"{said.platform_instance}.{dag}"
        flow_urn = data_flow_urn(PLATFORM, flow, said.cluster)
        fabric = said.cluster.upper()
        return msgspec.structs.replace(
            found,
            level="flow" if task is None else "job",
            flow_urn=flow_urn,
            job_urn=data_job_urn(flow_urn, task or flow),
            flow_name=dag,
            job_name=task or dag,
            flow_id=flow,
            job_id=task or flow,
            cluster=said.cluster,
            instance=said.platform_instance,
            env=fabric if fabric in FABRIC_TYPES else None,
            rules=(f"join: airflow, DAG by {why}",),
            lints=(),
            joined=None if _QUERY.search(found.name) else AIRFLOW,
            # The plugin's clean-up soft-deletes tasks of its cluster that no DAG has.
            granularity=TASK if found.granularity == OPERATION else found.granularity,
        )

    def run(self, asked: RunReference, own: Job, hints: Hints) -> str | None:
        """Return the plugin's id of a task's run: one for all its tries and mapped indexes; None for other runs."""
        if self._settings.runs == "openlineage":
            return None
        if asked[2] == hints.run_id:
            is_task = own.platform == PLATFORM and own.level == "job" and not is_query(hints)
            return self._guid(own.flow_name, own.job_name, hints.task) if is_task else None
        if hints.parent is not None and asked[2] == hints.parent[2]:
            said = hints.parent_task
            return self._guid(said.dag_id, said.task_id, said) if said.dag_id and said.task_id else None
        return None

    def _guid(self, dag: str, task: str, said: Task) -> str | None:
        if said.dag_run is None:
            return None
        return task_run_urn(self._settings.cluster, dag, task, said.dag_run)


def task_run_urn(cluster: str, dag: str, task: str, dag_run: str) -> str:
    """Return the plugin's URN of a task's run; ``dag_run`` is Airflow's own id of the DAG run."""
    return run_urn(datahub_guid({"cluster": cluster, "orchestrator": PLATFORM, "id": f"{dag}_{task}_{dag_run}"}))


def is_query(hints: Hints) -> bool:
    """Whether the event is about SQL that a task ran."""
    return (hints.job_type or "").upper() == "QUERY" or bool(not hints.job_type and _QUERY.search(hints.name))


def _split(found: Job, hints: Hints) -> tuple[str, str | None, str]:
    """Return DAG, task (None: the DAG itself), and what told; names of other jobs of the event's DAG fall alike."""
    for dag, why in _dags(hints):
        if found.name == dag:
            return dag, None, why
        if found.name.startswith(f"{dag}."):
            return dag, found.name[len(dag) + 1 :], why
    if found.level == "flow":
        return found.flow_name, None, "name"
    return found.flow_name, found.name.removeprefix(f"{found.flow_name}."), "name"


def _dags(hints: Hints) -> list[tuple[str, str]]:
    """Return what the event says of the DAG's id, the surest first."""
    said: list[tuple[str | None, str]] = []
    kind = (hints.job_type or "").upper()
    if kind == "DAG":
        said.append((hints.name, "jobType"))
    said.append((hints.task.dag_id, "airflow facet"))
    if is_query(hints):
        said.append((hints.root[1] if hints.root else None, "root"))
    elif kind in ("TASK", ""):
        said.append((hints.parent[1] if hints.parent else None, "parent"))
    return [(dag, why) for dag, why in said if dag]
