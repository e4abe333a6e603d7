"""spark.exception (run): why a Spark action failed (OpenLineage integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, property_fact
from dh_bridge.facet_support.sibling_facets import sibling_facet
from dh_bridge.facets.error_message import error_properties

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts


class SparkException(Facet):
    """Message and stack trace of a failed Spark action."""

    message: str | None = None
    stackTrace: str | None = None


@facet(
    "spark.exception",
    attach="run",
    struct=SparkException,
    outcomes=dict.fromkeys(("message", "stackTrace"), as_property()),
    producer="Spark",
)
def spark_exception(facet: SparkException, ctx: FacetContext) -> Facts:
    """Read as errorMessage (it stands on the FAIL event only); errorMessage wins where both stand."""
    error_message = sibling_facet(ctx, "errorMessage")
    if "message" in error_message or "stackTrace" in error_message:
        for field_name in ("message", "stackTrace"):
            ctx.note_dropped(field_name, "duplicate-of:errorMessage")
        return
    properties = error_properties(facet.message, facet.stackTrace)
    if properties:
        yield property_fact(ctx, properties)
