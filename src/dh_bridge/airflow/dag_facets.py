"""The facets of a DAG, a DAG run and a task, as Airflow's OpenLineage provider sends them.

Names of the fields: apache-airflow-providers-openlineage 2.20, ``utils/utils.py`` (``DagInfo``, ``DagRunInfo``,
``TaskInfo``, ``TaskInstanceInfo``). Lists are JSON lists; the provider writes their Python text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.airflow.context import attribute, end_time, start_time
from dh_bridge.airflow.jsonable import mask_secrets, present_attributes, to_jsonable, to_list

if TYPE_CHECKING:
    from dh_bridge.airflow.context import CallbackContext

_DAG_ATTRIBUTES = (
    "dag_id",
    "description",
    "fileloc",
    "owner",
    "owner_links",
    "schedule_interval",
    "start_date",
    "tags",
)
_DAG_RUN_ATTRIBUTES = (
    "clear_number", "dag_id", "data_interval_end", "data_interval_start", "end_date", "external_trigger",
    "logical_date", "partition_key", "partition_date", "run_after", "run_id", "run_type", "start_date", "triggered_by",
    "triggering_user_name", "note",
)  # fmt: skip
_TASK_ATTRIBUTES = (
    "deferrable", "depends_on_past", "downstream_task_ids", "execution_timeout", "ignore_first_depends_on_past",
    "is_setup", "is_teardown", "max_active_tis_per_dag", "max_active_tis_per_dagrun", "max_retry_delay", "multiple_outputs",
    "owner", "pool", "priority_weight", "queue", "retries", "retry_exponential_backoff", "run_as_user", "sla", "task_id",
    "trigger_rule", "upstream_task_ids", "wait_for_downstream", "wait_for_past_depends_before_skipping",
    "trigger_dag_id", "trigger_run_id", "external_dag_id", "external_task_id", "external_task_ids", "external_task_group_id",
    "database", "column_mapping", "pass_value", "tol", "min_threshold", "max_threshold", "table_name_with_schema",
)  # fmt: skip
_INSTANCE_ATTRIBUTES = ("log_url", "pool", "queued_dttm", "try_number")


def dag_fields(dag: Any) -> dict[str, Any]:
    """Return the leaves of ``airflow.dag``."""
    fields = present_attributes(dag, _DAG_ATTRIBUTES)
    timetable = attribute(dag, "timetable")
    # The summary is the core's (2.x); the Task SDK keeps what the author wrote as the schedule.
    for summary in (attribute(dag, "timetable_summary"), attribute(timetable, "summary"), attribute(dag, "schedule")):
        if isinstance(summary, str) and summary:
            fields["timetable_summary"] = summary
            break
    return fields


def dag_run_fields(dag_run: Any) -> dict[str, Any]:
    """Return the leaves of ``airflow.dagRun``; its configuration under Airflow's mask."""
    fields = present_attributes(dag_run, _DAG_RUN_ATTRIBUTES)
    conf = attribute(dag_run, "conf")
    if isinstance(conf, dict) and conf:
        fields["conf"] = mask_secrets(to_jsonable(conf))
    begin, end = start_time(dag_run), end_time(dag_run)
    if begin is not None and end is not None:
        fields["duration"] = (end - begin).total_seconds()
    return fields


def task_fields(task: Any) -> dict[str, Any]:
    """Return the leaves of ``airflow.task``."""
    fields = present_attributes(task, _TASK_ATTRIBUTES)
    fields["operator_class"] = operator_class(task)
    fields["operator_class_path"] = operator_path(task)
    group = attribute(attribute(task, "task_group"), "group_id")
    if isinstance(group, str) and group:
        fields["task_group"] = {"group_id": group}
    for name in ("inlets", "outlets"):
        assets = [
            {"uri": uri, "extra": mask_secrets(to_jsonable(attribute(asset, "extra") or {}))}
            for asset in to_list(attribute(task, name))
            if isinstance(uri := attribute(asset, "uri"), str)
        ]
        if assets:
            fields[name] = assets
    return fields


def instance_fields(context: CallbackContext) -> dict[str, Any]:
    """Return the leaves of ``airflow.taskInstance``."""
    instance = context.instance
    fields = present_attributes(instance, _INSTANCE_ATTRIBUTES)
    begin, end = start_time(instance), end_time(instance)
    if begin is not None and end is not None:
        fields["duration"] = (end - begin).total_seconds()
    if context.map_index >= 0:
        fields |= {"map_index": context.map_index, **present_attributes(instance, ("rendered_map_index",))}
    bundle = attribute(instance, "bundle_instance")
    fields |= {f"dag_bundle_{name}": value for name, value in present_attributes(bundle, ("name", "version")).items()}
    return fields


def operator_class(task: Any) -> str:
    """Return the name of a task's operator."""
    return str(attribute(task, "task_type") or type(task).__name__)


def operator_path(task: Any) -> str:
    """Return module and name of a task's operator; a task that came through the database only remembers its module."""
    name, module = operator_class(task), type(task).__module__
    return f"{module if type(task).__name__ == name else attribute(task, '_task_module') or module}.{name}"


def graph_fields(dag: Any) -> dict[str, Any]:
    """Return what the job facet ``airflow`` says of each task of a DAG, those that never speak among them."""
    return {
        str(task.task_id): {
            "operator": operator_path(task),
            "task_group": attribute(attribute(task, "task_group"), "group_id"),
            "is_setup": bool(attribute(task, "is_setup")),
            "is_teardown": bool(attribute(task, "is_teardown")),
            "downstream_task_ids": to_jsonable(set(attribute(task, "downstream_task_ids") or ())),
        }
        for task in sorted(to_list(attribute(dag, "tasks")), key=lambda task: str(task.task_id))
    }
