"""The context of a callback: reads Airflow's context in the same way for 2.10 and 3.x.

In a worker the parts of a context are runtime objects of the Task SDK (3.x) or rows of the database (2.x); in the DAG
processor, which runs the callbacks of DAGs and of tasks whose worker died, some attributes are missing. So everything is
read by :func:`attribute`, which takes no attribute for granted.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from dh_bridge.errors import EventError

if TYPE_CHECKING:
    from collections.abc import Mapping


class CallbackContext(NamedTuple):
    """The parts of a context. ``task`` and ``instance`` are None for a DAG; ``instant`` is what run ids are made of."""

    dag: Any
    dag_run: Any
    instant: datetime
    task: Any = None
    instance: Any = None
    error: BaseException | str | None = None
    outlet_events: Any = None
    is_rescheduled: bool = False

    @property
    def dag_id(self) -> str:
        """Return the id of the DAG."""
        return str(attribute(self.dag, "dag_id") or attribute(self.dag_run, "dag_id"))

    @property
    def task_id(self) -> str:
        """Return the id of the task, with the dots of its groups."""
        return str(attribute(self.instance, "task_id") or attribute(self.task, "task_id"))

    @property
    def map_index(self) -> int:
        """Return the index of a mapped task, -1 of any other."""
        value = attribute(self.instance, "map_index")
        return value if isinstance(value, int) else -1

    @property
    def loop_try_id(self) -> str | None:
        """Return Airflow's own id of a try within a loop (3.4), whose passes have all else in common; None outside of loops."""
        region, group = attribute(self.instance, "region_id"), attribute(self.task, "task_group")
        if not isinstance(region, UUID) or not region.int:
            return None
        while group is not None and not _is_loop(group):
            group = attribute(group, "parent_group")
        return None if group is None else str(attribute(self.instance, "id"))

    @property
    def try_number(self) -> int:
        """Return the number of the try, from 1."""
        value = attribute(self.instance, "try_number")
        return value if isinstance(value, int) else 1

    @property
    def is_skipped(self) -> bool:
        """Whether Airflow notes the task as skipped."""
        return (
            str(attribute(attribute(self.instance, "state"), "value") or attribute(self.instance, "state")) == "skipped"
        )

    @property
    def label(self) -> str:
        """Return what to call it in a log."""
        if self.instance is None:
            return self.dag_id
        index = f"[{self.map_index}]" if self.map_index >= 0 else ""
        return f"{self.dag_id}.{self.task_id}{index} (try {self.try_number})"


def read_context(context: Mapping[str, Any]) -> CallbackContext:
    """Return the parts of ``context``; an EventError for one without a DAG run."""
    dag_run = context.get("dag_run")
    instant = next(
        (value for name in ("logical_date", "run_after") if isinstance(value := attribute(dag_run, name), datetime)),
        None,
    )
    if instant is None:
        raise EventError(
            "the callback context has no DAG run with a date",
            location=str(context.get("run_id") or "context"),
            remedy="Airflow passes none if the DAG no longer contains a task of the run",
        )
    reason = context.get("reason")
    if "reason" in context:  # Airflow puts it into the contexts of DAGs, beside some task of the run
        return CallbackContext(context.get("dag"), dag_run, instant, error=reason if isinstance(reason, str) else None)
    instance = context.get("task_instance") or context.get("ti")
    task = context.get("task") or attribute(instance, "task")
    error = context.get("exception")
    return CallbackContext(
        dag=context.get("dag") or attribute(task, "dag"),
        dag_run=dag_run,
        instant=instant,
        task=task,
        instance=instance,
        error=error if isinstance(error, (BaseException, str)) else None,
        outlet_events=context.get("outlet_events"),
        # A sensor that was put off starts again within one try.
        is_rescheduled=bool(attribute(task, "reschedule")) and bool(context.get("task_reschedule_count")),
    )


def attribute(owner: Any, name: str) -> Any:
    """Return an attribute, None when it is absent or cannot be read (a row that has left its session)."""
    try:
        return getattr(owner, name, None)
    except Exception:  # noqa: BLE001 - whatever it is, there is no value
        return None


def _is_loop(group: Any) -> bool:
    """Whether a group of tasks is a loop, of the Task SDK or as the database has it; groups know those above by weak proxies."""
    return bool(group.__class__.__name__.endswith("LoopTaskGroup"))


def start_time(owner: Any) -> datetime | None:
    """Return when a DAG run or a try began.

    If the worker of a task died, the DAG processor has no start date. Since 3.1 the server's answer, an attribute, has it.
    """
    for source in (owner, attribute(owner, "_ti_context_from_server")):
        value = attribute(source, "start_date")
        if isinstance(value, datetime):
            return value
    return None


def end_time(owner: Any) -> datetime | None:
    """Return when a DAG run or a try ended, if Airflow has noted that by now."""
    value = attribute(owner, "end_date")
    return value if isinstance(value, datetime) else None
