"""airflow_runArgs (run): whether the DAG was triggered from outside (old releases of OpenLineage's integration/airflow)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.model.facts import RUN_PROPERTIES, RUN_TYPE, Facts
from dh_bridge.model.precedence import TYPE_EXTERNAL_TRIGGER
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


@facet(
    "airflow_runArgs",
    attach="run",
    outcomes={"externalTrigger": mapped(RUN_TYPE, RUN_PROPERTIES), "**": as_property()},
    producer="Airflow",
)
def airflow_run_args(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Properties of the run; a trigger from outside is the weakest hint that the run is BATCH_AD_HOC."""
    properties = flatten("airflow_runArgs", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    if facet.content.get("externalTrigger") is True:
        yield ctx.run_urn, RUN_TYPE, TYPE_EXTERNAL_TRIGGER, True
