"""processing_engine (run): engine and adapter. https://openlineage.io/docs/spec/facets/run-facets/processing_engine"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import Facet, as_property, facet, property_fact
from dh_bridge.model.facts import JOB_PROPERTIES, RUN_PROPERTIES, Facts
from dh_bridge.model.properties import present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


class ProcessingEngine(Facet):
    """Name and version of the engine, version of its OpenLineage adapter."""

    name: str | None = None
    version: str | None = None
    openlineageAdapterVersion: str | None = None


@facet(
    "processing_engine",
    attach="run",
    struct=ProcessingEngine,
    outcomes={
        **dict.fromkeys(("name", "version"), as_property(RUN_PROPERTIES, JOB_PROPERTIES)),
        "openlineageAdapterVersion": as_property(),
    },
)
def processing_engine(facet: ProcessingEngine, ctx: FacetContext) -> Facts:
    """Properties of the run; name and version of the job too. No part in identity: COMPLETE often lacks it."""
    properties = {
        f"processing_engine.{field_name}": present_property_text(f"processing_engine.{field_name}", value)
        for field_name in ("name", "version")
        if (value := getattr(facet, field_name))
    }
    if properties and ctx.owner_urn:
        yield ctx.owner_urn, JOB_PROPERTIES, "processing_engine", properties
    if facet.openlineageAdapterVersion:
        key = "processing_engine.openlineageAdapterVersion"
        properties = {**properties, key: present_property_text(key, facet.openlineageAdapterVersion)}
    if properties:
        yield property_fact(ctx, properties)
