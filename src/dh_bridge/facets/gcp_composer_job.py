"""gcp_composer_job (job): environment, DAG and task. https://openlineage.io/spec/registry/gcp/composer"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, property_fact
from dh_bridge.model.facts import SUBTYPES, Facts
from dh_bridge.model.properties import property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

_MAX_SUBTYPE_CHARS = 100
_FIELD_NAMES = ("environmentName", "dagId", "operator", "taskId", "airflowVersion", "composerVersion")


class GcpComposerJob(Facet):
    """The Composer environment and its versions, and which task of which DAG it is."""

    environmentName: str | None = None
    dagId: str | None = None
    operator: str | None = None
    taskId: str | None = None
    airflowVersion: str | None = None
    composerVersion: str | None = None


@facet(
    "gcp_composer_job",
    attach="job",
    struct=GcpComposerJob,
    outcomes=dict.fromkeys(_FIELD_NAMES, as_property()),
    producer="Google Cloud",
)
def gcp_composer_job(facet: GcpComposerJob, ctx: FacetContext) -> Facts:
    """Properties of the job or flow; the operator is its second subtype, after what jobType says."""
    properties = {
        f"gcp_composer_job.{field_name}": value_text
        for field_name in _FIELD_NAMES
        if (value := getattr(facet, field_name))
        and (value_text := property_text(f"gcp_composer_job.{field_name}", value)) is not None
    }
    if properties:
        yield property_fact(ctx, properties)
    if facet.operator:
        yield ctx.owner_urn, SUBTYPES, "operator", facet.operator[:_MAX_SUBTYPE_CHARS]
