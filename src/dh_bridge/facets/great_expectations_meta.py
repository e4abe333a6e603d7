"""great_expectations_meta (run): suite, checkpoint, batch of a validation (Great Expectations' OpenLineage action)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.assertions import batch_spec
from dh_bridge.facet_support.facet_spec import OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.model.facts import BATCH, RUN_PROPERTIES, Facts
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext

_BATCH_OUTCOME = mapped(BATCH, RUN_PROPERTIES)


@facet(
    "great_expectations_meta",
    attach="run",
    outcomes={
        "active_batch_definition.**": _BATCH_OUTCOME,
        "batch_spec.**": _BATCH_OUTCOME,
        "batch_kwargs.**": _BATCH_OUTCOME,
        "**": as_property(),
    },
    producer="Great Expectations",
)
def great_expectations_meta(facet: OpenFacet, ctx: FacetContext) -> Facts:
    """Properties of the run; the batch that was validated goes to the results."""
    properties = flatten("great_expectations_meta", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    batch = batch_spec(facet.content)
    if batch is not None:
        yield ctx.run_urn, BATCH, "", batch
