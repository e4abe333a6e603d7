"""checkpoints (run): checkpoint counts of a Flink job (OpenLineage integration/flink)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.facts import RUN_COUNT, RUN_PROPERTIES, Statements
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.reading.statistics import meaningful

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


@facet("checkpoints", at="run", leaves={"**": kept(RUN_COUNT, RUN_PROPERTIES)}, producer="Flink")
def checkpoints(opened: Open, at: Place) -> Statements:
    """The largest count that any event of the run says, as a property of the run."""
    rest = {}
    for leaf, value in opened.body.items():
        if type(value) is int and meaningful(value):
            yield at.run, RUN_COUNT, f"checkpoints.{leaf}", value
        else:
            rest[leaf] = value
    properties = flattened("checkpoints", rest)
    if properties:
        yield property_statement(at, properties)
