"""spark.logicalPlan (run): the plan as Spark prints it (OpenLineage integration/spark)."""

from __future__ import annotations

from dh_bridge.facet_support.generic import bulk_facet

spark_logical_plan = bulk_facet(
    "spark.logicalPlan",
    attach="run",
    reason="plan",
    doc="Withheld (the bulk of an event, of use to nobody in a catalogue); hash and size kept.",
    producer="Spark",
)
