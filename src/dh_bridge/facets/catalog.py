"""catalog (dataset): the catalogue that holds it. https://openlineage.io/docs/spec/facets/dataset-facets/catalog"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, property_fact
from dh_bridge.facet_support.named_parameters import configuration
from dh_bridge.model.properties import flatten, property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts


@facet(
    "catalog",
    attach="dataset",
    outcomes={
        "**": as_property(),
    },
)
def catalog(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Framework, type, name and addresses of the catalogue, redacted; an open map of properties as one JSON."""
    content = dict(facet.content)
    catalog_properties = content.pop("catalogProperties", None)
    properties = flatten("catalog", content)
    if isinstance(catalog_properties, dict):
        catalog_properties = configuration(catalog_properties, "catalogProperties", ctx)
    value_text = property_text("catalog.catalogProperties", catalog_properties) if catalog_properties else None
    if value_text:
        properties["catalog.catalogProperties"] = value_text
    if properties:
        yield property_fact(ctx, properties)
