"""sourceCodeLocation (job): where its code is kept. https://openlineage.io/docs/spec/facets/job-facets/source-code-location"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import JOB_FIELD, JOB_PROPERTIES, Statements
from dh_bridge.translation.precedence import PAGE_CODE
from dh_bridge.translation.properties import flattened

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_KEPT = ("type", "repoUrl", "path", "version", "tag", "branch", "pullRequestNumber")


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
    at="job",
    reads=SourceCodeLocation,
    leaves={
        "url": mapped(JOB_FIELD["externalUrl"], JOB_PROPERTIES, "assertionInfo.externalUrl"),
        **{name: kept(empty=True) for name in _KEPT},
    },
)
def source_code_location(facet: SourceCodeLocation, at: Place) -> Statements:
    """The page of the code as externalUrl when it is one, of the checks of its runs too, the rest as properties."""
    properties = flattened("sourceCodeLocation", {name: getattr(facet, name) for name in _KEPT})
    if facet.url:
        if facet.url.startswith(("http://", "https://")):
            yield at.owner, JOB_FIELD, ("externalUrl", PAGE_CODE), facet.url
        else:
            properties["sourceCodeLocation.url"] = facet.url
    if properties:
        yield property_statement(at, properties)
