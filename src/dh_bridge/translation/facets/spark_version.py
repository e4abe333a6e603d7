"""spark_version (run): versions of Spark and of its listener (old releases of OpenLineage's integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.reading.engine import unrepeated

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements

_SAME = {"spark-version": "version", "openlineage-spark-version": "adapter"}


@facet("spark_version", at="run", leaves={"**": kept()}, producer="Spark")
def spark_version(opened: Open, at: Place) -> Statements:
    """Properties of the run; withheld where processing_engine says the same."""
    properties = flattened("spark_version", unrepeated(at, opened.body, _SAME))
    if properties:
        yield property_statement(at, properties)
