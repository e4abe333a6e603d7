"""airflowDagRun (run): the DAG and DAG run of a DAG's own run (Airflow provider)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.airflow import DAG_RUN_RUNG, dag_run_statements, dag_statements, part, without
from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.facets.airflow import DAG_LEAVES, with_conf
from dh_bridge.translation.properties import flattened

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place
    from dh_bridge.translation.slots import Statements


@facet("airflowDagRun", at="run", leaves={**DAG_LEAVES, "**": kept()}, producer="Airflow")
def airflow_dag_run(opened: Open, at: Place) -> Statements:
    """DAG to the flow; DAG run to the run: its id is the run's name, its type the run's type."""
    dag_run = part(opened.body, "dagRun")
    yield from dag_statements(part(opened.body, "dag"), at)
    yield from dag_run_statements(dag_run, at, rung=DAG_RUN_RUNG)
    properties = flattened("airflow.dagRun", with_conf(dag_run))
    flattened("airflowDagRun", without(opened.body, ("dag", "dagRun")), properties)
    if properties:
        yield property_statement(at, properties)
