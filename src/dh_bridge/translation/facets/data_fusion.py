"""dataFusion (run): the run of a Cloud Data Fusion pipeline (Airflow's Google provider writes ``dataFusionRun``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.reading.given import configuration

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements


@facet(
    "dataFusion",
    "dataFusionRun",
    at="run",
    leaves={"**": kept()},
    producer="Airflow",
)
def data_fusion(opened: Open, at: Place) -> Statements:
    """Run id as a property; runtime arguments, an open map, as one redacted JSON."""
    body = dict(opened.body)
    arguments = body.pop("runtimeArgs", None)
    properties = flattened("dataFusion", body)
    if isinstance(arguments, dict):
        arguments = configuration(arguments, "runtimeArgs", at)
    written = kept_text("dataFusion.runtimeArgs", arguments) if arguments else None
    if written:
        properties["dataFusion.runtimeArgs"] = written
    if properties:
        yield property_statement(at, properties)
