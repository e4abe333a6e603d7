"""trino_query_context (run): who asked what kind of query, and where (Trino's OpenLineage event listener)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import OPERATION, RUN_USER, SUBTYPES, Statements
from dh_bridge.translation.precedence import OPERATION_TRINO, USER_TARGETS, USER_TRINO
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_PROPERTIES = "dataProcessInstanceProperties"
_LONGEST = 100


@facet(
    "trino_query_context",
    at="run",
    leaves={
        "user": mapped(*USER_TARGETS),
        "query_type": mapped("operation.operationType", "subTypes.typeNames", f"{_PROPERTIES}.customProperties"),
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
        if at.job is not None and not at.job.shared:
            yield at.owner, SUBTYPES, "operator", kind[:_LONGEST]
        else:  # the queries of one job may be of any kind
            at.reached("query_type", "mapped", "operation.operationType", f"{_PROPERTIES}.customProperties")
        for output in at.outputs:
            yield output, OPERATION, OPERATION_TRINO, kind
