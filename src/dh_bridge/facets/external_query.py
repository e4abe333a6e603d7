"""externalQuery (run): the id of a query in another system. https://openlineage.io/docs/spec/facets/run-facets/external_query"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, property_fact
from dh_bridge.model.facts import OPERATION_PROPERTIES, RUN_NAME, RUN_PROPERTIES, RUN_URL, Facts
from dh_bridge.model.precedence import NAME_EXTERNAL_QUERY, URL_CONFIGURED
from dh_bridge.model.properties import present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


class ExternalQuery(Facet):
    """Query id and the system that gave it."""

    externalQueryId: str | None = None
    source: str | None = None


@facet(
    "externalQuery",
    attach="run",
    struct=ExternalQuery,
    outcomes={
        "externalQueryId": as_property(RUN_PROPERTIES, OPERATION_PROPERTIES["externalQueryId"]),
        "source": as_property(),
    },
)
def external_query(facet: ExternalQuery, ctx: FacetContext) -> Facts:
    """Properties of the run; the query id names the run of a QUERY job, and its page by ``links.queries``."""
    properties = {}
    if facet.externalQueryId:
        properties["externalQuery.externalQueryId"] = present_property_text(
            "externalQuery.externalQueryId", facet.externalQueryId
        )
        yield ctx.run_urn, RUN_NAME, NAME_EXTERNAL_QUERY, facet.externalQueryId
    if facet.source:
        properties["externalQuery.source"] = present_property_text("externalQuery.source", facet.source)
    page_template = ctx.options.settings.links.queries.get(facet.source or "")
    if page_template and facet.externalQueryId:
        yield ctx.run_urn, RUN_URL, URL_CONFIGURED, page_template.replace("{id}", quote(facet.externalQueryId, safe=""))
    if properties:
        yield property_fact(ctx, properties)
