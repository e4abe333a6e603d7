"""airflow_runArgs (run): whether the DAG was triggered from outside (old releases of OpenLineage's integration/airflow)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import RUN_PROPERTIES, RUN_TYPE, Statements
from dh_bridge.translation.precedence import TYPE_EXTERNAL_TRIGGER
from dh_bridge.translation.properties import flattened

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


@facet(
    "airflow_runArgs",
    at="run",
    leaves={"externalTrigger": mapped(RUN_TYPE, RUN_PROPERTIES), "**": kept()},
    producer="Airflow",
)
def airflow_run_args(opened: Open, at: Place) -> Statements:
    """Properties of the run; a trigger from outside is the weakest hint that the run is BATCH_AD_HOC."""
    properties = flattened("airflow_runArgs", opened.body)
    if properties:
        yield property_statement(at, properties)
    if opened.body.get("externalTrigger") is True:
        yield at.run, RUN_TYPE, TYPE_EXTERNAL_TRIGGER, True
