"""dataQualityAssertions (dataset, input): checks and how they ended.

https://openlineage.io/docs/spec/facets/dataset-facets/input-dataset-facets/data_quality_assertions
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.skipped import PROPERTY, is_skipped_test
from dh_bridge.assertions import Check
from dh_bridge.facet_support.checks import (
    CHECK_FIELD_OUTCOMES,
    CheckFields,
    check_facts,
    note_not_run,
    note_unreadable,
    parse_success,
    unquote_column,
)
from dh_bridge.facet_support.dbt_singular_tests import asserted_dataset, is_singular, other_datasets
from dh_bridge.facet_support.facet_spec import Facet, facet, mapped
from dh_bridge.facets.dagster_asset_check import check_severities
from dh_bridge.model.facts import CHECKS, RESULTS, RUN_PROPERTIES
from dh_bridge.model.properties import present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts


class DataQualityAssertion(CheckFields):
    """One check on a dataset."""

    assertion: str = ""
    success: bool | str | None = None
    column: str | None = None
    name: str | None = None


class DataQualityAssertions(Facet):
    """The checks."""

    assertions: list[DataQualityAssertion] | None = None


@facet(
    "dataQualityAssertions",
    attach="dataset",
    struct=DataQualityAssertions,
    outcomes={
        f"assertions[].{field_name}": outcome
        for field_name, outcome in {
            **CHECK_FIELD_OUTCOMES, "assertion": mapped(CHECKS), "success": mapped(RESULTS), "column": mapped(CHECKS)
        }.items()
    },
)  # fmt: skip
def data_quality_assertions(facet: DataQualityAssertions, ctx: FacetContext) -> Facts:
    """One assertion per check on the dataset; its result once per terminal event of the run."""
    checks, outcome_paths = [], []
    is_run_skipped, severity_by_name = is_skipped_test(ctx), check_severities(ctx)
    for position, assertion in enumerate(facet.assertions or ()):
        is_success = (
            None if is_run_skipped else parse_success(assertion.success, f"assertions[{position}].success", ctx)
        )
        if ctx.notes is not None:
            note_unreadable(assertion, f"assertions[{position}]", ctx)
            if is_run_skipped:
                note_not_run(f"assertions[{position}]", ctx)
        check = Check(
            assertion=assertion.assertion or assertion.name or "unknown", success=is_success, column=unquote_column(assertion.column),
            severity=assertion.severity or severity_by_name.get(assertion.assertion), name=assertion.name, description=assertion.description, expected=assertion.expected, actual=assertion.actual,
            content=assertion.content, content_type=assertion.contentType, params=assertion.params or {}, failures=assertion.failures,
            source="dataQualityAssertions",
        )  # fmt: skip
        if ctx.role == "input" and is_singular(check, ctx):
            dataset = asserted_dataset(check, ctx)
            if dataset != ctx.dataset_urn:
                ctx.note_dropped(f"assertions[{position}]", f"duplicate-of:the same test of {dataset}")
                continue
            check.other_datasets = other_datasets(ctx.dataset_urn, ctx)
        checks.append(check)
        outcome_paths.append(f"assertions[{position}].success")
    yield from check_facts(checks, ctx.dataset_urn, ctx, outcome_paths=outcome_paths if ctx.notes is not None else None)
    if is_run_skipped and checks:
        names = present_property_text(PROPERTY, [check.name or check.assertion for check in checks])
        yield ctx.run_urn, RUN_PROPERTIES, f"{ctx.key} {ctx.dataset_urn}", {PROPERTY: names}
