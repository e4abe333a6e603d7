"""catalog (dataset): the catalogue that holds it. https://openlineage.io/docs/spec/facets/dataset-facets/catalog"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.reading.given import configuration

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements


@facet(
    "catalog",
    at="dataset",
    leaves={
        "**": kept(),
    },
)
def catalog(opened: Open, at: Place) -> Statements:
    """Framework, type, name and addresses of the catalogue, redacted; an open map of properties as one JSON."""
    body = dict(opened.body)
    rest = body.pop("catalogProperties", None)
    properties = flattened("catalog", body)
    if isinstance(rest, dict):
        rest = configuration(rest, "catalogProperties", at)
    written = kept_text("catalog.catalogProperties", rest) if rest else None
    if written:
        properties["catalog.catalogProperties"] = written
    if properties:
        yield property_statement(at, properties)
