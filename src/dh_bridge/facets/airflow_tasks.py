"""airflow (job): the tasks and task groups of a DAG (Airflow provider; on the DAG's START)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.aggregate.eventless_tasks import task_jobs
from dh_bridge.facet_support.airflow import nested_object, parse_names
from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, dropped, facet, mapped, property_fact
from dh_bridge.lineage.triggers import trigger_jobs
from dh_bridge.model.facts import EVENTLESS_TASK, JOB, JOB_EDGE, JOB_PROPERTIES, Facts
from dh_bridge.model.properties import property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

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
    """Tasks without their colours, tree and groups as properties of the flow; every task is a job, with edges between them."""
    properties = {}
    for name, value in facet.content.items():
        if name == "tasks" and isinstance(value, dict):
            value = {task: _drop_colours(definition) for task, definition in value.items()}  # noqa: PLW2901 - the same leaf
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
