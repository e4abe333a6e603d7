"""trino_query_context (run): who asked what kind of query, and where (Trino's OpenLineage event listener)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import OPERATION, RUN_PROPERTIES, RUN_USER, SUBTYPES, Statements
from dh_bridge.translation.precedence import OPERATION_TRINO, USER_TRINO
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_LONGEST = 100


@facet(
    "trino_query_context",
    at="run",
    leaves={
        "user": mapped(RUN_USER, RUN_PROPERTIES),
        "query_type": mapped(OPERATION, SUBTYPES, RUN_PROPERTIES),
        "**": kept(),
    },
    producer="Trino",
)
def trino_query_context(opened: Open, at: Place) -> Statements:
    """Properties of the run; its user; the operation of its outputs where neither a lifecycle word nor the SQL tells."""
    properties = flattened("trino_query_context", opened.body)
    if properties:
        yield property_statement(at, properties)
    user, kind = text_of(opened.body.get("user")), text_of(opened.body.get("query_type"))
    if user:
        yield at.run, RUN_USER, USER_TRINO, user
    if kind:
        if at.job is not None and not at.job.shared:  # the queries of a shared job may be of any kind
            yield at.owner, SUBTYPES, "operator", kind[:_LONGEST]
        for output in at.outputs:
            yield output, OPERATION, OPERATION_TRINO, kind
