"""dbt_exposures (dataset): who uses the model (openlineage-dbt)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, property_statement
from dh_bridge.translation.properties import flattened
from dh_bridge.translation.properties import kept as kept_text

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements


@facet(
    "dbt_exposures",
    at="dataset",
    leaves={"**": kept()},
    producer="dbt",
    remember=True,
)
def dbt_exposures(opened: Open, at: Place) -> Statements:
    """Exposures as one JSON: names only, so no edges to dashboards."""
    body = dict(opened.body)
    exposures = body.get("exposures")
    written = kept_text("dbt_exposures", exposures) if isinstance(exposures, list) and exposures else None
    if written:
        del body["exposures"]
    properties = flattened("dbt_exposures", body)
    if written:
        properties["dbt_exposures"] = written
    if properties:
        yield property_statement(at, properties)
