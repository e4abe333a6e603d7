"""OpenLineage events of one callback, as Airflow's OpenLineage provider would have sent them.

The end of a run is sent together with its START, so that one call has the complete run. A repeated START changes
nothing.
"""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from dh_bridge.airflow.context import attribute, end_time, start_time
from dh_bridge.airflow.datasets import task_datasets
from dh_bridge.airflow.facets import (
    error_facet,
    graph_facet,
    job_facets,
    parent_facet,
    run_facets,
    run_names_in_conf,
    state_facet,
)
from dh_bridge.airflow.jsonable import to_list
from dh_bridge.airflow.run_ids import dag_run_id, task_run_id

if TYPE_CHECKING:
    from dh_bridge.airflow.context import CallbackContext
    from dh_bridge.airflow.facets import AirflowRunNames, Facets

#: Kind of callback -> the event that ends the run, and Airflow's state of a DAG run with this end.
ENDINGS = {
    "execute": (None, ""),
    "success": ("COMPLETE", "success"),
    "failure": ("FAIL", "failed"),
    "retry": ("FAIL", "failed"),
    "skipped": ("ABORT", "skipped"),
}
_SCHEMA_URL = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"


def build_events(context: CallbackContext, kind: str, namespace: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return START and end, or START alone (``kind`` execute), and the inlets and outlets that name no dataset."""
    if kind == "execute" and context.is_rescheduled:
        return [], []  # its START was sent when it first started
    if kind == "success" and context.is_skipped:
        if _has_skip_callback(context.task):
            return [], []
        kind = "skipped"
    name, run_id, parent = _run_identity(context, namespace)
    inputs, outputs, unresolved = task_datasets(context) if context.task is not None else ([], [], [])
    shared_run_facets = run_facets(context, parent, run_id)
    shared_job_facets = job_facets(context)
    ending, state = ENDINGS[kind]
    owner = context.dag_run if context.instance is None else context.instance
    begin = start_time(owner)
    now = datetime.now(timezone.utc)
    shared_members = {"producer": _producer(), "schemaURL": _SCHEMA_URL, "inputs": inputs, "outputs": outputs}
    run_events = []
    if begin is not None or ending is None:
        graph = graph_facet(context.dag) if context.instance is None else {}
        run_events.append({
            "eventType": "START", "eventTime": (begin or now).isoformat(),
            "run": {"runId": run_id, "facets": shared_run_facets},
            "job": {"namespace": namespace, "name": name, "facets": {**shared_job_facets, **graph}}, **shared_members,
        })  # fmt: skip
    if ending is not None:
        end_facets: Facets = error_facet(context.error) if ending == "FAIL" else {}
        if context.instance is None:
            end_facets |= state_facet(state)
        run_events.append({
            "eventType": ending, "eventTime": (end_time(owner) or now).isoformat(),
            "run": {"runId": run_id, "facets": {**shared_run_facets, **end_facets}},
            "job": {"namespace": namespace, "name": name, "facets": shared_job_facets}, **shared_members,
        })  # fmt: skip
    return run_events, unresolved


def _has_skip_callback(task: Any) -> bool:
    """Return whether a task has one of these callbacks for that: 2.10 also calls those for success if a task skipped itself."""
    callbacks = to_list(attribute(task, "on_skipped_callback"))
    return any(
        attribute(attribute(callback, "func") or callback, "__name__") == "emit_on_skipped" for callback in callbacks
    )


def run_names(context: CallbackContext, namespace: str) -> AirflowRunNames:
    """Return ``(namespace, job name, run id)`` of the run that a callback is called for."""
    name, run_id, _ = _run_identity(context, namespace)
    return namespace, name, run_id


def _run_identity(context: CallbackContext, namespace: str) -> tuple[str, str, Facets]:
    """Return job name, run id and parent facet."""
    dag_id, instant = context.dag_id, context.instant
    clear_number = attribute(context.dag_run, "clear_number")
    dag_run = dag_run_id(namespace, dag_id, instant, clear_number if isinstance(clear_number, int) else 0)
    conf = attribute(context.dag_run, "conf")
    parent, root = run_names_in_conf(conf, "parent"), run_names_in_conf(conf, "rootParent")
    if context.instance is None:
        return dag_id, dag_run, parent_facet(parent, root) if parent is not None else {}
    run_id = context.loop_try_id or task_run_id(
        namespace, dag_id, context.task_id, instant, try_number=context.try_number, map_index=context.map_index
    )
    return f"{dag_id}.{context.task_id}", run_id, parent_facet((namespace, dag_id, dag_run), root or parent)


def _producer() -> str:
    """Return a producer of Airflow's family, which gives jobs the platform ``airflow`` (mappings/producers/airflow.yaml)."""
    version = attribute(sys.modules.get("airflow"), "__version__")
    return (
        f"https://github.com/apache/airflow/tree/{version}"
        if isinstance(version, str)
        else "https://github.com/apache/airflow"
    )
