"""dataRentgen_operation (run): what a sender tells Data.Rentgen of an operation (https://data-rentgen.readthedocs.io)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.repair import text_of
from dh_bridge.model.facts import JOB_FIELD, RUN_PROPERTIES, Facts
from dh_bridge.model.precedence import FIELD_OPERATION, FIELD_STATED
from dh_bridge.model.properties import flatten, truncate

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


@facet(
    "dataRentgen_operation",
    attach="run",
    outcomes={
        "name": mapped(JOB_FIELD["name"], RUN_PROPERTIES),
        "description": mapped(JOB_FIELD["description"], RUN_PROPERTIES),
        "**": as_property(),
    },
    producer="Data.Rentgen",
)
def data_rentgen_operation(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Name of the job, its description where no documentation is stated; group and position as properties of the run."""
    properties = flatten("dataRentgen_operation", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    name, description = text_of(facet.content.get("name")).strip(), text_of(facet.content.get("description"))
    if name:
        yield ctx.owner_urn, JOB_FIELD, ("name", FIELD_STATED), truncate(name)
    if description.strip():
        yield ctx.owner_urn, JOB_FIELD, ("description", FIELD_OPERATION), description
