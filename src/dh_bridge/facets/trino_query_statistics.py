"""trino_query_statistics (run): some forty counters of a query, as text (Trino's OpenLineage event listener)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.statistics import is_meaningful_count
from dh_bridge.model.facts import RUN_PROPERTIES, STATISTIC, Facts
from dh_bridge.model.properties import present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

#: writtenRows is what the table got; outputPositions of an INSERT may be the one row that tells the count.
_ROW_FIELDS = ("writtenRows", "outputPositions")
_decode_number = msgspec.json.Decoder(int | float).decode


@facet(
    "trino_query_statistics",
    attach="run",
    outcomes={**dict.fromkeys(_ROW_FIELDS, mapped(RUN_PROPERTIES, STATISTIC["rowCount"])), "**": as_property()},
    producer="Trino",
)
def trino_query_statistics(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """The numbers as one JSON; rows written stand in for a missing outputStatistics of the only output."""
    numbers = {}
    for field_name, value in facet.content.items():
        number = _parse_number(value)
        if number is not None:
            numbers[field_name] = number
        elif value is not None:
            ctx.note_dropped(field_name, "no-field:no number")
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
