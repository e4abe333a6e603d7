"""hive_query (run): id and operation of a query (OpenLineage integration/hive)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import OPERATION, RUN_NAME, RUN_PROPERTIES, SUBTYPES, Statements
from dh_bridge.translation.precedence import NAME_QUERY, OPERATION_HIVE
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_LONGEST = 100


@facet(
    "hive_query",
    at="run",
    leaves={
        "queryId": mapped(RUN_NAME, RUN_PROPERTIES),
        "operationName": mapped(OPERATION, SUBTYPES, RUN_PROPERTIES),
        "**": kept(),
    },
    producer="Hive",
)
def hive_query(opened: Open, at: Place) -> Statements:
    """Query id as the name of the run; the operation of its outputs where no lifecycle word is said, the job's second subtype."""
    properties = flattened("hive_query", opened.body)
    if properties:
        yield property_statement(at, properties)
    query = text_of(opened.body.get("queryId"))
    if query:
        yield at.run, RUN_NAME, NAME_QUERY, query
    operation = text_of(opened.body.get("operationName"))
    if operation:
        yield at.owner, SUBTYPES, "operator", operation[:_LONGEST]
        for output in at.outputs:
            yield output, OPERATION, OPERATION_HIVE, operation
