"""airflow (run): the DAG, DAG run, task and task instance of a task's run (Airflow provider)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import (
    ATTEMPT,
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
    TRIES_LEFT,
    Statements,
)
from dh_bridge.translation.precedence import ATTEMPT_AIRFLOW, NAME_TASK, URL_AIRFLOW_LOG, page
from dh_bridge.translation.properties import flattened, worded
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.reading.airflow import dag_run_statements, dag_statements, part, without
from dh_bridge.translation.reading.airflow import members as listed
from dh_bridge.translation.reading.airflow_assets import asset_statements, told_twice
from dh_bridge.translation.reading.airflow_pages import flow_page_statements, page_statements
from dh_bridge.translation.reading.given import configuration
from dh_bridge.translation.repair import text_of, whole_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_TASK_LEAVES = frozenset((
    "task_id", "operator_class", "operator_class_path", "owner", "retries", "queue", "pool", "priority_weight", "trigger_rule",
    "sla", "depends_on_past", "wait_for_downstream", "email_on_failure", "email_on_retry", "execution_timeout",
    "max_active_tis_per_dag", "map_index", "is_setup", "is_teardown", "multiple_outputs", "deferrable",
    "operator_provider_version", "task_group", "trigger_dag_id", "trigger_run_id",
    "external_dag_id", "external_task_id", "external_task_ids",
))  # fmt: skip
_PARTS = ("dag", "dagRun", "task", "taskInstance")
_OTHER = JOB_PROPERTIES["airflow.task.other"]
#: Where DataHub's own types end: ``attempt`` is an int; a longer run is a slip.
_MOST_TRIES, _MOST_SECONDS = 2**31, 10**9

DAG_LEAVES = {
    "dag.dag_id": kept(JOB_PROPERTIES["airflow.dag_id"]),
    "dag.description": mapped(JOB_FIELD["description"], JOB_PROPERTIES),
    "dag.doc_md": mapped(JOB_FIELD["description"], JOB_PROPERTIES),
    "dag.owner": mapped(OWNER, JOB_PROPERTIES),
    "dag.tags": mapped(TAG, JOB_PROPERTIES),
    "dag.tags[]": mapped(TAG),
    "dag.**": kept(JOB_PROPERTIES),
    "dagRun.run_id": mapped(RUN_NAME, RUN_PROPERTIES),
    "dagRun.run_type": mapped(RUN_TYPE, RUN_PROPERTIES),
    "dagRun.external_trigger": mapped(RUN_TYPE, RUN_PROPERTIES),
    "dagRun.**": kept(),
}


@facet(
    "airflow",
    at="run",
    leaves={
        **DAG_LEAVES,
        "task.upstream_task_ids": mapped(JOB_EDGE, _OTHER),
        "task.upstream_task_ids[]": mapped(JOB_EDGE, _OTHER),
        **{
            f"task.{leaf}": mapped(JOB_PROPERTIES, JOB_EDGE)
            for leaf in ("external_dag_id", "external_task_id", "external_task_ids", "external_task_ids[]")
        },
        "task.**": kept(JOB_PROPERTIES, _OTHER),
        "taskInstance.try_number": mapped(ATTEMPT, RUN_PROPERTIES),
        "taskInstance.log_url": mapped(RUN_URL, RUN_PROPERTIES),
        "taskInstance.duration": mapped(DURATION, RUN_PROPERTIES),
        "taskInstance.**": kept(),
        "**": kept(),
    },
    producer="Airflow",
)
def airflow(opened: Open, at: Place) -> Statements:
    """DAG to the flow, task to the job, DAG run and task instance to the run; upstream tasks become job edges."""
    body = opened.body
    task, instance, dag_run = part(body, "task"), part(body, "taskInstance"), part(body, "dagRun")
    yield from dag_statements(part(body, "dag"), at)
    yield from dag_run_statements(without(dag_run, ("run_id",)), at, rung=NAME_TASK)
    yield from _name(dag_run, instance, at)
    yield from _task(task, part(body, "dag"), at)
    yield from _instance(instance, at)
    if at.options.settings.runs.up_for_retry:
        yield from _tries_left(instance.get("try_number"), task.get("retries"), at)
    yield from page_statements(
        part(body, "dag").get("dag_id"), dag_run, at, task=task.get("task_id"), index=instance.get("map_index")
    )
    yield from flow_page_statements(part(body, "dag").get("dag_id"), at)
    properties = flattened("airflow.dagRun", with_conf(dag_run, at))
    flattened("airflow.taskInstance", instance, properties)
    parts = [name for name in _PARTS if isinstance(body.get(name), dict)]
    flattened("airflow", without(body, ("taskUuid", *parts)), properties)
    uuid = body.get("taskUuid")
    if uuid == at.event.run_id:
        at.withheld("taskUuid", "duplicate-of:run.runId")
    elif uuid is not None:
        properties["airflow.taskUuid"] = worded("airflow.taskUuid", uuid)
    if properties:
        yield property_statement(at, properties)


def with_conf(dag_run: dict[str, Any], at: Place) -> dict[str, Any]:
    """Return the DAG run with its open ``conf`` map as one JSON text."""
    conf = dag_run.get("conf")
    if not isinstance(conf, dict):
        return dag_run
    conf = configuration(conf, "dagRun.conf", at)
    return {**dag_run, "conf": kept_text("airflow.dagRun.conf", conf) if conf else None}


def _name(dag_run: dict[str, Any], instance: dict[str, Any], at: Place) -> Statements:
    """Yield the label of a task's run: ``<dag run id>[map_index] #try``."""
    run_id = text_of(dag_run.get("run_id"))
    if not run_id:
        return
    index, tries = whole_of(instance.get("map_index")), whole_of(instance.get("try_number"))
    label = f"{run_id}[{index}]" if index is not None and index >= 0 else run_id
    yield at.run, RUN_NAME, NAME_TASK, label if tries is None else f"{label} #{tries}"


def _task(task: dict[str, Any], dag: dict[str, Any], at: Place) -> Statements:
    if not task or at.job is None:
        return
    chosen = {key: value for key, value in task.items() if key in _TASK_LEAVES}
    properties = flattened("airflow.task", chosen)
    graph = at.options.settings.airflow.task_graph
    told = (*_TASK_LEAVES, "upstream_task_ids") if graph else _TASK_LEAVES
    twice = told_twice(task)
    for leaf in twice:
        at.withheld(f"task.{leaf}", f"duplicate-of:task.{leaf}_list")
    other = kept_text("airflow.task.other", without(task, (*told, *twice)))
    if other and other != "{}":
        properties["airflow.task.other"] = other
    if properties:
        yield at.owner, JOB_PROPERTIES, "airflow.task", properties
    dag_id = dag.get("dag_id")
    if not graph:
        at.reached("task.upstream_task_ids", _OTHER)
    elif at.job.level == "job" and isinstance(dag_id, str):
        upstream_tasks = listed(task.get("upstream_task_ids") or "")
        if not upstream_tasks:
            at.withheld("task.upstream_task_ids", "no-home:no upstream tasks")
        for upstream in upstream_tasks:
            job = at.identity.job(at.event.namespace, f"{dag_id}.{upstream}", at.event.producer)
            yield at.task, JOB_EDGE, job.job_urn, {}
        yield from _external(task, at)
    yield from asset_statements(task, at)


def _external(task: dict[str, Any], at: Place) -> Statements:
    """Yield the tasks of another DAG that a sensor waits for; a marker names those that wait for it."""
    dag_id = task.get("external_dag_id")
    if not isinstance(dag_id, str) or not dag_id or str(task.get("operator_class")).endswith("Marker"):
        return  # a DAG as a whole is no job: such an edge is not legal
    for name in listed(task.get("external_task_ids") or task.get("external_task_id") or ""):
        job = at.identity.job(at.event.namespace, f"{dag_id}.{name}", at.event.producer)
        if job.level == "job" and not job.placeholder and not job.skip:
            yield at.task, JOB_EDGE, job.job_urn, {}


def _instance(instance: dict[str, Any], at: Place) -> Statements:
    tries, duration = whole_of(instance.get("try_number")), instance.get("duration")
    if tries is not None and 0 < tries < _MOST_TRIES:
        yield at.run, ATTEMPT, ATTEMPT_AIRFLOW, tries
    url = page(instance.get("log_url"))
    if url is not None:
        yield at.run, RUN_URL, URL_AIRFLOW_LOG, url
    if isinstance(duration, (int, float)) and not isinstance(duration, bool) and 0 <= duration < _MOST_SECONDS:
        yield at.run, DURATION, "", float(duration)


def _tries_left(tries: Any, retries: Any, at: Place) -> Statements:
    """Yield whether Airflow tries again after this try; ``retries`` are those after the first try."""
    tries, retries = whole_of(tries), whole_of(retries)
    if tries is not None and tries > 0 and retries is not None:
        yield at.run, TRIES_LEFT, "", tries <= retries
