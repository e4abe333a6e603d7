"""airflow (job): the tasks and task groups of a DAG (Airflow provider; on the DAG's START)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement, withheld
from dh_bridge.translation.facts import JOB, JOB_EDGE, JOB_PROPERTIES, QUIET_TASK, Statements
from dh_bridge.translation.lineage.triggers import triggers
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.reading.airflow import members, part
from dh_bridge.translation.runs.eventless_tasks import task_jobs

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_COSMETIC = ("ui_color", "ui_fgcolor", "ui_label")
_GRAPH = mapped(JOB_EDGE, JOB_PROPERTIES)


@facet(
    "airflow",
    at="job",
    leaves={
        **{f"tasks.*.{leaf}": withheld("no-home:cosmetic") for leaf in _COSMETIC},
        "tasks.*.downstream_task_ids": _GRAPH,
        "tasks.*.downstream_task_ids[]": _GRAPH,
        "**": kept(),
    },
    producer="Airflow",
)
def airflow_tasks(opened: Open, at: Place) -> Statements:
    """Tasks without their colours, tree and groups as properties of the flow; every task is a job, with edges between them."""
    properties = {}
    for name, value in opened.body.items():
        if name == "tasks" and isinstance(value, dict):
            value = {task: _without_colours(one) for task, one in value.items()}  # noqa: PLW2901 - the same leaf
        written = kept_text(f"airflow.{name}", value) if value not in ({}, []) else None
        if written:
            properties[f"airflow.{name}"] = written
    if properties:
        yield property_statement(at, properties)
    yield from _graph(part(opened.body, "tasks"), at)


def _without_colours(task: Any) -> Any:
    return {key: leaf for key, leaf in task.items() if key not in _COSMETIC} if isinstance(task, dict) else task


def _graph(tasks: dict[str, Any], at: Place) -> Statements:
    """Yield the job of each task, also of those that never speak, and the edges between them."""
    jobs = task_jobs(tasks, at)
    for task, job in jobs.items():
        yield job.job_urn, JOB, "", job
        if at.run and part(tasks, task).get("emits_ol_events") is False:
            yield at.run, QUIET_TASK, job.job_urn, None
    downstream_tasks = {one for task in tasks for one in members(part(tasks, task).get("downstream_task_ids") or "")}
    for upstream in triggers(at):
        for task in jobs.keys() - downstream_tasks:  # with these the DAG begins
            yield jobs[task].job_urn, JOB_EDGE, upstream, {}
    for task in tasks:
        where = f"tasks.{task}.downstream_task_ids"
        if not at.options.settings.airflow.task_graph:
            at.reached(where, JOB_PROPERTIES)
            continue
        told = part(tasks, task).get("downstream_task_ids")
        after = members(told or "")
        if told and jobs.keys().isdisjoint(after):
            at.reached(where, JOB_PROPERTIES)
        for position, downstream in enumerate(after):
            if task in jobs and downstream in jobs and downstream != task:
                yield jobs[downstream].job_urn, JOB_EDGE, jobs[task].job_urn, {}
            else:
                at.reached(f"{where}[{position}]", JOB_PROPERTIES)
