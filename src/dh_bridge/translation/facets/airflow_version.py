"""airflow_version (run): versions, operator and a dump of the task (old releases of OpenLineage's integration/airflow)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, property_statement, withheld
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.reading.bulk import without_bulk
from dh_bridge.translation.reading.engine import unrepeated

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements

_SAME = {"airflowVersion": "version", "openlineageAirflowVersion": "adapter"}


@facet(
    "airflow_version",
    at="run",
    leaves={"taskInfo": withheld("too-large"), "taskInfo**": withheld("too-large"), "**": kept()},
    producer="Airflow",
)
def airflow_version(opened: Open, at: Place) -> Statements:
    """Operator and versions as properties (versions unless processing_engine says the same); of taskInfo hash and size."""
    body, properties = without_bulk("airflow_version", opened.body, "taskInfo", "too-large", at)
    flattened("airflow_version", unrepeated(at, body, _SAME), properties)
    if properties:
        yield property_statement(at, properties)
