"""airflowDagRun (run): the DAG and DAG run of a DAG's own run (Airflow provider)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.openlineage.times import instant
from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facets.airflow import DAG_LEAVES, with_conf
from dh_bridge.translation.facts import DURATION, RUN_PROPERTIES, Statements
from dh_bridge.translation.precedence import NAME_DAG_RUN
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.reading.airflow import dag_run_statements, dag_statements, part, without
from dh_bridge.translation.reading.airflow_pages import flow_page_statements, page_statements

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_SECOND = 1_000_000
_MOST_SECONDS = 10**9


_DURATION = mapped(DURATION, RUN_PROPERTIES)
_TIMES = {f"dagRun.{leaf}": _DURATION for leaf in ("duration", "start_date", "end_date")}


@facet("airflowDagRun", at="run", leaves={**_TIMES, **DAG_LEAVES, "**": kept()}, producer="Airflow")
def airflow_dag_run(opened: Open, at: Place) -> Statements:
    """DAG to the flow; DAG run to the run: its id is the run's name, its type the run's type."""
    dag_run = part(opened.body, "dagRun")
    yield from dag_statements(part(opened.body, "dag"), at)
    yield from dag_run_statements(dag_run, at, rung=NAME_DAG_RUN)
    yield from page_statements(part(opened.body, "dag").get("dag_id"), dag_run, at)
    yield from flow_page_statements(part(opened.body, "dag").get("dag_id"), at)
    seconds = _seconds(dag_run)
    if seconds is not None and 0 <= seconds < _MOST_SECONDS:
        yield at.run, DURATION, "", float(seconds)  # no sooner: a whole number may be larger than any float
    properties = flattened("airflow.dagRun", with_conf(dag_run, at))
    parts = [name for name in ("dag", "dagRun") if isinstance(opened.body.get(name), dict)]
    flattened("airflowDagRun", without(opened.body, parts), properties)
    if properties:
        yield property_statement(at, properties)


def _seconds(dag_run: dict[str, Any]) -> float | None:
    """Return how long the DAG run took, as it says or from its two dates; it serves where no START was seen (3.6)."""
    said = dag_run.get("duration")
    if isinstance(said, (int, float)) and not isinstance(said, bool):
        return said
    start, end = dag_run.get("start_date"), dag_run.get("end_date")
    if not (isinstance(start, str) and isinstance(end, str)):
        return None
    try:
        return (instant(end)[0] - instant(start)[0]) / _SECOND
    except ValueError:
        return None
