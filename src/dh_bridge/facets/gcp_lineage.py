"""gcp_lineage (job): display name and origin. https://openlineage.io/spec/registry/gcp/lineage"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import JOB_FIELD, Facts
from dh_bridge.model.precedence import FIELD_STATED
from dh_bridge.model.properties import flatten, truncate

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


@facet(
    "gcp_lineage",
    attach="job",
    outcomes={"displayName": mapped(JOB_FIELD["name"]), "**": as_property()},
    producer="Google Cloud",
)
def gcp_lineage(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """The name to show for the job or flow; its origin as properties."""
    content = dict(facet.content)
    name = text_of(content.get("displayName"))
    if name:
        del content["displayName"]
        yield ctx.owner_urn, JOB_FIELD, ("name", FIELD_STATED), truncate(name)
    properties = flatten("gcp_lineage", content)
    if properties:
        yield property_fact(ctx, properties)
