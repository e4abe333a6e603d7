"""spark_unknown (run): plan nodes that the listener did not understand (OpenLineage integration/spark)."""

from __future__ import annotations

from dh_bridge.translation.generic import bulk_facet

spark_unknown = bulk_facet(
    "spark_unknown", at="run", reason="plan", doc="Withheld; hash and size kept.", producer="Spark"
)
