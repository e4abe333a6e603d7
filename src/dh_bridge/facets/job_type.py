"""jobType (job): what kind of job it is. https://openlineage.io/docs/spec/facets/job-facets/job-type"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, mapped, property_fact
from dh_bridge.identity.subtypes import job_subtype
from dh_bridge.model.facts import CONTENT_MODE, JOB_PROPERTIES, RUN_TYPE, SUBTYPES, Facts
from dh_bridge.model.precedence import TYPE_INTEGRATION, TYPE_JOB, TYPE_PROCESSING, TYPE_STREAMING
from dh_bridge.model.properties import present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


class EmissionPattern(Facet):
    """When events are sent and which facts they have."""

    eventTrigger: str | None = None
    eventContentMode: str | None = None
    windowDuration: str | None = None


_RUN_TYPE_HINTS = {"processingType": TYPE_PROCESSING, "integration": TYPE_INTEGRATION, "jobType": TYPE_JOB}


class JobType(Facet):
    """Processing type, integration, job type and emission pattern."""

    processingType: str | None = None
    integration: str | None = None
    jobType: str | None = None
    emissionPattern: EmissionPattern | None = None


@facet(
    "jobType",
    attach="job",
    struct=JobType,
    outcomes={
        "processingType": mapped(RUN_TYPE, JOB_PROPERTIES),
        "integration": as_property(),
        "jobType": mapped(SUBTYPES, JOB_PROPERTIES),
        "emissionPattern.eventTrigger": as_property(),
        "emissionPattern.eventContentMode": as_property(),
        "emissionPattern.windowDuration": as_property(),
    },
)
def job_type(facet: JobType, ctx: FacetContext) -> Facts:
    """Subtype of job, flow and run; type of the run; properties of the job. The content mode states how the events of a run are merged."""
    properties = {}
    for field_name in ("processingType", "integration", "jobType"):
        field_value = getattr(facet, field_name)
        if field_value:
            properties[f"jobType.{field_name}"] = present_property_text(f"jobType.{field_name}", field_value)
            if ctx.run_urn:
                yield ctx.run_urn, RUN_TYPE, _RUN_TYPE_HINTS[field_name], field_value
    if (facet.processingType or "").upper() in ("STREAMING", "SERVICE"):
        if ctx.run_urn:
            yield ctx.run_urn, RUN_TYPE, TYPE_STREAMING, True  # a later word does not take it back
    elif facet.processingType:
        ctx.note_outcome("processingType", JOB_PROPERTIES)  # no other word is a type of the run
    subtype = job_subtype(facet.jobType)
    if subtype:
        yield ctx.owner_urn, SUBTYPES, "", subtype
    pattern = facet.emissionPattern
    if pattern is not None:
        for name in ("eventTrigger", "eventContentMode", "windowDuration"):
            value = getattr(pattern, name)
            if value:
                key = f"jobType.emissionPattern.{name}"
                properties[key] = present_property_text(key, value)
        if pattern.eventContentMode and ctx.run_urn:
            yield ctx.run_urn, CONTENT_MODE, "", pattern.eventContentMode
    if properties:
        yield property_fact(ctx, properties)
