"""gcp_composer_run (run): the DAG run. https://openlineage.io/spec/registry/gcp/composer"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, mapped, property_statement
from dh_bridge.translation.facts import RUN_NAME, RUN_PROPERTIES, Statements
from dh_bridge.translation.precedence import NAME_COMPOSER
from dh_bridge.translation.properties import worded

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


class GcpComposerRun(Facet):
    """Airflow's id of the DAG run."""

    dagRunId: str | None = None


@facet(
    "gcp_composer_run",
    at="run",
    reads=GcpComposerRun,
    leaves={"dagRunId": mapped(RUN_NAME, RUN_PROPERTIES)},
    producer="Google Cloud",
)
def gcp_composer_run(facet: GcpComposerRun, at: Place) -> Statements:
    """Name of the run where Airflow's own facets give none; a property too."""
    if not facet.dagRunId:
        return
    yield at.run, RUN_NAME, NAME_COMPOSER, facet.dagRunId
    yield property_statement(at, {"gcp_composer_run.dagRunId": worded("gcp_composer_run.dagRunId", facet.dagRunId)})
