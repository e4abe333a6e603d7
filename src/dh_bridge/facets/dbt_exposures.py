"""dbt_exposures (dataset): who uses the model (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, property_fact
from dh_bridge.model.properties import flatten, property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts


@facet(
    "dbt_exposures",
    attach="dataset",
    outcomes={"**": as_property()},
    producer="dbt",
    is_cached=True,
)
def dbt_exposures(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Exposures as one JSON: names only, so no edges to dashboards."""
    content = dict(facet.content)
    exposures = content.get("exposures")
    value_text = property_text("dbt_exposures", exposures) if isinstance(exposures, list) and exposures else None
    if value_text:
        del content["exposures"]
    properties = flatten("dbt_exposures", content)
    if value_text:
        properties["dbt_exposures"] = value_text
    if properties:
        yield property_fact(ctx, properties)
