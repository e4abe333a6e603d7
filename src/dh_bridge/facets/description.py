"""description (dataset): a text for people, as senders for Confluent Cloud write it; the spec's own is documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import DATASET_FIELD, Facts
from dh_bridge.model.precedence import FIELD_WEAK
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


@facet(
    "description",
    attach="dataset",
    outcomes={"description": mapped(DATASET_FIELD["description"]), "**": as_property()},
    producer="Confluent",
)
def description(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Description of the dataset where no documentation is stated."""
    content = dict(facet.content)
    text = text_of(content.get("description"))
    if text.strip():
        del content["description"]
        yield ctx.dataset_urn, DATASET_FIELD, ("description", FIELD_WEAK), text
    properties = flatten("description", content)
    if properties:
        yield property_fact(ctx, properties)
