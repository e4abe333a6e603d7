"""The page of a DAG run or task in Airflow's own user interface, where the job namespace is its address."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dh_bridge.translation.facts import JOB_FIELD, RUN_URL, Statements
from dh_bridge.translation.precedence import PAGE_UI, PAGE_UI_GUESSED, URL_AIRFLOW, URL_AIRFLOW_GUESSED, page
from dh_bridge.translation.reading.engine import engine_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})").match
_PATHS = (3, 0)
_GRID = (2, 3)


def airflow_page(  # noqa: PLR0913 - the parts of an address
    base: str,
    version: tuple[int, int],
    *,
    dag: str,
    run: str,
    task: str | None = None,
    index: int | None = None,
    date: str | None = None,
) -> str:
    """Return the address of a DAG run, or of ``task`` (its mapped ``index``) in it; ``date`` is the logical date.

    Airflow 3 has paths, 2.3 the grid, older ones the graph, which is asked by date.
    """
    root = base.rstrip("/")
    name, run_id = quote(dag, safe=""), quote(run, safe="")
    if version >= _PATHS:
        found = f"{root}/dags/{name}/runs/{run_id}"
        if task:
            found += f"/tasks/{quote(task, safe='')}"
            found += f"/mapped/{index}" if index is not None else ""
        return found
    if version >= _GRID:
        found = f"{root}/dags/{name}/grid?dag_run_id={run_id}"
        if task:
            found += f"&task_id={quote(task, safe='')}"
            found += f"&map_index={index}" if index is not None else ""
        return found
    return f"{root}/graph?dag_id={name}" + (f"&execution_date={quote(date, safe='')}" if date else "")


def dag_page(base: str, version: tuple[int, int], dag: str) -> str:
    """Return the address of a DAG."""
    root, name = base.rstrip("/"), quote(dag, safe="")
    if version >= _PATHS:
        return f"{root}/dags/{name}"
    return f"{root}/dags/{name}/grid" if version >= _GRID else f"{root}/graph?dag_id={name}"


def flow_page_statements(dag: Any, at: Place) -> Statements:
    """Yield the page of the flow, where no code has one."""
    base = page(at.event.namespace)
    if base is None or at.job is None or at.job.placeholder or at.job.skip or not (isinstance(dag, str) and dag):
        return
    told = _VERSION(engine_of(at).version)
    version = (int(told[1]), int(told[2])) if told else _GRID
    rung = PAGE_UI if told else PAGE_UI_GUESSED
    yield at.job.flow_urn, JOB_FIELD, ("externalUrl", rung), dag_page(base, version, dag)


def page_statements(dag: Any, dag_run: dict[str, Any], at: Place, *, task: Any = None, index: Any = None) -> Statements:
    """Yield the page of the run; its rung is lower where the event tells the version of Airflow."""
    base, run = page(at.event.namespace), dag_run.get("run_id")
    if base is None or not (isinstance(dag, str) and dag and isinstance(run, str) and run):
        return
    told = _VERSION(engine_of(at).version)
    # Only Airflow 3 has run_after; a version is not known on every event.
    guess = _PATHS if "run_after" in dag_run else _GRID
    version = (int(told[1]), int(told[2])) if told else guess
    date = next((text for leaf in _DATES if isinstance(text := dag_run.get(leaf), str) and text), None)
    url = airflow_page(
        base, version, dag=dag, run=run, date=date,
        task=task if isinstance(task, str) else None,
        index=index if type(index) is int and index >= 0 else None,
    )  # fmt: skip
    yield at.run, RUN_URL, URL_AIRFLOW if told else URL_AIRFLOW_GUESSED, url


_DATES = ("logical_date", "execution_date", "data_interval_start")
