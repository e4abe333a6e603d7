"""OpenLineage events of one callback, as Airflow's OpenLineage provider would have sent them.

The end of a run is told together with its START: a call that holds both gives the whole run, and saying a START
twice changes nothing.
"""

from __future__ import annotations

import sys
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from dh_bridge.airflow.context import attribute, ended, started
from dh_bridge.airflow.datasets import datasets
from dh_bridge.airflow.facets import (
    error_facet,
    graph_facet,
    job_facets,
    named_in_conf,
    parent_facet,
    run_facets,
    state_facet,
)
from dh_bridge.airflow.jsonable import listed
from dh_bridge.airflow.run_ids import dag_run_id, task_run_id

if TYPE_CHECKING:
    from dh_bridge.airflow.context import Occasion
    from dh_bridge.airflow.facets import Facets, Names

#: What a callback is called for -> the event that ends the run, and Airflow's word for a DAG run that ended so.
ENDINGS = {
    "execute": (None, ""),
    "success": ("COMPLETE", "success"),
    "failure": ("FAIL", "failed"),
    "retry": ("FAIL", "failed"),
    "skipped": ("ABORT", "skipped"),
}
_SCHEMA = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"


def events(occasion: Occasion, kind: str, namespace: str) -> tuple[list[dict[str, Any]], list[str]]:
    """Return START and end, or START alone (``kind`` execute), and the inlets and outlets that name no dataset."""
    if kind == "execute" and occasion.rescheduled:
        return [], []  # its START was told when it first started
    if kind == "success" and occasion.skipped:
        if _tells_of_skipping(occasion.task):
            return [], []
        kind = "skipped"
    name, run_id, parent = _names(occasion, namespace)
    inputs, outputs, nameless = datasets(occasion) if occasion.task is not None else ([], [], [])
    common = run_facets(occasion, parent, run_id)
    about_job = job_facets(occasion)
    ending, state = ENDINGS[kind]
    owner = occasion.dag_run if occasion.instance is None else occasion.instance
    begin = started(owner)
    now = datetime.now(timezone.utc)
    said = {"producer": _producer(), "schemaURL": _SCHEMA, "inputs": inputs, "outputs": outputs}
    found = []
    if begin is not None or ending is None:
        graph = graph_facet(occasion.dag) if occasion.instance is None else {}
        found.append({
            "eventType": "START", "eventTime": (begin or now).isoformat(),
            "run": {"runId": run_id, "facets": common},
            "job": {"namespace": namespace, "name": name, "facets": {**about_job, **graph}}, **said,
        })  # fmt: skip
    if ending is not None:
        more: Facets = error_facet(occasion.error) if ending == "FAIL" else {}
        if occasion.instance is None:
            more |= state_facet(state)
        found.append({
            "eventType": ending, "eventTime": (ended(owner) or now).isoformat(),
            "run": {"runId": run_id, "facets": {**common, **more}},
            "job": {"namespace": namespace, "name": name, "facets": about_job}, **said,
        })  # fmt: skip
    return found, nameless


def _tells_of_skipping(task: Any) -> bool:
    """Whether a task has a callback of ours for that: 2.10 calls those for success as well when a task skipped itself."""
    callbacks = listed(attribute(task, "on_skipped_callback"))
    return any(attribute(attribute(one, "func") or one, "__name__") == "emit_on_skipped" for one in callbacks)


def run_names(occasion: Occasion, namespace: str) -> Names:
    """Return ``(namespace, job name, run id)`` of the run that a callback is called for."""
    name, run_id, _ = _names(occasion, namespace)
    return namespace, name, run_id


def _names(occasion: Occasion, namespace: str) -> tuple[str, str, Facets]:
    """Return job name, run id and parent facet."""
    dag_id, instant = occasion.dag_id, occasion.instant
    clear_number = attribute(occasion.dag_run, "clear_number")
    dag_run = dag_run_id(namespace, dag_id, instant, clear_number if isinstance(clear_number, int) else 0)
    conf = attribute(occasion.dag_run, "conf")
    parent, root = named_in_conf(conf, "parent"), named_in_conf(conf, "rootParent")
    if occasion.instance is None:
        return dag_id, dag_run, parent_facet(parent, root) if parent is not None else {}
    run_id = occasion.id_in_loop or task_run_id(
        namespace, dag_id, occasion.task_id, instant, try_number=occasion.try_number, map_index=occasion.map_index
    )
    return f"{dag_id}.{occasion.task_id}", run_id, parent_facet((namespace, dag_id, dag_run), root or parent)


def _producer() -> str:
    """Return a producer of Airflow's family, which gives jobs the platform ``airflow`` (mappings/producers/airflow.yaml)."""
    version = attribute(sys.modules.get("airflow"), "__version__")
    return (
        f"https://github.com/apache/airflow/tree/{version}"
        if isinstance(version, str)
        else "https://github.com/apache/airflow"
    )
