"""spark.exception (run): why a Spark action failed (OpenLineage integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, kept, property_statement
from dh_bridge.translation.facets.error_message import error_properties
from dh_bridge.translation.reading.beside import beside

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements


class SparkException(Facet):
    """Message and stack trace of a failed Spark action."""

    message: str | None = None
    stackTrace: str | None = None


@facet(
    "spark.exception",
    at="run",
    reads=SparkException,
    leaves=dict.fromkeys(("message", "stackTrace"), kept()),
    producer="Spark",
)
def spark_exception(facet: SparkException, at: Place) -> Statements:
    """Read as errorMessage (it stands on the FAIL event only); errorMessage wins where both stand."""
    said = beside(at, "errorMessage")
    if "message" in said or "stackTrace" in said:
        for leaf in ("message", "stackTrace"):
            at.withheld(leaf, "duplicate-of:errorMessage")
        return
    properties = error_properties(facet.message, facet.stackTrace)
    if properties:
        yield property_statement(at, properties)
