"""trino_query_context (run): who asked what kind of query, and where (Trino's OpenLineage event listener)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import OPERATION, RUN_PROPERTIES, RUN_USER, SUBTYPES, Facts
from dh_bridge.model.precedence import OPERATION_TRINO, USER_TRINO
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

_MAX_SUBTYPE_CHARS = 100


@facet(
    "trino_query_context",
    attach="run",
    outcomes={
        "user": mapped(RUN_USER, RUN_PROPERTIES),
        "query_type": mapped(OPERATION, SUBTYPES, RUN_PROPERTIES),
        "**": as_property(),
    },
    producer="Trino",
)
def trino_query_context(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Properties of the run; its user; the operation of its outputs where neither a lifecycle word nor the SQL tells."""
    properties = flatten("trino_query_context", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    user, kind = text_of(facet.content.get("user")), text_of(facet.content.get("query_type"))
    if user:
        yield ctx.run_urn, RUN_USER, USER_TRINO, user
    if kind:
        if ctx.job is not None and not ctx.job.shared:  # the queries of a shared job may be of any kind
            yield ctx.owner_urn, SUBTYPES, "operator", kind[:_MAX_SUBTYPE_CHARS]
        for output in ctx.outputs:
            yield output, OPERATION, OPERATION_TRINO, kind
