"""description (dataset): a text for people, as senders for Confluent Cloud write it; the spec's own is documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import DATASET_FIELD, Statements
from dh_bridge.translation.precedence import FIELD_WEAK
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


@facet(
    "description",
    at="dataset",
    leaves={"description": mapped(DATASET_FIELD["description"]), "**": kept()},
    producer="Confluent",
)
def description(opened: Open, at: Place) -> Statements:
    """Description of the dataset where no documentation is stated."""
    body = dict(opened.body)
    text = text_of(body.get("description"))
    if text.strip():
        del body["description"]
        yield at.dataset, DATASET_FIELD, ("description", FIELD_WEAK), text
    properties = flattened("description", body)
    if properties:
        yield property_statement(at, properties)
