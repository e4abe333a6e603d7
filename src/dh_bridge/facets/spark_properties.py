"""spark_properties (run): chosen Spark settings (OpenLineage integration/spark)."""

from __future__ import annotations

from dh_bridge.facet_support.generic import map_facet

spark_properties = map_facet(
    "spark_properties",
    separate_names=("spark.master",),
    doc="All properties as one redacted JSON; spark.master on its own too.",
    producer="Spark",
)
