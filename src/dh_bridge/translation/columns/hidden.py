"""Columns that a query can ask for although no table has them: some producers tell them behind those of the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.reading.beside import beside

if TYPE_CHECKING:
    from dh_bridge.translation.columns.field import Field
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.identity.producers import Producer


def shown(fields: list[Field], at: Place) -> list[Field]:
    """Return the fields of an input without the hidden ones at their end, which are noted."""
    producer = at.options.identity.producer(at.event.producer)
    if producer is None or at.role != "input" or not (producer.hidden_columns or producer.file_metadata):
        return fields
    count = len(fields)
    while count and fields[count - 1].name.startswith("_") and _hidden(fields[count - 1], producer, at):
        count -= 1
        at.withheld(f"fields[{count}]", "no-home:hidden-column")
    return fields if count == len(fields) else fields[:count]


def _hidden(field: Field, producer: Producer, at: Place) -> bool:
    members = producer.file_metadata.get(field.name)
    if members is not None and field.fields:
        return members > {member.name for member in field.fields}
    layers = beside(at, "storage").get("storageLayer"), beside(at, "catalog").get("framework")
    return any(field.name in producer.hidden_columns.get(str(layer).lower(), ()) for layer in layers)
