"""airflowDagRun (run): the DAG and DAG run of a DAG's own run (Airflow provider)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.airflow import dag_facts, dag_run_facts, nested_object, without_keys
from dh_bridge.facet_support.airflow_pages import flow_page_facts, run_page_facts
from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facets.airflow import DAG_FIELD_OUTCOMES, serialize_conf
from dh_bridge.model.facts import DURATION, RUN_PROPERTIES, Facts
from dh_bridge.model.precedence import NAME_DAG_RUN
from dh_bridge.model.properties import flatten
from dh_bridge.openlineage.times import parse_time

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

_MICROS_PER_SECOND = 1_000_000
_MAX_SECONDS = 10**9


_DURATION_OUTCOME = mapped(DURATION, RUN_PROPERTIES)
_TIME_OUTCOMES = {f"dagRun.{field_name}": _DURATION_OUTCOME for field_name in ("duration", "start_date", "end_date")}


@facet(
    "airflowDagRun",
    attach="run",
    outcomes={**_TIME_OUTCOMES, **DAG_FIELD_OUTCOMES, "**": as_property()},
    producer="Airflow",
)
def airflow_dag_run(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """DAG to the flow; DAG run to the run: its id is the run's name, its type the run's type."""
    dag_run = nested_object(facet.content, "dagRun")
    yield from dag_facts(nested_object(facet.content, "dag"), ctx)
    yield from dag_run_facts(dag_run, ctx, precedence=NAME_DAG_RUN)
    yield from run_page_facts(nested_object(facet.content, "dag").get("dag_id"), dag_run, ctx)
    yield from flow_page_facts(nested_object(facet.content, "dag").get("dag_id"), ctx)
    seconds = _duration_seconds(dag_run)
    if seconds is not None and 0 <= seconds < _MAX_SECONDS:
        yield ctx.run_urn, DURATION, "", float(seconds)  # no sooner: a whole number may be larger than any float
    properties = flatten("airflow.dagRun", serialize_conf(dag_run, ctx))
    object_keys = [name for name in ("dag", "dagRun") if isinstance(facet.content.get(name), dict)]
    flatten("airflowDagRun", without_keys(facet.content, object_keys), properties)
    if properties:
        yield property_fact(ctx, properties)


def _duration_seconds(dag_run: dict[str, Any]) -> float | None:
    """Return how long the DAG run took, as it says or from its two dates; it serves where no START was seen (3.6)."""
    duration = dag_run.get("duration")
    if isinstance(duration, (int, float)) and not isinstance(duration, bool):
        return duration
    start, end = dag_run.get("start_date"), dag_run.get("end_date")
    if not (isinstance(start, str) and isinstance(end, str)):
        return None
    try:
        return (parse_time(end)[0] - parse_time(start)[0]) / _MICROS_PER_SECOND
    except ValueError:
        return None
