"""unknownSourceAttribute (run): a dump of an operator that no extractor knows (Airflow, deprecated)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, dropped, facet, property_fact
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.properties import digest_properties, present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts


@facet(
    "unknownSourceAttribute",
    attach="run",
    outcomes={
        "unknownItems[].name": as_property(),
        "unknownItems[].type": as_property(),
        "**": dropped("bulk"),
    },
    producer="Airflow",
)
def unknown_source_attribute(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Names and types of the items; their properties repeat airflow.task and are withheld, hash and size kept."""
    items = facet.content.get("unknownItems")
    properties = digest_properties("unknownSourceAttribute", bytes(ctx.raw))
    rows = [
        {key: text for key in ("name", "type") if (text := text_of(item.get(key)))}
        for item in (items if isinstance(items, list) else [])
        if isinstance(item, dict)
    ]
    if rows:
        key = "unknownSourceAttribute.unknownItems"
        properties[key] = present_property_text(key, rows)
    yield property_fact(ctx, properties)
