"""Facets of the runs of Airflow's tasks (Airflow provider; old releases of OpenLineage's integration/airflow)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.airflow import dag_facts, dag_run_facts, nested_object, parse_names, without_keys
from dh_bridge.facet_support.airflow_assets import asset_facts, duplicate_asset_fields
from dh_bridge.facet_support.airflow_pages import flow_page_facts, run_page_facts
from dh_bridge.facet_support.engine import drop_repeated_fields
from dh_bridge.facet_support.facet_spec import (
    OpenFacet,
    as_property,
    attempt_fact,
    dropped,
    facet,
    mapped,
    property_fact,
)
from dh_bridge.facet_support.generic import drop_large_value, property_facet
from dh_bridge.facet_support.named_parameters import configuration
from dh_bridge.facet_support.repair import integer_of, text_of
from dh_bridge.model.facts import (
    ATTEMPT,
    CAN_RETRY,
    DURATION,
    JOB_EDGE,
    JOB_FIELD,
    JOB_PROPERTIES,
    OWNER,
    RUN_NAME,
    RUN_PROPERTIES,
    RUN_TYPE,
    RUN_URL,
    TAG,
    Facts,
)
from dh_bridge.model.precedence import ATTEMPT_AIRFLOW, NAME_TASK, TYPE_EXTERNAL_TRIGGER, URL_AIRFLOW_LOG, web_page_url
from dh_bridge.model.properties import digest_properties, flatten, present_property_text, property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


# -- airflow (run): the DAG, DAG run, task and task instance of a task's run (Airflow provider).

_TASK_FIELDS = frozenset((
    "task_id", "operator_class", "operator_class_path", "owner", "retries", "queue", "pool", "priority_weight", "trigger_rule",
    "sla", "depends_on_past", "wait_for_downstream", "email_on_failure", "email_on_retry", "execution_timeout",
    "max_active_tis_per_dag", "map_index", "is_setup", "is_teardown", "multiple_outputs", "deferrable",
    "operator_provider_version", "task_group", "trigger_dag_id", "trigger_run_id",
    "external_dag_id", "external_task_id", "external_task_ids",
))  # fmt: skip
_OBJECT_KEYS = ("dag", "dagRun", "task", "taskInstance")
_OTHER = JOB_PROPERTIES["airflow.task.other"]
#: Where DataHub's own types end: ``attempt`` is an int; a longer run is a slip.
_MAX_TRIES, _MAX_SECONDS = 2**31, 10**9

DAG_FIELD_OUTCOMES = {
    "dag.dag_id": as_property(JOB_PROPERTIES["airflow.dag_id"]),
    "dag.description": mapped(JOB_FIELD["description"], JOB_PROPERTIES),
    "dag.doc_md": mapped(JOB_FIELD["description"], JOB_PROPERTIES),
    "dag.owner": mapped(OWNER, JOB_PROPERTIES),
    "dag.tags": mapped(TAG, JOB_PROPERTIES),
    "dag.tags[]": mapped(TAG),
    "dag.**": as_property(JOB_PROPERTIES),
    "dagRun.run_id": mapped(RUN_NAME, RUN_PROPERTIES),
    "dagRun.run_type": mapped(RUN_TYPE, RUN_PROPERTIES),
    "dagRun.external_trigger": mapped(RUN_TYPE, RUN_PROPERTIES),
    "dagRun.**": as_property(),
}


@facet(
    "airflow",
    attach="run",
    outcomes={
        **DAG_FIELD_OUTCOMES,
        "task.upstream_task_ids": mapped(JOB_EDGE, _OTHER),
        "task.upstream_task_ids[]": mapped(JOB_EDGE, _OTHER),
        **{
            f"task.{field_name}": mapped(JOB_PROPERTIES, JOB_EDGE)
            for field_name in ("external_dag_id", "external_task_id", "external_task_ids", "external_task_ids[]")
        },
        "task.**": as_property(JOB_PROPERTIES, _OTHER),
        "taskInstance.try_number": mapped(ATTEMPT, RUN_PROPERTIES),
        "taskInstance.log_url": mapped(RUN_URL, RUN_PROPERTIES),
        "taskInstance.duration": mapped(DURATION, RUN_PROPERTIES),
        "taskInstance.**": as_property(),
        "**": as_property(),
    },
    producer="Airflow",
)
def airflow(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """The DAG is written as properties of the flow, the task of the job, and DAG run and task instance of the run. Upstream tasks become edges between jobs."""
    content = facet.content
    task, task_instance, dag_run = (
        nested_object(content, "task"),
        nested_object(content, "taskInstance"),
        nested_object(content, "dagRun"),
    )
    yield from dag_facts(nested_object(content, "dag"), ctx)
    yield from dag_run_facts(without_keys(dag_run, ("run_id",)), ctx, precedence=NAME_TASK)
    yield from _run_name_facts(dag_run, task_instance, ctx)
    yield from _task_facts(task, nested_object(content, "dag"), ctx)
    yield from _task_instance_facts(task_instance, ctx)
    if ctx.options.settings.runs.up_for_retry:
        yield from _tries_left_facts(task_instance.get("try_number"), task.get("retries"), ctx)
    yield from run_page_facts(
        nested_object(content, "dag").get("dag_id"),
        dag_run,
        ctx,
        task=task.get("task_id"),
        index=task_instance.get("map_index"),
    )
    yield from flow_page_facts(nested_object(content, "dag").get("dag_id"), ctx)
    properties = flatten("airflow.dagRun", serialize_conf(dag_run, ctx))
    flatten("airflow.taskInstance", task_instance, properties)
    object_keys = [name for name in _OBJECT_KEYS if isinstance(content.get(name), dict)]
    flatten("airflow", without_keys(content, ("taskUuid", *object_keys)), properties)
    uuid = content.get("taskUuid")
    if uuid == ctx.event.run_id:
        ctx.note_dropped("taskUuid", "duplicate-of:run.runId")
    elif uuid is not None:
        properties["airflow.taskUuid"] = present_property_text("airflow.taskUuid", uuid)
    if properties:
        yield property_fact(ctx, properties)


def serialize_conf(dag_run: dict[str, Any], ctx: FacetContext) -> dict[str, Any]:
    """Return the DAG run with its open ``conf`` map as one JSON text."""
    conf = dag_run.get("conf")
    if not isinstance(conf, dict):
        return dag_run
    conf = configuration(conf, "dagRun.conf", ctx)
    return {**dag_run, "conf": property_text("airflow.dagRun.conf", conf) if conf else None}


def _run_name_facts(dag_run: dict[str, Any], task_instance: dict[str, Any], ctx: FacetContext) -> Facts:
    """Yield the label of a task's run: ``<dag run id>[map_index] #try``."""
    run_id = text_of(dag_run.get("run_id"))
    if not run_id:
        return
    index, tries = integer_of(task_instance.get("map_index")), integer_of(task_instance.get("try_number"))
    label = f"{run_id}[{index}]" if index is not None and index >= 0 else run_id
    yield ctx.run_urn, RUN_NAME, NAME_TASK, label if tries is None else f"{label} #{tries}"


def _task_facts(task: dict[str, Any], dag: dict[str, Any], ctx: FacetContext) -> Facts:
    if not task or ctx.job is None:
        return
    task_fields = {key: value for key, value in task.items() if key in _TASK_FIELDS}
    properties = flatten("airflow.task", task_fields)
    has_task_graph = ctx.options.settings.airflow.task_graph
    handled_fields = (*_TASK_FIELDS, "upstream_task_ids") if has_task_graph else _TASK_FIELDS
    duplicate_fields = duplicate_asset_fields(task)
    for field_name in duplicate_fields:
        ctx.note_dropped(f"task.{field_name}", f"duplicate-of:task.{field_name}_list")
    other_fields = property_text("airflow.task.other", without_keys(task, (*handled_fields, *duplicate_fields)))
    if other_fields and other_fields != "{}":
        properties["airflow.task.other"] = other_fields
    if properties:
        yield ctx.owner_urn, JOB_PROPERTIES, "airflow.task", properties
    dag_id = dag.get("dag_id")
    if not has_task_graph:
        ctx.note_outcome("task.upstream_task_ids", _OTHER)
    elif ctx.job.level == "job" and isinstance(dag_id, str):
        upstream_tasks = parse_names(task.get("upstream_task_ids") or "")
        if not upstream_tasks:
            ctx.note_dropped("task.upstream_task_ids", "no-field:no upstream tasks")
        for upstream in upstream_tasks:
            job = ctx.identity.job(ctx.event.namespace, f"{dag_id}.{upstream}", ctx.sender)
            yield ctx.task_urn, JOB_EDGE, job.job_urn, {}
        yield from _external_task_facts(task, ctx)
    yield from asset_facts(task, ctx)


def _external_task_facts(task: dict[str, Any], ctx: FacetContext) -> Facts:
    """Yield the tasks of another DAG that a sensor waits for; a marker names those that wait for it."""
    dag_id = task.get("external_dag_id")
    if not isinstance(dag_id, str) or not dag_id or str(task.get("operator_class")).endswith("Marker"):
        return  # a DAG is no job, so such an edge is invalid
    for name in parse_names(task.get("external_task_ids") or task.get("external_task_id") or ""):
        job = ctx.identity.job(ctx.event.namespace, f"{dag_id}.{name}", ctx.sender)
        if job.level == "job" and not job.placeholder and not job.skip:
            yield ctx.task_urn, JOB_EDGE, job.job_urn, {}


def _task_instance_facts(task_instance: dict[str, Any], ctx: FacetContext) -> Facts:
    tries, duration = integer_of(task_instance.get("try_number")), task_instance.get("duration")
    if tries is not None and 0 < tries < _MAX_TRIES:
        yield attempt_fact(ctx, ATTEMPT_AIRFLOW, tries)
    url = web_page_url(task_instance.get("log_url"))
    if url is not None:
        yield ctx.run_urn, RUN_URL, URL_AIRFLOW_LOG, url
    if isinstance(duration, (int, float)) and not isinstance(duration, bool) and 0 <= duration < _MAX_SECONDS:
        yield ctx.run_urn, DURATION, "", float(duration)


def _tries_left_facts(tries: Any, retries: Any, ctx: FacetContext) -> Facts:
    """Yield whether Airflow tries again after this try; ``retries`` are those after the first try."""
    tries, retries = integer_of(tries), integer_of(retries)
    if tries is not None and tries > 0 and retries is not None:
        yield ctx.run_urn, CAN_RETRY, str(tries), tries <= retries


# -- airflow_mappedTask (run): the index of a mapped task (Airflow provider).

airflow_mapped_task = property_facet(
    "airflow_mappedTask", attach="run", doc="Map index and operator.", producer="Airflow"
)


# -- airflow_runArgs (run): whether the DAG was triggered from outside (old releases of OpenLineage's integration/airflow).


@facet(
    "airflow_runArgs",
    attach="run",
    outcomes={"externalTrigger": mapped(RUN_TYPE, RUN_PROPERTIES), "**": as_property()},
    producer="Airflow",
)
def airflow_run_args(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Properties of the run. A run with an external trigger has the type BATCH_AD_HOC, unless another facet states its type."""
    properties = flatten("airflow_runArgs", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    if facet.content.get("externalTrigger") is True:
        yield ctx.run_urn, RUN_TYPE, TYPE_EXTERNAL_TRIGGER, True


# -- airflow_version (run): versions, operator and a dump of the task (old releases of OpenLineage's integration/airflow).

_ENGINE_FIELDS = {"airflowVersion": "version", "openlineageAirflowVersion": "adapter"}


@facet(
    "airflow_version",
    attach="run",
    outcomes={"taskInfo": dropped("too-large"), "taskInfo**": dropped("too-large"), "**": as_property()},
    producer="Airflow",
)
def airflow_version(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Operator and versions, as properties of the run. Versions that processing_engine repeats are dropped. Of taskInfo, only hash and size are written."""
    content, properties = drop_large_value("airflow_version", facet.content, "taskInfo", "too-large", ctx)
    flatten("airflow_version", drop_repeated_fields(ctx, content, _ENGINE_FIELDS), properties)
    if properties:
        yield property_fact(ctx, properties)


# -- unknownSourceAttribute (run): the attributes of an operator without an extractor (Airflow, deprecated).


@facet(
    "unknownSourceAttribute",
    attach="run",
    outcomes={
        "unknownItems[].name": as_property(),
        "unknownItems[].type": as_property(),
        "**": dropped("bulk"),
    },
    producer="Airflow",
)
def unknown_source_attribute(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Names and types of the items. Their properties repeat airflow.task and are dropped; hash and size are stored."""
    items = facet.content.get("unknownItems")
    properties = digest_properties("unknownSourceAttribute", bytes(ctx.raw))
    rows = [
        {key: text for key in ("name", "type") if (text := text_of(item.get(key)))}
        for item in (items if isinstance(items, list) else [])
        if isinstance(item, dict)
    ]
    if rows:
        key = "unknownSourceAttribute.unknownItems"
        properties[key] = present_property_text(key, rows)
    yield property_fact(ctx, properties)
