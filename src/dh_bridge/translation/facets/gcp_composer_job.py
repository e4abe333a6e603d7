"""gcp_composer_job (job): environment, DAG and task. https://openlineage.io/spec/registry/gcp/composer"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, kept, property_statement
from dh_bridge.translation.facts import SUBTYPES, Statements
from dh_bridge.translation.properties import kept as kept_text

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_LONGEST = 100
_LEAVES = ("environmentName", "dagId", "operator", "taskId", "airflowVersion", "composerVersion")


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
    at="job",
    reads=GcpComposerJob,
    leaves=dict.fromkeys(_LEAVES, kept()),
    producer="Google Cloud",
)
def gcp_composer_job(facet: GcpComposerJob, at: Place) -> Statements:
    """Properties of the job or flow; the operator is its second subtype, after what jobType says."""
    properties = {
        f"gcp_composer_job.{leaf}": written
        for leaf in _LEAVES
        if (value := getattr(facet, leaf)) and (written := kept_text(f"gcp_composer_job.{leaf}", value)) is not None
    }
    if properties:
        yield property_statement(at, properties)
    if facet.operator:
        yield at.owner, SUBTYPES, "operator", facet.operator[:_LONGEST]
