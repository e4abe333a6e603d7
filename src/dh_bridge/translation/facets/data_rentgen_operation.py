"""dataRentgen_operation (run): what a sender tells Data.Rentgen of an operation (https://data-rentgen.readthedocs.io)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import JOB_FIELD, RUN_PROPERTIES, Statements
from dh_bridge.translation.precedence import FIELD_OPERATION, FIELD_STATED
from dh_bridge.translation.properties import capped, flattened
from dh_bridge.translation.repair import text_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place


@facet(
    "dataRentgen_operation",
    at="run",
    leaves={
        "name": mapped(JOB_FIELD["name"], RUN_PROPERTIES),
        "description": mapped(JOB_FIELD["description"], RUN_PROPERTIES),
        "**": kept(),
    },
    producer="Data.Rentgen",
)
def data_rentgen_operation(opened: Open, at: Place) -> Statements:
    """Name of the job, its description where no documentation is stated; group and position as properties of the run."""
    properties = flattened("dataRentgen_operation", opened.body)
    if properties:
        yield property_statement(at, properties)
    name, description = text_of(opened.body.get("name")).strip(), text_of(opened.body.get("description"))
    if name:
        yield at.owner, JOB_FIELD, ("name", FIELD_STATED), capped(name)
    if description.strip():
        yield at.owner, JOB_FIELD, ("description", FIELD_OPERATION), description
