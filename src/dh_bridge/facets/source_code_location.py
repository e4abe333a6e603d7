"""sourceCodeLocation (job): where its code is kept. https://openlineage.io/docs/spec/facets/job-facets/source-code-location"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, mapped, property_fact
from dh_bridge.model.facts import JOB_FIELD, JOB_PROPERTIES, Facts
from dh_bridge.model.precedence import PAGE_CODE
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

_PROPERTY_FIELDS = ("type", "repoUrl", "path", "version", "tag", "branch", "pullRequestNumber")


class SourceCodeLocation(Facet):
    """Repository, path and revision."""

    type: str | None = None
    url: str | None = None
    repoUrl: str | None = None
    path: str | None = None
    version: str | None = None
    tag: str | None = None
    branch: str | None = None
    pullRequestNumber: str | None = None


@facet(
    "sourceCodeLocation",
    attach="job",
    struct=SourceCodeLocation,
    outcomes={
        "url": mapped(JOB_FIELD["externalUrl"], JOB_PROPERTIES, "assertionInfo.externalUrl"),
        **{name: as_property(allows_empty=True) for name in _PROPERTY_FIELDS},
    },
)
def source_code_location(facet: SourceCodeLocation, ctx: FacetContext) -> Facts:
    """The page of the code as externalUrl when it is one, of the checks of its runs too, the rest as properties."""
    properties = flatten("sourceCodeLocation", {name: getattr(facet, name) for name in _PROPERTY_FIELDS})
    if facet.url:
        if facet.url.startswith(("http://", "https://")):
            yield ctx.owner_urn, JOB_FIELD, ("externalUrl", PAGE_CODE), facet.url
        else:
            properties["sourceCodeLocation.url"] = facet.url
    if properties:
        yield property_fact(ctx, properties)
