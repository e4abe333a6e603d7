"""checkpoints (run): checkpoint counts of a Flink job (OpenLineage integration/flink)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, property_fact
from dh_bridge.facet_support.statistics import is_meaningful_count
from dh_bridge.model.facts import RUN_COUNT, RUN_PROPERTIES, Facts
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


@facet("checkpoints", attach="run", outcomes={"**": as_property(RUN_COUNT, RUN_PROPERTIES)}, producer="Flink")
def checkpoints(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """The largest count that any event of the run says, as a property of the run."""
    other_values = {}
    for field_name, value in facet.content.items():
        if type(value) is int and is_meaningful_count(value):
            yield ctx.run_urn, RUN_COUNT, f"checkpoints.{field_name}", value
        else:
            other_values[field_name] = value
    properties = flatten("checkpoints", other_values)
    if properties:
        yield property_fact(ctx, properties)
