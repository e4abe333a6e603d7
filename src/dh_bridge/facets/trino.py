"""Facets of Trino's OpenLineage event listener."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, dropped, facet, mapped, property_fact
from dh_bridge.facet_support.generic import drop_large_value
from dh_bridge.facet_support.repair import text_of
from dh_bridge.facet_support.statistics import is_meaningful_count
from dh_bridge.model.facts import OPERATION, RUN_NAME, RUN_PROPERTIES, RUN_USER, STATISTIC, SUBTYPES, Facts
from dh_bridge.model.precedence import NAME_QUERY, OPERATION_TRINO, USER_TRINO
from dh_bridge.model.properties import flatten, present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


# -- trino_metadata (run): ids and plan of a query (Trino's OpenLineage event listener).


@facet(
    "trino_metadata",
    attach="run",
    outcomes={
        "query_id": mapped(RUN_NAME, RUN_PROPERTIES),
        "query_plan": dropped("plan"),
        "query_plan**": dropped("plan"),
        "**": as_property(),
    },
    producer="Trino",
)
def trino_metadata(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """The query id is the name of the run, the transaction id a property. Of the plan, only hash and size are written."""
    content, properties = drop_large_value("trino_metadata", facet.content, "query_plan", "plan", ctx)
    flatten("trino_metadata", content, properties)
    if properties:
        yield property_fact(ctx, properties)
    query = text_of(content.get("query_id"))
    if query:
        yield ctx.run_urn, RUN_NAME, NAME_QUERY, query


# -- trino_query_context (run): user, type and environment of a query (Trino's OpenLineage event listener).

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
    """Properties of the run, and its user. The query type is the operation on the outputs, if neither lifecycleStateChange nor the SQL states one."""
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


# -- trino_query_statistics (run): some forty counters of a query, as text (Trino's OpenLineage event listener).

#: writtenRows is the number of rows in the table; outputPositions of an INSERT may be the one row with the count.
_ROW_FIELDS = ("writtenRows", "outputPositions")
_decode_number = msgspec.json.Decoder(int | float).decode


@facet(
    "trino_query_statistics",
    attach="run",
    outcomes={**dict.fromkeys(_ROW_FIELDS, mapped(RUN_PROPERTIES, STATISTIC["rowCount"])), "**": as_property()},
    producer="Trino",
)
def trino_query_statistics(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """All numbers, as one JSON property of the run. If there is only one output without outputStatistics, it gets the number of written rows."""
    numbers = {}
    for field_name, value in facet.content.items():
        number = _parse_number(value)
        if number is not None:
            numbers[field_name] = number
        elif value is not None:
            ctx.note_dropped(field_name, "no-field:not a number")
    if not numbers:
        return
    yield property_fact(ctx, {"trino_query_statistics": present_property_text("trino_query_statistics", numbers)})
    rows = next((numbers[field_name] for field_name in _ROW_FIELDS if field_name in numbers), None)
    if (
        isinstance(rows, int)
        and is_meaningful_count(rows)
        and len(set(ctx.outputs)) == 1
        and ctx.task_urn
        and not _has_output_statistics(ctx)
    ):
        yield ctx.task_urn, STATISTIC, ("output", ctx.outputs[0], "rowCount"), rows


def _parse_number(value: Any) -> int | float | None:
    """Return a number, or one that is written as text; None for everything else."""
    if isinstance(value, str):
        try:
            value = _decode_number(value)
        except msgspec.MsgspecError:
            return None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _has_output_statistics(ctx: FacetContext) -> bool:
    """Whether an output of the event carries statistics of its own."""
    return any(
        "outputStatistics" in facets for output in ctx.event.outputs for facets in (output.output_facets, output.facets)
    )
