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
    dag_fields,
    dag_run_fields,
    graph_fields,
    instance_fields,
    operator_path,
    task_fields,
)
from dh_bridge.airflow.facet_envelope import ADAPTER, custom_facet, standard_facet
from dh_bridge.airflow.jsonable import mask_secrets, to_jsonable
from dh_bridge.json_safe import error_text

if TYPE_CHECKING:
    from dh_bridge.airflow.context import CallbackContext

Facets = dict[str, dict[str, Any]]
#: (namespace, name, run id) of a run.
AirflowRunNames = tuple[str, str, str]

_MAX_TEXT_CHARS = 100_000
"""Maximal characters of a stack trace or a documentation; longer texts are cut, because events are limited."""
_DOC_CONTENT_TYPES = {
    "doc": "text/plain", "doc_md": "text/markdown", "doc_json": "application/json", "doc_yaml": "application/x-yaml",
    "doc_rst": "text/x-rst",
}  # fmt: skip
_DEFAULT_OWNER = "airflow"


def run_facets(context: CallbackContext, parent: Facets, run_id: str) -> Facets:
    """Return what START and end of a run have in common."""
    facets: Facets = {**parent, **_nominal_time_facet(context.dag_run), **_engine_facet()}
    dag, dag_run = dag_fields(context.dag), dag_run_fields(context.dag_run)
    if context.instance is None:
        return {**facets, "airflowDagRun": custom_facet("RunFacet", dag=dag, dagRun=dag_run)}
    if context.map_index >= 0:
        mapped_task = custom_facet("RunFacet", mapIndex=context.map_index, operatorClass=operator_path(context.task))
        facets["airflow_mappedTask"] = mapped_task
    task, instance = task_fields(context.task), instance_fields(context)
    facets["airflow"] = custom_facet(
        "RunFacet", dag=dag, dagRun=dag_run, task=task, taskInstance=instance, taskUuid=run_id
    )  # fmt: skip
    return facets


def job_facets(context: CallbackContext) -> Facets:
    """Return the facets of the job, for START and end."""
    dag, task = context.dag, context.task
    kind = "DAG" if task is None else "TASK"
    facets: Facets = {
        "jobType": standard_facet("JobTypeJobFacet", jobType=kind, integration="AIRFLOW", processingType="BATCH")
    }
    text, content_type = _documentation(task) or _documentation(dag) or (attribute(dag, "description"), "text/plain")
    if isinstance(text, str) and text:
        facets["documentation"] = standard_facet(
            "DocumentationJobFacet", description=text[:_MAX_TEXT_CHARS], contentType=content_type
        )
    owners = _owners(dag if task is None or attribute(task, "owner") in (None, _DEFAULT_OWNER) else task)
    if owners:
        facets["ownership"] = standard_facet("OwnershipJobFacet", owners=[{"name": name} for name in owners])
    tags = sorted(str(tag) for tag in to_jsonable(attribute(dag, "tags")) or ())
    if tags:
        facets["tags"] = standard_facet(
            "TagsJobFacet", tags=[{"key": tag, "value": tag, "source": "AIRFLOW"} for tag in tags]
        )
    return facets


def graph_facet(dag: Any) -> Facets:
    """Return the job facet of a DAG's START: its tasks and what follows on what."""
    tasks = graph_fields(dag)
    return {"airflow": custom_facet("JobFacet", taskTree={}, taskGroups={}, tasks=tasks)} if tasks else {}


def state_facet(state: str) -> Facets:
    """Return the state of a DAG run in Airflow's terms; the states of its tasks are reported by their own callbacks."""
    return {"airflowState": custom_facet("RunFacet", dagRunState=state, tasksState={}, tasksDuration={})}


def error_facet(error: BaseException | str | None) -> Facets:
    """Return message and stack trace under Airflow's mask; nothing without an error."""
    if error is None or error == "":
        return {}
    trace = None
    if isinstance(error, BaseException) and error.__traceback__ is not None:
        trace = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        trace = str(mask_secrets(trace))[-_MAX_TEXT_CHARS:]  # the end of a trace has the error
    text = (error if isinstance(error, str) else error_text(error)) or type(error).__name__
    message = str(mask_secrets(text))[:_MAX_TEXT_CHARS]
    return {
        "errorMessage": standard_facet(
            "ErrorMessageRunFacet", message=message, programmingLanguage="python", stackTrace=trace
        )
    }


def parent_facet(parent: AirflowRunNames, root: AirflowRunNames | None) -> Facets:
    """Return the parent of a run and the root of all; the root is the parent if no other root is stated."""
    root_names = root or parent
    return {
        "parent": standard_facet(
            "ParentRunFacet",
            run={"runId": parent[2]}, job={"namespace": parent[0], "name": parent[1]},
            root={"run": {"runId": root_names[2]}, "job": {"namespace": root_names[0], "name": root_names[1]}},
        )
    }  # fmt: skip


def run_names_in_conf(conf: Any, kind: str) -> AirflowRunNames | None:
    """Return ``parent`` or ``rootParent`` of the DAG run, where its trigger named one in ``conf["openlineage"]``.

    All three names or none, and a run id that is a UUID, as the provider has it.
    """
    lineage_conf = conf.get("openlineage") if isinstance(conf, dict) else None
    if not isinstance(lineage_conf, dict):
        return None
    names = tuple(lineage_conf.get(f"{kind}{part}") for part in ("JobNamespace", "JobName", "RunId"))
    if not all(isinstance(name, str) and name for name in names):
        return None
    try:
        uuid.UUID(names[2])
    except ValueError:
        return None
    return names  # type: ignore[return-value]  # three texts, as just seen


def _nominal_time_facet(dag_run: Any) -> Facets:
    begin, end = (to_jsonable(attribute(dag_run, f"data_interval_{name}")) for name in ("start", "end"))
    if not begin:
        return {}
    return {"nominalTime": standard_facet("NominalTimeRunFacet", nominalStartTime=begin, nominalEndTime=end)}


def _engine_facet() -> Facets:
    version = attribute(sys.modules.get("airflow"), "__version__")
    if not isinstance(version, str):
        return {}
    return {
        "processing_engine": standard_facet(
            "ProcessingEngineRunFacet", name="Airflow", version=version, openlineageAdapterVersion=ADAPTER
        )
    }


def _documentation(owner: Any) -> tuple[str, str] | None:
    for name, content_type in _DOC_CONTENT_TYPES.items():
        text = attribute(owner, name)
        if isinstance(text, str) and text:
            return text, content_type
    return None


def _owners(owner: Any) -> list[str]:
    owner_text = attribute(owner, "owner")
    return (
        sorted({name for part in owner_text.split(",") if (name := part.strip())})
        if isinstance(owner_text, str)
        else []
    )
