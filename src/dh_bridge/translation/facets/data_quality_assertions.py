"""dataQualityAssertions (dataset, input): checks and how they ended.

https://openlineage.io/docs/spec/facets/dataset-facets/input-dataset-facets/data_quality_assertions
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.assertions import Check
from dh_bridge.translation.facet import Facet, facet, mapped
from dh_bridge.translation.facets.dagster_asset_check import severities
from dh_bridge.translation.facts import CHECKS, RESULTS, RUN_PROPERTIES
from dh_bridge.translation.properties import worded
from dh_bridge.translation.reading.checks import (
    CHECK_LEAVES,
    Described,
    bare,
    note_not_run,
    note_unread,
    stated_checks,
    success_of,
)
from dh_bridge.translation.reading.singular import asserted, is_singular, others
from dh_bridge.translation.runs.skipped import PROPERTY, is_skipped

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements


class Assertion(Described):
    """One check on a dataset."""

    assertion: str = ""
    success: bool | str | None = None
    column: str | None = None
    name: str | None = None


class DataQualityAssertions(Facet):
    """The checks."""

    assertions: list[Assertion] | None = None


@facet(
    "dataQualityAssertions",
    at="dataset",
    reads=DataQualityAssertions,
    leaves={
        f"assertions[].{leaf}": row
        for leaf, row in {
            **CHECK_LEAVES, "assertion": mapped(CHECKS), "success": mapped(RESULTS), "column": mapped(CHECKS)
        }.items()
    },
)  # fmt: skip
def data_quality_assertions(facet: DataQualityAssertions, at: Place) -> Statements:
    """One assertion per check on the dataset; its result once per terminal event of the run."""
    checks, leaves = [], []
    skipped, severe = is_skipped(at), severities(at)
    for position, one in enumerate(facet.assertions or ()):
        success = None if skipped else success_of(one.success, f"assertions[{position}].success", at)
        if at.notes is not None:
            note_unread(one, f"assertions[{position}]", at)
            if skipped:
                note_not_run(f"assertions[{position}]", at)
        check = Check(
            assertion=one.assertion or one.name or "unknown", success=success, column=bare(one.column),
            severity=one.severity or severe.get(one.assertion), name=one.name, description=one.description, expected=one.expected, actual=one.actual,
            content=one.content, content_type=one.contentType, params=one.params or {}, failures=one.failures,
            source="dataQualityAssertions",
        )  # fmt: skip
        if at.role == "input" and is_singular(check, at):
            dataset = asserted(check, at)
            if dataset != at.dataset:
                at.withheld(f"assertions[{position}]", f"duplicate-of:the same test of {dataset}")
                continue
            check.others = others(at.dataset, at)
        checks.append(check)
        leaves.append(f"assertions[{position}].success")
    yield from stated_checks(checks, at.dataset, at, leaves=leaves if at.notes is not None else None)
    if skipped and checks:
        names = worded(PROPERTY, [check.name or check.assertion for check in checks])
        yield at.run, RUN_PROPERTIES, f"{at.key} {at.dataset}", {PROPERTY: names}
