"""spark_jobDetails (run): job id, description, group and call site (OpenLineage integration/spark)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import JOB_FIELD, RUN_PROPERTIES, Statements
from dh_bridge.translation.precedence import FIELD_WEAK
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


@facet(
    "spark_jobDetails",
    at="run",
    leaves={"jobDescription": mapped(JOB_FIELD["description"], RUN_PROPERTIES), "**": kept()},
    producer="Spark",
)
def spark_job_details(opened: Open, at: Place) -> Statements:
    """Properties of the run; the description describes the job where nothing else does, never the application."""
    properties = flattened("spark_jobDetails", opened.body)
    if properties:
        yield property_statement(at, properties)
    text = text_of(opened.body.get("jobDescription"))
    if text.strip() and at.job is not None and at.job.level == "job":
        yield at.owner, JOB_FIELD, ("description", FIELD_WEAK), text
