"""trino_metadata (run): ids and plan of a query (Trino's OpenLineage event listener)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, dropped, facet, mapped, property_fact
from dh_bridge.facet_support.large_values import drop_large_value
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import RUN_NAME, RUN_PROPERTIES, Facts
from dh_bridge.model.precedence import NAME_QUERY
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


@facet(
    "trino_metadata",
    attach="run",
    outcomes={
        "query_id": mapped(RUN_NAME, RUN_PROPERTIES),
        "query_plan": dropped("plan"),
        "query_plan**": dropped("plan"),
        "**": as_property(),
    },
    producer="Trino",
)
def trino_metadata(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Query id as the name of the run, transaction id as a property; of the plan hash and size."""
    content, properties = drop_large_value("trino_metadata", facet.content, "query_plan", "plan", ctx)
    flatten("trino_metadata", content, properties)
    if properties:
        yield property_fact(ctx, properties)
    query = text_of(content.get("query_id"))
    if query:
        yield ctx.run_urn, RUN_NAME, NAME_QUERY, query
