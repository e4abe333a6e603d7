"""jobType (job): what kind of job it is. https://openlineage.io/docs/spec/facets/job-facets/job-type"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import CONTENT_MODE, JOB_PROPERTIES, RUN_TYPE, SUBTYPES, Statements
from dh_bridge.translation.identity.subtypes import job_subtype
from dh_bridge.translation.precedence import TYPE_INTEGRATION, TYPE_JOB, TYPE_PROCESSING, TYPE_STREAMING
from dh_bridge.translation.properties import worded

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


class EmissionPattern(Facet):
    """When events are sent and what they hold."""

    eventTrigger: str | None = None
    eventContentMode: str | None = None
    windowDuration: str | None = None


_HINTS = {"processingType": TYPE_PROCESSING, "integration": TYPE_INTEGRATION, "jobType": TYPE_JOB}


class JobType(Facet):
    """Processing type, integration, job type and emission pattern."""

    processingType: str | None = None
    integration: str | None = None
    jobType: str | None = None
    emissionPattern: EmissionPattern | None = None


@facet(
    "jobType",
    at="job",
    reads=JobType,
    leaves={
        "processingType": mapped(RUN_TYPE, JOB_PROPERTIES),
        "integration": kept(),
        "jobType": mapped(SUBTYPES, JOB_PROPERTIES),
        "emissionPattern.eventTrigger": kept(),
        "emissionPattern.eventContentMode": kept(),
        "emissionPattern.windowDuration": kept(),
    },
)
def job_type(facet: JobType, at: Place) -> Statements:
    """Subtype of job, flow and run, type of the run, properties of the job; the content mode steers the fold."""
    properties = {}
    for leaf in ("processingType", "integration", "jobType"):
        word = getattr(facet, leaf)
        if word:
            properties[f"jobType.{leaf}"] = worded(f"jobType.{leaf}", word)
            if at.run:
                yield at.run, RUN_TYPE, _HINTS[leaf], word
    if (facet.processingType or "").upper() in ("STREAMING", "SERVICE"):
        if at.run:
            yield at.run, RUN_TYPE, TYPE_STREAMING, True  # a later word does not take it back
    elif facet.processingType:
        at.reached("processingType", JOB_PROPERTIES)  # no other word is a type of the run
    subtype = job_subtype(facet.jobType)
    if subtype:
        yield at.owner, SUBTYPES, "", subtype
    pattern = facet.emissionPattern
    if pattern is not None:
        for name in ("eventTrigger", "eventContentMode", "windowDuration"):
            value = getattr(pattern, name)
            if value:
                key = f"jobType.emissionPattern.{name}"
                properties[key] = worded(key, value)
        if pattern.eventContentMode and at.run:
            yield at.run, CONTENT_MODE, "", pattern.eventContentMode
    if properties:
        yield property_statement(at, properties)
