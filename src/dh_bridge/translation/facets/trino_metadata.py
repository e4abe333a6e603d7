"""trino_metadata (run): ids and plan of a query (Trino's OpenLineage event listener)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement, withheld
from dh_bridge.translation.facts import RUN_NAME, RUN_PROPERTIES, Statements
from dh_bridge.translation.precedence import NAME_QUERY
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.reading.bulk import without_bulk
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


@facet(
    "trino_metadata",
    at="run",
    leaves={
        "query_id": mapped(RUN_NAME, RUN_PROPERTIES),
        "query_plan": withheld("plan"),
        "query_plan**": withheld("plan"),
        "**": kept(),
    },
    producer="Trino",
)
def trino_metadata(opened: Open, at: Place) -> Statements:
    """Query id as the name of the run, transaction id as a property; of the plan hash and size."""
    body, properties = without_bulk("trino_metadata", opened.body, "query_plan", "plan", at)
    flattened("trino_metadata", body, properties)
    if properties:
        yield property_statement(at, properties)
    query = text_of(body.get("query_id"))
    if query:
        yield at.run, RUN_NAME, NAME_QUERY, query
