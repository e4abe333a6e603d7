"""test (run): tests and how they ended. https://openlineage.io/docs/spec/facets/run-facets/test"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.aggregate.skipped import is_skipped_test
from dh_bridge.assertions import Check, datasets_of_test, evaluate_outcome, meaningful_value, merge_checks
from dh_bridge.facet_support.checks import (
    CHECK_FIELD_OUTCOMES,
    CheckFields,
    check_facts,
    note_not_run,
    note_unreadable,
    single_check_facts,
)
from dh_bridge.facet_support.dbt_singular_tests import (
    asserted_dataset,
    is_singular,
    matching_check_name,
    other_datasets,
)
from dh_bridge.facet_support.facet_spec import Facet, facet, mapped, property_fact
from dh_bridge.model.facts import CHECKS, RESULTS, RUN_PROPERTIES
from dh_bridge.model.properties import present_property_text

if TYPE_CHECKING:
    from dh_bridge.facet_support.context import FacetContext
    from dh_bridge.model.facts import Facts


class Test(CheckFields):
    """One test of a run."""

    name: str = ""
    status: str | None = None
    type: str | None = None


class Tests(Facet):
    """The tests."""

    tests: list[Test] | None = None


#: Name, type, severity and status of a test without a dataset, or without a readable result, become properties of the run.
_RESULTS_TARGET = RUN_PROPERTIES["test.results"]
_SKIPPED_TARGET = RUN_PROPERTIES["test.skipped"]
_SUMMARY_FIELDS = ("name", "status", "severity", "type")
_DROPPED_FIELDS = ("description", "expected", "actual", "failures", "content", "contentType", "params")


@facet(
    "test",
    attach="run",
    struct=Tests,
    outcomes={
        f"tests[].{outcome_path}": outcome
        for outcome_path, outcome in {
            **CHECK_FIELD_OUTCOMES,
            "name": mapped(CHECKS, _RESULTS_TARGET),
            "type": mapped(CHECKS, _RESULTS_TARGET),
            "severity": mapped(CHECKS, RESULTS, _RESULTS_TARGET),
            "status": mapped(RESULTS, _RESULTS_TARGET),
        }.items()
    },
)
def test(facet: Tests, ctx: FacetContext) -> Facts:
    """One assertion for each test and tested dataset: the inputs of the event, or its outputs if it has no inputs. Skipped tests are properties of the run."""
    skipped_names, unresolved = [], []
    is_run_skipped = is_skipped_test(ctx)
    matched_tests: list[tuple[str, Check, str | None]] = []
    unmatched_checks: dict[str, list[tuple[Check, str | None]]] = {}
    for position, entry in enumerate(facet.tests or ()):
        check = Check(
            assertion=entry.type or entry.name, severity=entry.severity, name=entry.name, description=entry.description,
            expected=entry.expected, actual=entry.actual, content=entry.content, content_type=entry.contentType,
            params=entry.params or {}, failures=entry.failures, source="test", status="skip" if is_run_skipped else entry.status,
        )  # fmt: skip
        if ctx.notes is not None:
            note_unreadable(entry, f"tests[{position}]", ctx)
        outcome = evaluate_outcome(check, ctx.assertion_platform, ctx.options.tables.assertions)
        if outcome == "SKIPPED":
            skipped_names.append(entry.name)
            if is_run_skipped:
                note_not_run(f"tests[{position}]", ctx)
            _note_skipped(f"tests[{position}]", ctx)
            continue
        datasets = datasets_of_test(check, ctx.tested_urns, multi_dataset=ctx.options.settings.assertions.multi_dataset)
        if datasets and is_singular(check, ctx):
            datasets = datasets if len(datasets) == 1 else [asserted_dataset(check, ctx)]
            check.other_datasets = other_datasets(datasets[0], ctx)
        if outcome == "UNKNOWN" or not datasets:
            _note_unresolved(f"tests[{position}]", ctx, is_malformed=outcome == "UNKNOWN")
            unresolved.append(
                {"name": entry.name, "status": entry.status, "severity": entry.severity, "type": entry.type}
            )
        else:
            outcome_path = f"tests[{position}].status" if ctx.notes is not None else None
            matched_datasets = [dataset for dataset in datasets if matching_check_name(check, dataset, ctx) is not None]
            matched_tests += [(dataset, check, outcome_path) for dataset in matched_datasets]
            for dataset in datasets:
                if dataset not in matched_datasets:
                    unmatched_checks.setdefault(dataset, []).append((check, outcome_path))
            if len(matched_datasets) == len(datasets) and not is_singular(check, ctx):
                ctx.note_dropped(f"tests[{position}].type", "duplicate-of:dataQualityAssertions")
    yield from _merged_check_facts(matched_tests, ctx)
    for dataset, pairs in unmatched_checks.items():
        yield from check_facts(
            [entry for entry, _ in pairs], dataset, ctx, outcome_paths=[outcome_path for _, outcome_path in pairs]
        )
    name_lists = {"test.skipped": skipped_names, "test.results": unresolved}
    if properties := {key: present_property_text(key, entries) for key, entries in name_lists.items() if entries}:
        yield property_fact(ctx, properties)


def _merged_check_facts(tests: list[tuple[str, Check, str | None]], ctx: FacetContext) -> Facts:
    """Yield each test as an addition to the check of its name: of several, that of its column, else the next unused one."""
    unmatched_checks = {key: dict(checks) for key, checks in ctx.checks.items()} if tests else {}
    for dataset, test, outcome_path in sorted(tests, key=lambda candidate: not _column_names(candidate[1])):
        named_checks, columns = (
            unmatched_checks[dataset, matching_check_name(test, dataset, ctx) or ""],
            _column_names(test),
        )
        urn = next(
            (urn for urn, candidate in named_checks.items() if candidate.column in columns), next(iter(named_checks))
        )
        check = named_checks.pop(urn) if len(named_checks) > 1 else named_checks[urn]
        yield from single_check_facts(urn, merge_checks(check, test), dataset, ctx, outcome_path=outcome_path)


def _column_names(test: Check) -> set[str]:
    """Return the possible names of the column of a test: it may follow its table."""
    column = meaningful_value(test.params.get("column"))
    return {column, column.rpartition(".")[2]} if isinstance(column, str) else set()


def _note_skipped(path: str, ctx: FacetContext) -> None:
    """Note for the report that of a skipped test only the name is stored."""
    for field_name in ("name", "status"):  # another status would take the name off the list
        ctx.note_outcome(f"{path}.{field_name}", _SKIPPED_TARGET)
    for field_name in ("type", "severity", *_DROPPED_FIELDS):
        ctx.note_dropped(f"{path}.{field_name}", "no-field:skipped")


def _note_unresolved(path: str, ctx: FacetContext, *, is_malformed: bool) -> None:
    """Note for the report the stored fields of a test without a dataset, or without a readable result."""
    for field_name in _SUMMARY_FIELDS:
        ctx.note_outcome(f"{path}.{field_name}", _RESULTS_TARGET)
    for field_name in _DROPPED_FIELDS:
        ctx.note_dropped(f"{path}.{field_name}", "malformed" if is_malformed and ctx.tested_urns else "no-dataset")
