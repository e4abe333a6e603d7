"""great_expectations_meta (run): suite, checkpoint, batch of a validation (Great Expectations' OpenLineage action)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.assertions import batch_spec
from dh_bridge.translation.facet import Open, facet, kept, mapped, property_statement
from dh_bridge.translation.facts import BATCH, RUN_PROPERTIES, Statements
from dh_bridge.translation.properties import flattened

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place

_BATCH = mapped(BATCH, RUN_PROPERTIES)


@facet(
    "great_expectations_meta",
    at="run",
    leaves={
        "active_batch_definition.**": _BATCH,
        "batch_spec.**": _BATCH,
        "batch_kwargs.**": _BATCH,
        "**": kept(),
    },
    producer="Great Expectations",
)
def great_expectations_meta(opened: Open, at: Place) -> Statements:
    """Properties of the run; the batch that was validated goes to the results."""
    properties = flattened("great_expectations_meta", opened.body)
    if properties:
        yield property_statement(at, properties)
    batch = batch_spec(opened.body)
    if batch is not None:
        yield at.run, BATCH, "", batch
