"""Facets of the runs and jobs of Airflow's DAGs (Airflow provider)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.aggregate.eventless_tasks import task_jobs
from dh_bridge.facet_support.airflow import OUTCOMES, dag_facts, dag_run_facts, nested_object, parse_names, without_keys
from dh_bridge.facet_support.airflow_pages import flow_page_facts, run_page_facts
from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, dropped, facet, mapped, property_fact
from dh_bridge.facets.airflow import DAG_FIELD_OUTCOMES, serialize_conf
from dh_bridge.lineage.triggers import trigger_jobs
from dh_bridge.model.facts import (
    DURATION,
    EVENTLESS_TASK,
    FINAL_FAILURE,
    JOB,
    JOB_EDGE,
    JOB_PROPERTIES,
    OUTCOME,
    RUN_PROPERTIES,
    TASK_STATE,
    Facts,
)
from dh_bridge.model.precedence import NAME_DAG_RUN
from dh_bridge.model.properties import flatten, property_text
from dh_bridge.openlineage.times import parse_time

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


# -- airflowDagRun (run): the DAG and DAG run of a DAG's own run (Airflow provider).

_MICROS_PER_SECOND = 1_000_000
_MAX_SECONDS = 10**9


_DURATION_OUTCOME = mapped(DURATION, RUN_PROPERTIES)
_TIME_OUTCOMES = {f"dagRun.{field_name}": _DURATION_OUTCOME for field_name in ("duration", "start_date", "end_date")}


@facet(
    "airflowDagRun",
    attach="run",
    outcomes={**_TIME_OUTCOMES, **DAG_FIELD_OUTCOMES, "**": as_property()},
    producer="Airflow",
)
def airflow_dag_run(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """The DAG is written as properties of the flow, the DAG run of the run. The id and type of the DAG run are the name and type of the run."""
    dag_run = nested_object(facet.content, "dagRun")
    yield from dag_facts(nested_object(facet.content, "dag"), ctx)
    yield from dag_run_facts(dag_run, ctx, precedence=NAME_DAG_RUN)
    yield from run_page_facts(nested_object(facet.content, "dag").get("dag_id"), dag_run, ctx)
    yield from flow_page_facts(nested_object(facet.content, "dag").get("dag_id"), ctx)
    seconds = _duration_seconds(dag_run)
    if seconds is not None and 0 <= seconds < _MAX_SECONDS:
        yield ctx.run_urn, DURATION, "", float(seconds)  # no sooner: a whole number may be larger than any float
    properties = flatten("airflow.dagRun", serialize_conf(dag_run, ctx))
    object_keys = [name for name in ("dag", "dagRun") if isinstance(facet.content.get(name), dict)]
    flatten("airflowDagRun", without_keys(facet.content, object_keys), properties)
    if properties:
        yield property_fact(ctx, properties)


def _duration_seconds(dag_run: dict[str, Any]) -> float | None:
    """Return the duration of the DAG run, from the facet or its two dates; it is used if no START was read (3.6)."""
    duration = dag_run.get("duration")
    if isinstance(duration, (int, float)) and not isinstance(duration, bool):
        return duration
    start, end = dag_run.get("start_date"), dag_run.get("end_date")
    if not (isinstance(start, str) and isinstance(end, str)):
        return None
    try:
        return (parse_time(end)[0] - parse_time(start)[0]) / _MICROS_PER_SECOND
    except ValueError:
        return None


# -- airflowState (run): how a DAG run and its tasks ended (Airflow provider).


@facet(
    "airflowState",
    attach="run",
    outcomes={
        "dagRunState": mapped(OUTCOME, RUN_PROPERTIES),
        "**": as_property(),
    },
    producer="Airflow",
)
def airflow_state(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """A more precise result of the run (skipped, up_for_retry). The states of the tasks are properties.

    A failed try of a task that failed, or of a DAG run that failed, is a failure even if it has tries left.

    For tasks that send no events, `airflow.tasks_without_events` reads the states.
    """
    properties = {}
    for name, value in facet.content.items():
        value_text = property_text(f"airflowState.{name}", value) if value not in ({}, []) else None
        if value_text is not None:
            properties[f"airflowState.{name}"] = value_text
    if properties:
        yield property_fact(ctx, properties)
    state = facet.content.get("dagRunState")
    if isinstance(state, str) and state in OUTCOMES:
        yield ctx.run_urn, OUTCOME, "", f"airflow:{state}"
    if state == "failed":
        yield ctx.run_urn, FINAL_FAILURE, "", ctx.event.time
    yield from _failed_task_facts(nested_object(facet.content, "tasksState"), ctx)
    if ctx.options.settings.airflow.tasks_without_events == "runs" and ctx.event.is_terminal:
        yield from _task_state_facts(
            nested_object(facet.content, "tasksState"), nested_object(facet.content, "tasksDuration"), ctx
        )


def _failed_task_facts(states: dict[str, Any], ctx: FacetContext) -> Facts:
    """Yield the tasks that are not tried again."""
    failed_tasks = [task for task, state in states.items() if state == "failed"]
    for job in task_jobs(failed_tasks, ctx).values():
        yield ctx.run_urn, FINAL_FAILURE, job.job_urn, ctx.event.time


def _task_state_facts(states: dict[str, Any], seconds: dict[str, Any], ctx: FacetContext) -> Facts:
    """Yield how each task ended, and whether it ran: one that never ran has no duration, or one of 0."""
    task_outcomes = {task: state for task, state in states.items() if isinstance(state, str) and state in OUTCOMES}
    for task, job in task_jobs(task_outcomes, ctx).items():
        yield (
            ctx.run_urn,
            TASK_STATE,
            (job.job_urn, ctx.event.time),
            (job, task_outcomes[task], bool(seconds.get(task))),
        )


# -- airflow (job): the tasks and task groups of a DAG (Airflow provider; on the DAG's START).

_COSMETIC_FIELDS = ("ui_color", "ui_fgcolor", "ui_label")
_EDGE_OUTCOME = mapped(JOB_EDGE, JOB_PROPERTIES)


@facet(
    "airflow",
    attach="job",
    outcomes={
        **{f"tasks.*.{field_name}": dropped("no-field:cosmetic") for field_name in _COSMETIC_FIELDS},
        "tasks.*.downstream_task_ids": _EDGE_OUTCOME,
        "tasks.*.downstream_task_ids[]": _EDGE_OUTCOME,
        "**": as_property(),
    },
    producer="Airflow",
)
def airflow_tasks(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Tasks (without colours), tree and groups, as properties of the flow. Each task is a job, and the dependencies of tasks are edges between jobs."""
    properties = {}
    for name, value in facet.content.items():
        if name == "tasks" and isinstance(value, dict):
            value = {task: _drop_colours(definition) for task, definition in value.items()}  # noqa: PLW2901 - the same field
        value_text = property_text(f"airflow.{name}", value) if value not in ({}, []) else None
        if value_text:
            properties[f"airflow.{name}"] = value_text
    if properties:
        yield property_fact(ctx, properties)
    yield from _graph_facts(nested_object(facet.content, "tasks"), ctx)


def _drop_colours(task: Any) -> Any:
    return (
        {key: value for key, value in task.items() if key not in _COSMETIC_FIELDS} if isinstance(task, dict) else task
    )


def _graph_facts(tasks: dict[str, Any], ctx: FacetContext) -> Facts:
    """Yield the job of each task, also of those that never speak, and the edges between them."""
    jobs = task_jobs(tasks, ctx)
    for task, job in jobs.items():
        yield job.job_urn, JOB, "", job
        if ctx.run_urn and nested_object(tasks, task).get("emits_ol_events") is False:
            yield ctx.run_urn, EVENTLESS_TASK, job.job_urn, None
    downstream_tasks = {
        task_name
        for task in tasks
        for task_name in parse_names(nested_object(tasks, task).get("downstream_task_ids") or "")
    }
    for upstream in trigger_jobs(ctx):
        for task in jobs.keys() - downstream_tasks:  # with these the DAG begins
            yield jobs[task].job_urn, JOB_EDGE, upstream, {}
    for task in tasks:
        path = f"tasks.{task}.downstream_task_ids"
        if not ctx.options.settings.airflow.task_graph:
            ctx.note_outcome(path, JOB_PROPERTIES)
            continue
        downstream_value = nested_object(tasks, task).get("downstream_task_ids")
        downstream_names = parse_names(downstream_value or "")
        if downstream_value and jobs.keys().isdisjoint(downstream_names):
            ctx.note_outcome(path, JOB_PROPERTIES)
        for position, downstream in enumerate(downstream_names):
            if task in jobs and downstream in jobs and downstream != task:
                yield jobs[downstream].job_urn, JOB_EDGE, jobs[task].job_urn, {}
            else:
                ctx.note_outcome(f"{path}[{position}]", JOB_PROPERTIES)
