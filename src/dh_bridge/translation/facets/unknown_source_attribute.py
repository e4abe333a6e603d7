"""unknownSourceAttribute (run): a dump of an operator that no extractor knows (Airflow, deprecated)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, property_statement, withheld
from dh_bridge.translation.properties import digest_properties, worded
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements


@facet(
    "unknownSourceAttribute",
    at="run",
    leaves={
        "unknownItems[].name": kept(),
        "unknownItems[].type": kept(),
        "**": withheld("bulk"),
    },
    producer="Airflow",
)
def unknown_source_attribute(opened: Open, at: Place) -> Statements:
    """Names and types of the items; their properties repeat airflow.task and are withheld, hash and size kept."""
    items = opened.body.get("unknownItems")
    properties = digest_properties("unknownSourceAttribute", bytes(at.raw))
    rows = [
        {key: said for key in ("name", "type") if (said := text_of(item.get(key)))}
        for item in (items if isinstance(items, list) else [])
        if isinstance(item, dict)
    ]
    if rows:
        key = "unknownSourceAttribute.unknownItems"
        properties[key] = worded(key, rows)
    yield property_statement(at, properties)
