"""dbt_version (run): the version of dbt (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, property_fact
from dh_bridge.model.facts import JOB_PROPERTIES, RUN_PROPERTIES, Facts
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


@facet(
    "dbt_version",
    attach="run",
    outcomes={
        "**": as_property(RUN_PROPERTIES, JOB_PROPERTIES),
    },
    producer="dbt",
)
def dbt_version(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Version of dbt, on the run and on its job."""
    properties = flatten("dbt_version", facet.content)
    if properties:
        yield property_fact(ctx, properties)
        yield ctx.owner_urn, JOB_PROPERTIES, "dbt_version", properties
