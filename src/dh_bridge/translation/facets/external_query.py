"""externalQuery (run): the id of a query in another system. https://openlineage.io/docs/spec/facets/run-facets/external_query"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from dh_bridge.translation.facet import Facet, facet, kept, property_statement
from dh_bridge.translation.facts import OPERATION_PROPERTIES, RUN_NAME, RUN_PROPERTIES, RUN_URL, Statements
from dh_bridge.translation.precedence import NAME_EXTERNAL_QUERY, URL_CONFIGURED
from dh_bridge.translation.properties import worded

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


class ExternalQuery(Facet):
    """Query id and the system that gave it."""

    externalQueryId: str | None = None
    source: str | None = None


@facet(
    "externalQuery",
    at="run",
    reads=ExternalQuery,
    leaves={"externalQueryId": kept(RUN_PROPERTIES, OPERATION_PROPERTIES["externalQueryId"]), "source": kept()},
)
def external_query(facet: ExternalQuery, at: Place) -> Statements:
    """Properties of the run; the query id names the run of a QUERY job, and its page by ``links.queries``."""
    properties = {}
    if facet.externalQueryId:
        properties["externalQuery.externalQueryId"] = worded("externalQuery.externalQueryId", facet.externalQueryId)
        yield at.run, RUN_NAME, NAME_EXTERNAL_QUERY, facet.externalQueryId
    if facet.source:
        properties["externalQuery.source"] = worded("externalQuery.source", facet.source)
    page = at.options.settings.links.queries.get(facet.source or "")
    if page and facet.externalQueryId:
        yield at.run, RUN_URL, URL_CONFIGURED, page.replace("{id}", quote(facet.externalQueryId, safe=""))
    if properties:
        yield property_statement(at, properties)
