"""Facets of Great Expectations' OpenLineage action."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.assertions import Check, batch_spec
from dh_bridge.facet_support.batches import batch_partition_spec
from dh_bridge.facet_support.checks import check_facts, note_unreadable, parse_success, unquote_column
from dh_bridge.facet_support.facet_spec import Facet, OpenFacet, as_property, facet, mapped, property_fact
from dh_bridge.facet_support.sibling_facets import run_facet, sibling_facet
from dh_bridge.model.facts import BATCH, CHECKS, PARTITION, RESULTS, RUN_PROPERTIES, Facts
from dh_bridge.model.properties import flatten

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext


# -- greatExpectations_assertions (input): expectations and whether they were met (Great Expectations' OpenLineage action).


class Expectation(Facet):
    """An expectation, its column, its outcome (sometimes the text ``<<non-serializable: bool>>``)."""

    expectationType: str = ""
    success: bool | str | None = None
    column: str | None = None


class Expectations(Facet):
    """The expectations."""

    assertions: list[Expectation] | None = None


@facet(
    "greatExpectations_assertions",
    attach="dataset",
    struct=Expectations,
    outcomes={
        "assertions[].expectationType": mapped(CHECKS),
        "assertions[].success": mapped(RESULTS),
        "assertions[].column": mapped(CHECKS),
    },
    producer="Great Expectations",
)
def great_expectations_assertions(facet: Expectations, ctx: FacetContext) -> Facts:
    """Assertions and results as of dataQualityAssertions, which is used if an event has both facets. A batch adds a profile of its part of the table."""
    if "dataQualityAssertions" in ctx.facet_keys and isinstance(
        sibling_facet(ctx, "dataQualityAssertions").get("assertions"), list
    ):
        ctx.note_dropped("assertions", "duplicate-of:dataQualityAssertions")
        return
    ctx.batch = batch_partition_spec(run_facet(ctx, "great_expectations_meta"))
    if ctx.batch is not None and "subset" not in ctx.facet_keys and (entry_id := ctx.entry_id()) is not None:
        yield ctx.dataset_urn, PARTITION, entry_id, ctx.batch
    checks = []
    for position, expectation in enumerate(facet.assertions or ()):
        is_success = parse_success(expectation.success, f"assertions[{position}].success", ctx)
        if ctx.notes is not None:
            note_unreadable(expectation, f"assertions[{position}]", ctx)
        checks.append(
            Check(
                assertion=expectation.expectationType or "unknown", success=is_success, column=unquote_column(expectation.column),
                source="greatExpectations_assertions",
            )
        )  # fmt: skip
    yield from check_facts(checks, ctx.dataset_urn, ctx)


# -- great_expectations_meta (run): suite, checkpoint, batch of a validation (Great Expectations' OpenLineage action).

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
    """Properties of the run. The validated batch is written on the results of its checks."""
    properties = flatten("great_expectations_meta", facet.content)
    if properties:
        yield property_fact(ctx, properties)
    batch = batch_spec(facet.content)
    if batch is not None:
        yield ctx.run_urn, BATCH, "", batch
