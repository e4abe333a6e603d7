"""processing_engine (run): engine and adapter. https://openlineage.io/docs/spec/facets/run-facets/processing_engine"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Facet, facet, kept, property_statement
from dh_bridge.translation.facts import JOB_PROPERTIES, RUN_PROPERTIES, Statements
from dh_bridge.translation.properties import worded

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


class ProcessingEngine(Facet):
    """Name and version of the engine, version of its OpenLineage adapter."""

    name: str | None = None
    version: str | None = None
    openlineageAdapterVersion: str | None = None


@facet(
    "processing_engine",
    at="run",
    reads=ProcessingEngine,
    leaves={
        **dict.fromkeys(("name", "version"), kept(RUN_PROPERTIES, JOB_PROPERTIES)),
        "openlineageAdapterVersion": kept(),
    },
)
def processing_engine(facet: ProcessingEngine, at: Place) -> Statements:
    """Properties of the run; name and version of the job too. No part in identity: COMPLETE often lacks it."""
    properties = {
        f"processing_engine.{leaf}": worded(f"processing_engine.{leaf}", said)
        for leaf in ("name", "version")
        if (said := getattr(facet, leaf))
    }
    if properties and at.owner:
        yield at.owner, JOB_PROPERTIES, "processing_engine", properties
    if facet.openlineageAdapterVersion:
        key = "processing_engine.openlineageAdapterVersion"
        properties = {**properties, key: worded(key, facet.openlineageAdapterVersion)}
    if properties:
        yield property_statement(at, properties)
