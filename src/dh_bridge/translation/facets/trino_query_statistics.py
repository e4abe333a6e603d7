"""trino_query_statistics (run): some forty counters of a query, as text (Trino's OpenLineage event listener)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import RUN_PROPERTIES, STATISTIC, Statements
from dh_bridge.translation.properties import worded
from dh_bridge.translation.reading.statistics import meaningful

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

#: writtenRows is what the table got; outputPositions of an INSERT may be the one row that tells the count.
_ROWS = ("writtenRows", "outputPositions")
_number = msgspec.json.Decoder(int | float).decode


@facet(
    "trino_query_statistics",
    at="run",
    leaves={**dict.fromkeys(_ROWS, mapped(RUN_PROPERTIES, STATISTIC["rowCount"])), "**": kept()},
    producer="Trino",
)
def trino_query_statistics(opened: Open, at: Place) -> Statements:
    """The numbers as one JSON; rows written stand in for a missing outputStatistics of the only output."""
    numbers = {}
    for leaf, value in opened.body.items():
        number = _read(value)
        if number is not None:
            numbers[leaf] = number
        elif value is not None:
            at.withheld(leaf, "no-home:no number")
    if not numbers:
        return
    yield property_statement(at, {"trino_query_statistics": worded("trino_query_statistics", numbers)})
    rows = next((numbers[leaf] for leaf in _ROWS if leaf in numbers), None)
    if isinstance(rows, int) and meaningful(rows) and len(set(at.outputs)) == 1 and at.task and not _counted(at):
        yield at.task, STATISTIC, ("output", at.outputs[0], "rowCount"), rows


def _read(value: Any) -> int | float | None:
    """Return a number, or one that is written as text; None for everything else."""
    if isinstance(value, str):
        try:
            value = _number(value)
        except msgspec.MsgspecError:
            return None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _counted(at: Place) -> bool:
    """Whether an output of the event carries statistics of its own."""
    return any(
        "outputStatistics" in bag for output in at.event.outputs for bag in (output.output_facets, output.facets)
    )
