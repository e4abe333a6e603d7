"""Facets of Flink's listener (OpenLineage integration/flink)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.repair import text_of
from dh_bridge.facet_support.statistics import is_meaningful_count
from dh_bridge.model.facts import OPERATION, RUN_COUNT, RUN_NAME, RUN_PROPERTIES, RUN_URL, Facts
from dh_bridge.model.precedence import NAME_FLINK, OPERATION_STREAM, URL_FLINK, URL_FLINK_RUNNING, web_page_url
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


# -- flink_job (run): the id of the Flink job (OpenLineage integration/flink).


@facet(
    "flink_job",
    attach="run",
    outcomes={
        "jobId": mapped(
            RUN_NAME,
            RUN_PROPERTIES,
            RUN_URL,
        ),
        "**": as_property(),
    },
    producer="Flink",
)
def flink_job(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """The job id is the name of the run. If the namespace of the job is the address of Flink's dashboard, the run links to it. Outputs get INSERT operations."""
    properties = flatten("flink_job", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    job_id = text_of(facet.content.get("jobId"))
    if job_id:
        yield ctx.run_urn, RUN_NAME, NAME_FLINK, job_id
        dashboard = web_page_url(ctx.event.namespace)
        if dashboard is not None:
            base = f"{dashboard.rstrip('/')}/#/job"
            running_url = f"{base}/running/{quote(job_id, safe='')}"
            if ctx.event.is_terminal:
                yield ctx.run_urn, RUN_URL, URL_FLINK, f"{base}/completed/{quote(job_id, safe='')}"
            else:
                yield ctx.run_urn, RUN_URL, URL_FLINK, running_url
                yield ctx.run_urn, RUN_URL, URL_FLINK_RUNNING, running_url
    for output in ctx.outputs:
        yield output, OPERATION, OPERATION_STREAM, "INSERT"


# -- checkpoints (run): checkpoint counts of a Flink job (OpenLineage integration/flink).


@facet("checkpoints", attach="run", outcomes={"**": as_property(RUN_COUNT, RUN_PROPERTIES)}, producer="Flink")
def checkpoints(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Properties of the run: the largest counts of all its events."""
    other_values = {}
    for field_name, value in facet.content.items():
        if type(value) is int and is_meaningful_count(value):
            yield ctx.run_urn, RUN_COUNT, f"checkpoints.{field_name}", value
        else:
            other_values[field_name] = value
    properties = flatten("checkpoints", other_values)
    if properties:
        yield property_fact(ctx, properties)
