"""spark_version (run): versions of Spark and of its listener (old releases of OpenLineage's integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.engine import drop_repeated_fields
from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, property_fact
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts

_ENGINE_FIELDS = {"spark-version": "version", "openlineage-spark-version": "adapter"}


@facet("spark_version", attach="run", outcomes={"**": as_property()}, producer="Spark")
def spark_version(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Properties of the run; withheld where processing_engine says the same."""
    properties = flatten("spark_version", drop_repeated_fields(ctx, facet.content, _ENGINE_FIELDS))
    if properties:
        yield property_fact(ctx, properties)
