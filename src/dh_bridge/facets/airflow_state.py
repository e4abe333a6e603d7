"""airflowState (run): how a DAG run and its tasks ended (Airflow provider)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.aggregate.eventless_tasks import task_jobs
from dh_bridge.facet_support.airflow import OUTCOMES, nested_object
from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.model.facts import OUTCOME, RUN_PROPERTIES, TASK_STATE, Facts
from dh_bridge.model.properties import property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


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
    """The word refines the result (skipped, up_for_retry); the tasks' states are kept: their own events tell the rest.

    Of tasks that have no events of their own, the states tell what `airflow.silent_tasks` asks for.
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
    if ctx.options.settings.airflow.silent_tasks == "runs" and ctx.event.is_terminal:
        yield from _task_state_facts(
            nested_object(facet.content, "tasksState"), nested_object(facet.content, "tasksDuration"), ctx
        )


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
