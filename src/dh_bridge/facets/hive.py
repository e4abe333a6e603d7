"""Facets of Hive's hook (OpenLineage integration/hive)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.generic import map_facet
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import OPERATION, RUN_NAME, RUN_PROPERTIES, RUN_USER, SUBTYPES, Facts
from dh_bridge.model.precedence import NAME_QUERY, OPERATION_HIVE, USER_HIVE
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


# -- hive_properties (run): properties of the Hive session (OpenLineage integration/hive).

hive_properties = map_facet(
    "hive_properties", doc="Session properties, as one redacted JSON property.", producer="Hive"
)


# -- hive_query (run): id and operation of a query (OpenLineage integration/hive).

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
    """The query id is the name of the run. The operation name is the operation on the outputs, unless lifecycleStateChange states one, and the second subtype of the job."""
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


# -- hive_session (run): the user and the address of the client (OpenLineage integration/hive).

#: Of a session without a login
_PLACEHOLDER_USERS = ("anonymous", "hive")


@facet(
    "hive_session",
    attach="run",
    outcomes={
        "username": mapped(RUN_USER, RUN_PROPERTIES),
        "**": as_property(),
    },
    producer="Hive",
)
def hive_session(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Properties of the run. The user name is the user of the run, unless it is a placeholder."""
    content = facet.content
    if "ip_addresses" in ctx.options.settings.excluded_metadata and content.get("clientIp") is not None:
        ctx.note_dropped("clientIp", "policy:excluded_metadata")
        content = {name: value for name, value in content.items() if name != "clientIp"}
    properties = flatten("hive_session", content)
    if properties:
        yield property_fact(ctx, properties)
    user = text_of(facet.content.get("username"))
    if user and user.lower() not in _PLACEHOLDER_USERS:
        yield ctx.run_urn, RUN_USER, USER_HIVE, user
