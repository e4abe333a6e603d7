"""greatExpectations_assertions (input): expectations and whether they were met (Great Expectations' OpenLineage action)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.assertions import Check
from dh_bridge.translation.facet import Facet, facet, mapped
from dh_bridge.translation.facts import CHECKS, PARTITION, RESULTS
from dh_bridge.translation.reading.batches import part_of_batch
from dh_bridge.translation.reading.beside import beside, of_run
from dh_bridge.translation.reading.checks import bare, note_unread, stated_checks, success_of

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements


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
    at="dataset",
    reads=Expectations,
    leaves={
        "assertions[].expectationType": mapped(CHECKS),
        "assertions[].success": mapped(RESULTS),
        "assertions[].column": mapped(CHECKS),
    },
    producer="Great Expectations",
)
def great_expectations_assertions(facet: Expectations, at: Place) -> Statements:
    """As dataQualityAssertions, which wins where both stand; with its profile, of the part of the table that the batch is."""
    if "dataQualityAssertions" in at.keys and isinstance(beside(at, "dataQualityAssertions").get("assertions"), list):
        at.withheld("assertions", "duplicate-of:dataQualityAssertions")
        return
    at.batch = part_of_batch(of_run(at, "great_expectations_meta"))
    if at.batch is not None and "subset" not in at.keys and (mark := at.entry()) is not None:
        yield at.dataset, PARTITION, mark, at.batch
    checks = []
    for position, one in enumerate(facet.assertions or ()):
        success = success_of(one.success, f"assertions[{position}].success", at)
        if at.notes is not None:
            note_unread(one, f"assertions[{position}]", at)
        checks.append(
            Check(
                assertion=one.expectationType or "unknown", success=success, column=bare(one.column),
                source="greatExpectations_assertions",
            )
        )  # fmt: skip
    yield from stated_checks(checks, at.dataset, at)
