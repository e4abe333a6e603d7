"""hive_query (run): id and operation of a query (OpenLineage integration/hive)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import OPERATION, RUN_NAME, RUN_PROPERTIES, SUBTYPES, Facts
from dh_bridge.model.precedence import NAME_QUERY, OPERATION_HIVE
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

_MAX_SUBTYPE_CHARS = 100


@facet(
    "hive_query",
    attach="run",
    outcomes={
        "queryId": mapped(RUN_NAME, RUN_PROPERTIES),
        "operationName": mapped(OPERATION, SUBTYPES, RUN_PROPERTIES),
        "**": as_property(),
    },
    producer="Hive",
)
def hive_query(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Query id as the name of the run; the operation of its outputs where no lifecycle word is said, the job's second subtype."""
    properties = flatten("hive_query", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    query = text_of(facet.content.get("queryId"))
    if query:
        yield ctx.run_urn, RUN_NAME, NAME_QUERY, query
    operation = text_of(facet.content.get("operationName"))
    if operation:
        yield ctx.owner_urn, SUBTYPES, "operator", operation[:_MAX_SUBTYPE_CHARS]
        for output in ctx.outputs:
            yield output, OPERATION, OPERATION_HIVE, operation
