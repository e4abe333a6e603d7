"""airflowState (run): how a DAG run and its tasks ended (Airflow provider)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import OUTCOME, RUN_PROPERTIES, TASK_STATE, Statements
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.reading.airflow import OUTCOMES, part
from dh_bridge.translation.runs.eventless_tasks import task_jobs

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


@facet(
    "airflowState",
    at="run",
    leaves={
        "dagRunState": mapped(OUTCOME, RUN_PROPERTIES),
        "**": kept(),
    },
    producer="Airflow",
)
def airflow_state(opened: Open, at: Place) -> Statements:
    """The word refines the result (skipped, up_for_retry); the tasks' states are kept: their own events tell the rest.

    Of tasks that have no events of their own, the states tell what `airflow.silent_tasks` asks for.
    """
    properties = {}
    for name, value in opened.body.items():
        written = kept_text(f"airflowState.{name}", value) if value not in ({}, []) else None
        if written is not None:
            properties[f"airflowState.{name}"] = written
    if properties:
        yield property_statement(at, properties)
    state = opened.body.get("dagRunState")
    if isinstance(state, str) and state in OUTCOMES:
        yield at.run, OUTCOME, "", f"airflow:{state}"
    if at.options.settings.airflow.silent_tasks == "runs" and at.event.terminal:
        yield from _states(part(opened.body, "tasksState"), part(opened.body, "tasksDuration"), at)


def _states(states: dict[str, Any], seconds: dict[str, Any], at: Place) -> Statements:
    """Yield how each task ended, and whether it ran: one that never ran has no duration, or one of 0."""
    ended = {task: word for task, word in states.items() if isinstance(word, str) and word in OUTCOMES}
    for task, job in task_jobs(ended, at).items():
        yield at.run, TASK_STATE, (job.job_urn, at.event.time), (job, ended[task], bool(seconds.get(task)))
