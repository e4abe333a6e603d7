"""The page of a DAG run or task in Airflow's user interface, if the job namespace is its address."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dh_bridge.facet_support.engine import engine_of
from dh_bridge.model.facts import JOB_FIELD, RUN_URL, Facts
from dh_bridge.model.precedence import PAGE_UI, PAGE_UI_GUESSED, URL_AIRFLOW, URL_AIRFLOW_GUESSED, web_page_url

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})").match
_PATHS_SINCE = (3, 0)
_GRID_SINCE = (2, 3)


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

    Airflow 3 uses paths, 2.3 and later the grid. Older versions use the graph with the date.
    """
    root = base.rstrip("/")
    name, run_id = quote(dag, safe=""), quote(run, safe="")
    if version >= _PATHS_SINCE:
        url = f"{root}/dags/{name}/runs/{run_id}"
        if task:
            url += f"/tasks/{quote(task, safe='')}"
            url += f"/mapped/{index}" if index is not None else ""
        return url
    if version >= _GRID_SINCE:
        url = f"{root}/dags/{name}/grid?dag_run_id={run_id}"
        if task:
            url += f"&task_id={quote(task, safe='')}"
            url += f"&map_index={index}" if index is not None else ""
        return url
    return f"{root}/graph?dag_id={name}" + (f"&execution_date={quote(date, safe='')}" if date else "")


def dag_page(base: str, version: tuple[int, int], dag: str) -> str:
    """Return the address of a DAG."""
    root, name = base.rstrip("/"), quote(dag, safe="")
    if version >= _PATHS_SINCE:
        return f"{root}/dags/{name}"
    return f"{root}/dags/{name}/grid" if version >= _GRID_SINCE else f"{root}/graph?dag_id={name}"


def flow_page_facts(dag: Any, ctx: FacetContext) -> Facts:
    """Yield the page of the flow, used if no facet has a link to its code."""
    base = web_page_url(ctx.event.namespace)
    if base is None or ctx.job is None or ctx.job.placeholder or ctx.job.skip or not (isinstance(dag, str) and dag):
        return
    version_match = _VERSION(engine_of(ctx).version)
    version = (int(version_match[1]), int(version_match[2])) if version_match else _GRID_SINCE
    precedence = PAGE_UI if version_match else PAGE_UI_GUESSED
    yield ctx.job.flow_urn, JOB_FIELD, ("externalUrl", precedence), dag_page(base, version, dag)


def run_page_facts(
    dag: Any, dag_run: dict[str, Any], ctx: FacetContext, *, task: Any = None, index: Any = None
) -> Facts:
    """Yield the page of the run; it has an earlier precedence if the event has the version of Airflow."""
    base, run = web_page_url(ctx.event.namespace), dag_run.get("run_id")
    if base is None or not (isinstance(dag, str) and dag and isinstance(run, str) and run):
        return
    version_match = _VERSION(engine_of(ctx).version)
    # Only Airflow 3 has run_after; some events have no version.
    guess = _PATHS_SINCE if "run_after" in dag_run else _GRID_SINCE
    version = (int(version_match[1]), int(version_match[2])) if version_match else guess
    date = next(
        (text for field_name in _DATE_FIELDS if isinstance(text := dag_run.get(field_name), str) and text), None
    )
    url = airflow_page(
        base, version, dag=dag, run=run, date=date,
        task=task if isinstance(task, str) else None,
        index=index if type(index) is int and index >= 0 else None,
    )  # fmt: skip
    yield ctx.run_urn, RUN_URL, URL_AIRFLOW if version_match else URL_AIRFLOW_GUESSED, url


_DATE_FIELDS = ("logical_date", "execution_date", "data_interval_start")
