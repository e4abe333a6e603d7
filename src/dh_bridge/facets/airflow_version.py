"""airflow_version (run): versions, operator and a dump of the task (old releases of OpenLineage's integration/airflow)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.engine import drop_repeated_fields
from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, dropped, facet, property_fact
from dh_bridge.facet_support.large_values import drop_large_value
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts

_ENGINE_FIELDS = {"airflowVersion": "version", "openlineageAirflowVersion": "adapter"}


@facet(
    "airflow_version",
    attach="run",
    outcomes={"taskInfo": dropped("too-large"), "taskInfo**": dropped("too-large"), "**": as_property()},
    producer="Airflow",
)
def airflow_version(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Operator and versions as properties (versions unless processing_engine says the same); of taskInfo hash and size."""
    content, properties = drop_large_value("airflow_version", facet.content, "taskInfo", "too-large", ctx)
    flatten("airflow_version", drop_repeated_fields(ctx, content, _ENGINE_FIELDS), properties)
    if properties:
        yield property_fact(ctx, properties)
