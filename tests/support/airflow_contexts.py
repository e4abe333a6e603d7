"""Contexts as Airflow 2.10.5 and 3.3.2 give them to callbacks: the attributes that their objects really have, and no others.

Written down from runs of both (``airflow dags test``, and the DAG processor's for what a dead worker leaves); ``make e2e``
lets Airflow itself call.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from enum import Enum
from types import SimpleNamespace as Thing

DAY = datetime(2026, 1, 2, tzinfo=timezone.utc)
BEGIN = datetime(2026, 1, 3, 1, 0, 0, 250_000, tzinfo=timezone.utc)
END = BEGIN + timedelta(seconds=90)


class RunType(str, Enum):
    MANUAL = "manual"
    SCHEDULED = "scheduled"


class Detached:
    """A row that has left its session: what was not loaded cannot be read."""

    def __init__(self, **loaded):
        self.__dict__.update(loaded)

    def __getattr__(self, name):
        raise RuntimeError(f"Parent instance is not bound to a Session: {name}")


class Warned(dict):
    """The context of 2.10: its old members warn, which fails the test that asks for one."""

    def __getitem__(self, key):
        assert key not in {"execution_date", "next_ds", "prev_ds", "triggering_dataset_events"}, key
        return super().__getitem__(key)


class OutletEvents(dict):
    """``outlet_events``: accessors by what the task spoke of."""


class PythonOperator:
    """An operator of Airflow's, as far as a callback sees it."""

    def __init__(self, **stated):
        self.__dict__.update(
            {
                "task_id": "load", "task_type": "PythonOperator", "owner": "data-team,alice", "retries": 2, "queue": "default",
                "pool": "default_pool", "priority_weight": 1, "trigger_rule": "all_success", "depends_on_past": False,
                "upstream_task_ids": {"extract"}, "downstream_task_ids": {"report", "refresh"}, "inlets": [], "outlets": [],
                "task_group": Thing(group_id=None), "is_setup": False, "is_teardown": False, "execution_timeout": None,
                "doc": None, "doc_md": None, "doc_json": None, "doc_yaml": None, "doc_rst": None, "retry_delay": timedelta(1),
            }
            | stated
        )  # fmt: skip


def dag(**stated):
    found = {
        "dag_id": "shop", "description": "Orders into the warehouse", "doc_md": None, "fileloc": "/dags/shop.py",
        "owner": "data-team,alice", "owner_links": {}, "start_date": DAY, "tags": {"shop", "tier:1"}, "tasks": [],
    }  # fmt: skip
    return Thing(**(found | stated))


def airflow3(**stated):
    """Return the context of a task in a worker of 3.3.2; ``said`` replaces or adds attributes of ``ti``, or members."""
    ti_fields, members, operator, run = _parts(stated)
    task = PythonOperator(**operator)
    shop = dag(schedule="@daily", timetable=Thing(), **members.pop("dag", {}))
    dag_run = Thing(
        **{
            "dag_id": "shop", "run_id": "scheduled__2026-01-02", "logical_date": DAY, "data_interval_start": DAY,
            "data_interval_end": DAY + timedelta(1), "run_after": DAY + timedelta(1), "start_date": BEGIN - timedelta(minutes=1),
            "end_date": None, "clear_number": 0, "run_type": RunType.SCHEDULED, "state": "running", "conf": {},
            "triggering_user_name": None, "note": None, "consumed_asset_events": [], "partition_key": None,
        }
        | run
    )  # fmt: skip
    ti = Thing(
        **{
            "task_id": "load", "dag_id": "shop", "run_id": "scheduled__2026-01-02", "map_index": -1, "try_number": 1,
            "max_tries": 2, "start_date": BEGIN, "end_date": END, "state": "success", "queue": "default", "hostname": "worker",
            "rendered_map_index": None, "log_url": "http://airflow:8080/dags/shop/runs/r/tasks/load?try_number=1",
            "bundle_instance": Thing(name="dags-folder", version=None), "task": task,
        }
        | ti_fields
    )  # fmt: skip
    context = {
        "dag": shop, "dag_run": dag_run, "task": task, "ti": ti, "task_instance": ti, "run_id": dag_run.run_id,
        "inlets": task.inlets, "outlets": task.outlets, "outlet_events": OutletEvents(), "logical_date": DAY,
        "task_reschedule_count": 0, "exception": None, "params": {},
    }  # fmt: skip
    return context | members


def airflow2(**stated):
    """Return the context of a task in 2.10.5: rows of the database, a DAG with a timetable, old members that warn."""
    ti_fields, members, operator, run = _parts(stated)
    task = PythonOperator(**operator)
    shop = dag(
        schedule_interval="@daily", timetable=Thing(summary="@daily"), tags=["shop", "tier:1"], **members.pop("dag", {})
    )
    dag_run = Detached(
        **{
            "dag_id": "shop", "run_id": "scheduled__2026-01-02", "logical_date": DAY, "execution_date": DAY,
            "data_interval_start": DAY, "data_interval_end": DAY + timedelta(1), "start_date": BEGIN - timedelta(minutes=1),
            "end_date": None, "clear_number": 0, "run_type": "scheduled", "state": "running", "conf": {},
            "external_trigger": False,
        }
        | run
    )  # fmt: skip
    ti = Detached(
        **{
            "task_id": "load", "dag_id": "shop", "run_id": "scheduled__2026-01-02", "map_index": -1, "try_number": 1,
            "max_tries": 2, "start_date": BEGIN, "end_date": END, "state": "success", "queue": "default", "pool": "default_pool",
            "duration": 90.0, "queued_dttm": BEGIN - timedelta(seconds=5), "rendered_map_index": None, "hostname": "worker",
            "log_url": "http://airflow:8080/dags/shop/grid?dag_run_id=r&task_id=load", "task": task,
        }
        | ti_fields
    )  # fmt: skip
    return Warned(
        {
            "dag": shop, "dag_run": dag_run, "task": task, "ti": ti, "task_instance": ti, "run_id": dag_run.run_id,
            "inlets": task.inlets, "outlets": task.outlets, "outlet_events": OutletEvents(), "logical_date": DAY,
            "execution_date": DAY, "params": {},
        }
        | members
    )  # fmt: skip


def _parts(stated):
    """Return attributes of the instance, members of the context, attributes of the operator and of the DAG run."""
    named = {
        key: stated[key]
        for key in ("dag", "exception", "reason", "outlet_events", "task_reschedule_count")
        if key in stated
    }
    rest = {key: value for key, value in stated.items() if key not in {*named, "operator", "dag_run"}}
    return rest, named, stated.get("operator", {}), stated.get("dag_run", {})


VERSIONS = {"2.10": airflow2, "3.3": airflow3}


def raised(error):
    """Return the error with a traceback, as it is once somebody raised it."""
    try:
        raise error
    except type(error) as caught:
        return caught
