"""documentation (job and dataset): what people should read. https://openlineage.io/docs/spec/facets/job-facets/documentation"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.translation.facet import Facet, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import DATASET_FIELD, GONE, JOB_FIELD, Statements
from dh_bridge.translation.precedence import FIELD_STATED
from dh_bridge.translation.properties import worded

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_PLAIN = ("text/markdown", "text/plain")


class Documentation(Facet):
    """Text and its media type."""

    description: str | None = None
    contentType: str | None = None


def _content_type(facet: Documentation, at: Place) -> Statements:
    if facet.contentType:
        if facet.contentType in _PLAIN:
            at.withheld("contentType", "no-home:the default of a description")
        else:
            written = worded("documentation.contentType", facet.contentType)
            yield property_statement(at, {"documentation.contentType": written})


def _job_gone(_: dict[str, Any], at: Place) -> Statements:
    yield at.owner, JOB_FIELD, ("description", FIELD_STATED), GONE


def _dataset_gone(_: dict[str, Any], at: Place) -> Statements:
    yield at.dataset, DATASET_FIELD, ("description", FIELD_STATED), GONE


@facet(
    "documentation",
    at="job",
    reads=Documentation,
    retracts=_job_gone,
    leaves={"description": mapped(JOB_FIELD["description"]), "contentType": kept()},
)
def job_documentation(facet: Documentation, at: Place) -> Statements:
    """Description of the job, or of the flow when the job is one; never of a task's flow."""
    if facet.description:
        yield at.owner, JOB_FIELD, ("description", FIELD_STATED), facet.description
    yield from _content_type(facet, at)


@facet(
    "documentation",
    at="dataset",
    reads=Documentation,
    retracts=_dataset_gone,
    leaves={"description": mapped(DATASET_FIELD["description"]), "contentType": kept()},
)
def dataset_documentation(facet: Documentation, at: Place) -> Statements:
    """Description of the dataset; what people wrote in the UI lives elsewhere and wins."""
    if facet.description:
        yield at.dataset, DATASET_FIELD, ("description", FIELD_STATED), facet.description
    yield from _content_type(facet, at)
