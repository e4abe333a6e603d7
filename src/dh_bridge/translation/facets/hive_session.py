"""hive_session (run): who is connected from where (OpenLineage integration/hive)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import RUN_PROPERTIES, RUN_USER, Statements
from dh_bridge.translation.precedence import USER_HIVE
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


#: Of a session that nobody has logged in to
_PLACEHOLDERS = ("anonymous", "hive")


@facet(
    "hive_session",
    at="run",
    leaves={
        "username": mapped(RUN_USER, RUN_PROPERTIES),
        "**": kept(),
    },
    producer="Hive",
)
def hive_session(opened: Open, at: Place) -> Statements:
    """Session properties; the user of the run unless it is a placeholder."""
    body = opened.body
    if at.options.settings.properties.ip_addresses == "drop" and body.get("clientIp") is not None:
        at.withheld("clientIp", "policy:properties.ip_addresses")
        body = {name: said for name, said in body.items() if name != "clientIp"}
    properties = flattened("hive_session", body)
    if properties:
        yield property_statement(at, properties)
    user = text_of(opened.body.get("username"))
    if user and user.lower() not in _PLACEHOLDERS:
        yield at.run, RUN_USER, USER_HIVE, user
