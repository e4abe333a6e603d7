"""The facets of a run and its job, by the keys under which Airflow's OpenLineage provider sends them.

Source: apache-airflow-providers-openlineage 2.20, ``utils/utils.py`` and ``plugins/adapter.py``.
"""

from __future__ import annotations

import sys
import traceback
import uuid
from typing import TYPE_CHECKING, Any

from dh_bridge.airflow.context import attribute
from dh_bridge.airflow.dag_facets import (
    dag_leaves,
    dag_run_leaves,
    graph_leaves,
    instance_leaves,
    operator_path,
    task_leaves,
)
from dh_bridge.airflow.facet_envelope import ADAPTER, custom, standard
from dh_bridge.airflow.jsonable import masked, plain
from dh_bridge.json_safe import said_by

if TYPE_CHECKING:
    from dh_bridge.airflow.context import Occasion

Facets = dict[str, dict[str, Any]]
#: (namespace, name, run id) of a run.
Names = tuple[str, str, str]

_LONGEST = 100_000
"""Characters of a stack trace or a documentation; what is more is cut, as events have to be."""
_DOCS = {
    "doc": "text/plain", "doc_md": "text/markdown", "doc_json": "application/json", "doc_yaml": "application/x-yaml",
    "doc_rst": "text/x-rst",
}  # fmt: skip
_NOBODY = "airflow"


def run_facets(occasion: Occasion, parent: Facets, run_id: str) -> Facets:
    """Return what START and end of a run have in common."""
    found: Facets = {**parent, **_nominal_time(occasion.dag_run), **_engine()}
    dag, dag_run = dag_leaves(occasion.dag), dag_run_leaves(occasion.dag_run)
    if occasion.instance is None:
        return {**found, "airflowDagRun": custom("RunFacet", dag=dag, dagRun=dag_run)}
    if occasion.map_index >= 0:
        mapped = custom("RunFacet", mapIndex=occasion.map_index, operatorClass=operator_path(occasion.task))
        found["airflow_mappedTask"] = mapped
    task, instance = task_leaves(occasion.task), instance_leaves(occasion)
    found["airflow"] = custom(
        "RunFacet", dag=dag, dagRun=dag_run, task=task, taskInstance=instance, taskUuid=run_id
    )  # fmt: skip
    return found


def job_facets(occasion: Occasion) -> Facets:
    """Return what START and end say of the job."""
    dag, task = occasion.dag, occasion.task
    kind = "DAG" if task is None else "TASK"
    found: Facets = {
        "jobType": standard("JobTypeJobFacet", jobType=kind, integration="AIRFLOW", processingType="BATCH")
    }
    text, form = _documentation(task) or _documentation(dag) or (attribute(dag, "description"), "text/plain")
    if isinstance(text, str) and text:
        found["documentation"] = standard("DocumentationJobFacet", description=text[:_LONGEST], contentType=form)
    owners = _owners(dag if task is None or attribute(task, "owner") in (None, _NOBODY) else task)
    if owners:
        found["ownership"] = standard("OwnershipJobFacet", owners=[{"name": name} for name in owners])
    tags = sorted(str(tag) for tag in plain(attribute(dag, "tags")) or ())
    if tags:
        found["tags"] = standard("TagsJobFacet", tags=[{"key": tag, "value": tag, "source": "AIRFLOW"} for tag in tags])
    return found


def graph_facet(dag: Any) -> Facets:
    """Return the job facet of a DAG's START: its tasks and what follows on what."""
    tasks = graph_leaves(dag)
    return {"airflow": custom("JobFacet", taskTree={}, taskGroups={}, tasks=tasks)} if tasks else {}


def state_facet(state: str) -> Facets:
    """Return how a DAG run ended, in Airflow's word; how its tasks did is told by their own callbacks."""
    return {"airflowState": custom("RunFacet", dagRunState=state, tasksState={}, tasksDuration={})}


def error_facet(error: BaseException | str | None) -> Facets:
    """Return message and stack trace under Airflow's mask; nothing without an error."""
    if error is None or error == "":
        return {}
    trace = None
    if isinstance(error, BaseException) and error.__traceback__ is not None:
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        trace = str(masked(trace))[-_LONGEST:]  # the end says what it was
    text = (error if isinstance(error, str) else said_by(error)) or type(error).__name__
    message = str(masked(text))[:_LONGEST]
    return {
        "errorMessage": standard(
            "ErrorMessageRunFacet", message=message, programmingLanguage="python", stackTrace=trace
        )
    }


def parent_facet(parent: Names, root: Names | None) -> Facets:
    """Return the parent of a run and the root of all, which is the parent where nobody named another."""
    top = root or parent
    return {
        "parent": standard(
            "ParentRunFacet",
            run={"runId": parent[2]}, job={"namespace": parent[0], "name": parent[1]},
            root={"run": {"runId": top[2]}, "job": {"namespace": top[0], "name": top[1]}},
        )
    }  # fmt: skip


def named_in_conf(conf: Any, kind: str) -> Names | None:
    """Return ``parent`` or ``rootParent`` of the DAG run, where its trigger named one in ``conf["openlineage"]``.

    All three names or none, and a run id that is a UUID, as the provider has it.
    """
    said = conf.get("openlineage") if isinstance(conf, dict) else None
    if not isinstance(said, dict):
        return None
    names = tuple(said.get(f"{kind}{part}") for part in ("JobNamespace", "JobName", "RunId"))
    if not all(isinstance(name, str) and name for name in names):
        return None
    try:
        uuid.UUID(names[2])
    except ValueError:
        return None
    return names  # type: ignore[return-value]  # three texts, as just seen


def _nominal_time(dag_run: Any) -> Facets:
    begin, end = (plain(attribute(dag_run, f"data_interval_{name}")) for name in ("start", "end"))
    if not begin:
        return {}
    return {"nominalTime": standard("NominalTimeRunFacet", nominalStartTime=begin, nominalEndTime=end)}


def _engine() -> Facets:
    version = attribute(sys.modules.get("airflow"), "__version__")
    if not isinstance(version, str):
        return {}
    return {
        "processing_engine": standard(
            "ProcessingEngineRunFacet", name="Airflow", version=version, openlineageAdapterVersion=ADAPTER
        )
    }


def _documentation(owner: Any) -> tuple[str, str] | None:
    for name, form in _DOCS.items():
        text = attribute(owner, name)
        if isinstance(text, str) and text:
            return text, form
    return None


def _owners(owner: Any) -> list[str]:
    said = attribute(owner, "owner")
    return sorted({name for part in said.split(",") if (name := part.strip())}) if isinstance(said, str) else []
