"""spark_jobDetails (run): job id, description, group and call site (OpenLineage integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import JOB_FIELD, RUN_PROPERTIES, Facts
from dh_bridge.model.precedence import FIELD_WEAK
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


@facet(
    "spark_jobDetails",
    attach="run",
    outcomes={"jobDescription": mapped(JOB_FIELD["description"], RUN_PROPERTIES), "**": as_property()},
    producer="Spark",
)
def spark_job_details(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Properties of the run; the description describes the job where nothing else does, never the application."""
    properties = flatten("spark_jobDetails", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    text = text_of(facet.content.get("jobDescription"))
    if text.strip() and ctx.job is not None and ctx.job.level == "job":
        yield ctx.owner_urn, JOB_FIELD, ("description", FIELD_WEAK), text
