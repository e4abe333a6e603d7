"""dataFusion (run): the run of a Cloud Data Fusion pipeline (Airflow's Google provider writes ``dataFusionRun``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, property_fact
from dh_bridge.facet_support.named_parameters import configuration
from dh_bridge.model.properties import flatten, property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts


@facet(
    "dataFusion",
    "dataFusionRun",
    attach="run",
    outcomes={"**": as_property()},
    producer="Airflow",
)
def data_fusion(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Run id as a property; runtime arguments, an open map, as one redacted JSON."""
    content = dict(facet.content)
    arguments = content.pop("runtimeArgs", None)
    properties = flatten("dataFusion", content)
    if isinstance(arguments, dict):
        arguments = configuration(arguments, "runtimeArgs", ctx)
    value_text = property_text("dataFusion.runtimeArgs", arguments) if arguments else None
    if value_text:
        properties["dataFusion.runtimeArgs"] = value_text
    if properties:
        yield property_fact(ctx, properties)
