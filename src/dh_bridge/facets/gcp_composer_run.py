"""gcp_composer_run (run): the DAG run. https://openlineage.io/spec/registry/gcp/composer"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, facet, mapped, property_fact
from dh_bridge.model.facts import RUN_NAME, RUN_PROPERTIES, Facts
from dh_bridge.model.precedence import NAME_COMPOSER
from dh_bridge.model.properties import present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


class GcpComposerRun(Facet):
    """Airflow's id of the DAG run."""

    dagRunId: str | None = None


@facet(
    "gcp_composer_run",
    attach="run",
    struct=GcpComposerRun,
    outcomes={"dagRunId": mapped(RUN_NAME, RUN_PROPERTIES)},
    producer="Google Cloud",
)
def gcp_composer_run(facet: GcpComposerRun, ctx: FacetContext) -> Facts:
    """Name of the run where Airflow's own facets give none; a property too."""
    if not facet.dagRunId:
        return
    yield ctx.run_urn, RUN_NAME, NAME_COMPOSER, facet.dagRunId
    yield property_fact(
        ctx, {"gcp_composer_run.dagRunId": present_property_text("gcp_composer_run.dagRunId", facet.dagRunId)}
    )
