"""hive_session (run): who is connected from where (OpenLineage integration/hive)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import RUN_PROPERTIES, RUN_USER, Facts
from dh_bridge.model.precedence import USER_HIVE
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


#: Of a session that nobody has logged in to
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
    """Session properties; the user of the run unless it is a placeholder."""
    content = facet.content
    if ctx.options.settings.properties.ip_addresses == "drop" and content.get("clientIp") is not None:
        ctx.note_dropped("clientIp", "policy:properties.ip_addresses")
        content = {name: value for name, value in content.items() if name != "clientIp"}
    properties = flatten("hive_session", content)
    if properties:
        yield property_fact(ctx, properties)
    user = text_of(facet.content.get("username"))
    if user and user.lower() not in _PLACEHOLDER_USERS:
        yield ctx.run_urn, RUN_USER, USER_HIVE, user
