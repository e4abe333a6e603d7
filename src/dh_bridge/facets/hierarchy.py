"""hierarchy (dataset): database, schema, table … https://openlineage.io/docs/spec/facets/dataset-facets/hierarchy"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, property_fact
from dh_bridge.facet_support.hierarchies import containers_of
from dh_bridge.model.facts import CONTAINER, CONTAINER_PATH, Facts
from dh_bridge.model.properties import property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


class HierarchyLevel(Facet):
    """One level."""

    type: str | None = None
    name: str | None = None


class Hierarchy(Facet):
    """The levels, the highest first."""

    hierarchy: list[HierarchyLevel] | None = None


_OUTCOME = as_property()


@facet(
    "hierarchy",
    attach="dataset",
    struct=Hierarchy,
    outcomes={"hierarchy[].type": _OUTCOME, "hierarchy[].name": _OUTCOME},
)
def hierarchy(facet: Hierarchy, ctx: FacetContext) -> Facts:
    """One property, ``[["DATABASE","db"],…]``; containers, which the systems' own connectors write too, by ``containers: on``."""
    levels = [[level.type or "", level.name or ""] for level in facet.hierarchy or () if level.type or level.name]
    value_text = property_text("hierarchy", levels) if levels else None
    if value_text is not None:
        yield property_fact(ctx, {"hierarchy": value_text})
    if ctx.options.settings.containers == "on" and ctx.name is not None:
        containers = containers_of([(kind, name) for kind, name in levels], ctx.name)
        for urn, container in containers:
            yield urn, CONTAINER, "", container
        if containers:
            yield ctx.dataset_urn, CONTAINER_PATH, "", tuple(urn for urn, _ in containers)
