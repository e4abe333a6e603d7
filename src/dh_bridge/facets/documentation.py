"""documentation (job and dataset): what people should read. https://openlineage.io/docs/spec/facets/job-facets/documentation"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, mapped, property_fact
from dh_bridge.model.facts import DATASET_FIELD, JOB_FIELD, TOMBSTONE, Facts
from dh_bridge.model.precedence import FIELD_STATED
from dh_bridge.model.properties import present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

_PLAIN_CONTENT_TYPES = ("text/markdown", "text/plain")


class Documentation(Facet):
    """Text and its media type."""

    description: str | None = None
    contentType: str | None = None


def _content_type_facts(facet: Documentation, ctx: FacetContext) -> Facts:
    if facet.contentType:
        if facet.contentType in _PLAIN_CONTENT_TYPES:
            ctx.note_dropped("contentType", "no-field:the default of a description")
        else:
            value_text = present_property_text("documentation.contentType", facet.contentType)
            yield property_fact(ctx, {"documentation.contentType": value_text})


def _retract_from_job(_: dict[str, Any], ctx: FacetContext) -> Facts:
    yield ctx.owner_urn, JOB_FIELD, ("description", FIELD_STATED), TOMBSTONE


def _retract_from_dataset(_: dict[str, Any], ctx: FacetContext) -> Facts:
    yield ctx.dataset_urn, DATASET_FIELD, ("description", FIELD_STATED), TOMBSTONE


@facet(
    "documentation",
    attach="job",
    struct=Documentation,
    retract=_retract_from_job,
    outcomes={"description": mapped(JOB_FIELD["description"]), "contentType": as_property()},
)
def job_documentation(facet: Documentation, ctx: FacetContext) -> Facts:
    """Description of the job. If the job is a flow, description of the flow."""
    if facet.description:
        yield ctx.owner_urn, JOB_FIELD, ("description", FIELD_STATED), facet.description
    yield from _content_type_facts(facet, ctx)


@facet(
    "documentation",
    attach="dataset",
    struct=Documentation,
    retract=_retract_from_dataset,
    outcomes={"description": mapped(DATASET_FIELD["description"]), "contentType": as_property()},
)
def dataset_documentation(facet: Documentation, ctx: FacetContext) -> Facts:
    """Description of the dataset. DataHub shows a description that people wrote in the UI first."""
    if facet.description:
        yield ctx.dataset_urn, DATASET_FIELD, ("description", FIELD_STATED), facet.description
    yield from _content_type_facts(facet, ctx)
