"""hierarchy (dataset): database, schema, table … https://openlineage.io/docs/spec/facets/dataset-facets/hierarchy"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, kept, property_statement
from dh_bridge.translation.facts import CONTAINER, INSIDE, Statements
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.reading.hierarchies import containers_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


class Level(Facet):
    """One level."""

    type: str | None = None
    name: str | None = None


class Hierarchy(Facet):
    """The levels, the highest first."""

    hierarchy: list[Level] | None = None


_ROW = kept()


@facet("hierarchy", at="dataset", reads=Hierarchy, leaves={"hierarchy[].type": _ROW, "hierarchy[].name": _ROW})
def hierarchy(facet: Hierarchy, at: Place) -> Statements:
    """One property, ``[["DATABASE","db"],…]``; containers, which the systems' own connectors write too, by ``containers: on``."""
    levels = [[level.type or "", level.name or ""] for level in facet.hierarchy or () if level.type or level.name]
    written = kept_text("hierarchy", levels) if levels else None
    if written is not None:
        yield property_statement(at, {"hierarchy": written})
    if at.options.settings.containers == "on" and at.name is not None:
        found = containers_of([(kind, name) for kind, name in levels], at.name)
        for urn, container in found:
            yield urn, CONTAINER, "", container
        if found:
            yield at.dataset, INSIDE, "", tuple(urn for urn, _ in found)
