"""Columns that a query can ask for although no table has them: some producers tell them behind those of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.sibling_facets import sibling_facet

if TYPE_CHECKING:
    from dh_bridge.columns.field import SchemaFacetField
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.identity.producers import ProducerFamily


def drop_hidden_columns(fields: list[SchemaFacetField], ctx: FacetContext) -> list[SchemaFacetField]:
    """Return the fields of an input without the hidden ones at their end, which are noted."""
    producer = ctx.options.identity.producer(ctx.event.producer)
    if producer is None or ctx.role != "input" or not (producer.hidden_columns or producer.file_metadata):
        return fields
    count = len(fields)
    while count and fields[count - 1].name.startswith("_") and _is_hidden(fields[count - 1], producer, ctx):
        count -= 1
        ctx.note_dropped(f"fields[{count}]", "no-field:hidden-column")
    return fields if count == len(fields) else fields[:count]


def _is_hidden(field: SchemaFacetField, producer: ProducerFamily, ctx: FacetContext) -> bool:
    members = producer.file_metadata.get(field.name)
    if members is not None and field.fields:
        return members > {member.name for member in field.fields}
    layers = sibling_facet(ctx, "storage").get("storageLayer"), sibling_facet(ctx, "catalog").get("framework")
    return any(field.name in producer.hidden_columns.get(str(layer).lower(), ()) for layer in layers)
