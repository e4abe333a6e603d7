"""spark_jobDetails (run): job id, group and call site (OpenLineage integration/spark)."""

from __future__ import annotations

from dh_bridge.translation.generic import kept_facet

spark_job_details = kept_facet(
    "spark_jobDetails", at="run", doc="Job id, description, group and call site.", producer="Spark"
)
