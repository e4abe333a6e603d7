"""Shared by the facets that contain checks: the rows of their fields, and the facts of a check on a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.assertions import (
    NON_SERIALIZABLE_PREFIX,
    Check,
    CheckOutcome,
    assertion_urns,
    datahub_severity,
    dropped_parameters,
    evaluate_outcome,
    parse_count,
    redact_check_values,
    reported_outcome,
)
from dh_bridge.facet_support.envelope import DATASET_NAME_TARGETS
from dh_bridge.facet_support.facet_spec import Facet, FieldOutcome, as_property, dropped, mapped
from dh_bridge.model.facts import CHECKS, RESULTS, Facts
from dh_bridge.naming import Name
from dh_bridge.naming.names import QuotedPart, split_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.facet_support.context import EntryId, FacetContext
    from dh_bridge.openlineage.events import Dataset

#: Note of a field about an error, with the URNs of check and dataset: whether the result counts depends on the other runs of
#: the call (`skipped.py`).
RESULT_NOTE = "result:"
CHECK_FIELD_OUTCOMES: dict[str, FieldOutcome] = {
    "severity": mapped(CHECKS, RESULTS),
    "name": mapped(CHECKS),
    "description": mapped(CHECKS),
    "expected": mapped(CHECKS, RESULTS),
    "actual": mapped(RESULTS),
    "failures": mapped(RESULTS),
    "content": mapped(CHECKS),
    "contentType": as_property(CHECKS[".customProperties"]),
    "params.**": mapped(CHECKS),
    "params": dropped("envelope"),
}


class CheckFields(Facet):
    """The fields of a check that both facets have."""

    severity: str | None = None
    description: str | None = None
    expected: str | None = None
    actual: str | None = None
    content: str | None = None
    contentType: str | None = None
    params: dict[str, Any] | None = None
    failures: int | None = None  # OpenLineage pull request 4252


_ASSERTIONS_KEY = "dataQualityAssertions"


def is_check_only_input(dataset: Dataset, endpoint: str, path: str, ctx: FacetContext) -> bool:
    """Return whether a dataset is an input only because of its checks, and also an output: the job tested its own output.

    Cosmos reports `dbt build` of a model in this way. As an input, the table would be its own source.
    """
    if _ASSERTIONS_KEY not in dataset.input_facets and _ASSERTIONS_KEY not in dataset.facets:
        return False
    if len({*dataset.facets, *dataset.input_facets}) > 1 or endpoint not in ctx.outputs:
        return False
    if ctx.notes is not None:
        ctx.path = path
        for field_name in ("namespace", "name"):
            ctx.note_outcome(field_name, "datasetProperties.urn", *DATASET_NAME_TARGETS)
    return True


def parse_success(value: bool | str | None, path: str, ctx: FacetContext) -> bool | None:  # noqa: FBT001 - the wire's own type
    """Return whether a check succeeded; None, noted at ``path``, if the status is not readable."""
    is_success = {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else value
    if value is not None and is_success is None:
        ctx.note_dropped(path, "malformed")
    return is_success


def unquote_column(column: str | None) -> str | None:
    """Return the name of a column without the quotes that SQL needs around it: dbt sends those of ``quote: true``."""
    parts = split_name(column) if column else ()
    return str(parts[0]) if len(parts) == 1 and type(parts[0]) is QuotedPart else column


def note_not_run(path: str, ctx: FacetContext) -> None:
    """Note for the report that a result at ``path`` was invented: nothing was checked."""
    for field_name in ("success", "status", "actual", "failures"):
        ctx.note_dropped(f"{path}.{field_name}", "no-field:skipped")


def note_unreadable(check_fields: Facet, path: str, ctx: FacetContext) -> None:
    """Note for the report which fields of a check at ``path`` are not readable."""
    for field_name in check_fields.__struct_fields__:
        value = getattr(check_fields, field_name)
        for name, text in value.items() if isinstance(value, dict) else (("", value),):
            if isinstance(text, str) and text.startswith(NON_SERIALIZABLE_PREFIX):
                ctx.note_dropped(f"{path}.{field_name}.{name}" if name else f"{path}.{field_name}", "non-serializable")
        if field_name == "failures" and value is not None and parse_count(value) is None:
            ctx.note_dropped(f"{path}.{field_name}", "malformed")


class StatedCheck(msgspec.Struct, frozen=True, gc=False):
    """A check on a dataset: ``name`` is the dataset's when it is known here, ``platform`` whose check it is."""

    check: Check
    dataset: str
    platform: str
    label: str
    name: Name | None


def check_facts(
    checks: list[Check], dataset: str, ctx: FacetContext, *, outcome_paths: Sequence[str | None] | None = None
) -> Facts:
    """Yield each check under its assertion URN: the same check in two groups is one.

    ``outcome_paths`` are the paths of the status of each check.
    """
    name = ctx.names_by_urn.get(dataset)
    urns = assertion_urns(
        checks,
        dataset,
        ctx.assertion_platform,
        ctx.options.tables.assertions,
        column_path=name.spell_column if name is not None else None,
        identity=ctx.options.settings.assertions.identity,
    )
    if len(urns) == len(ctx.tested_urns) == 1:
        urns = [ctx.identity.check_urn() or urns[0]]
    for position, (urn, check) in enumerate(zip(urns, checks, strict=True)):
        yield from single_check_facts(
            urn, check, dataset, ctx, outcome_path=outcome_paths[position] if outcome_paths else None
        )
        if check.name:
            ctx.checks.setdefault((dataset, check.name), {})[urn] = check


def single_check_facts(
    urn: str, check: Check, dataset: str, ctx: FacetContext, *, outcome_path: str | None = None
) -> Facts:
    """Yield the description of a check, and its result when it has one; ``outcome_path`` is the path of its status."""
    table = ctx.options.tables.assertions
    check, redacted_fields = redact_check_values(check, ctx.assertion_platform, table)
    stated_check = StatedCheck(
        check, dataset, ctx.assertion_platform, ctx.assertion_label, ctx.names_by_urn.get(dataset)
    )
    yield dataset, CHECKS, urn, stated_check
    path = outcome_path.rpartition(".")[0] if outcome_path is not None else ""
    for name in redacted_fields if path else ():
        ctx.note_dropped(f"{path}.{name}", "secret")
    if path and check.params:
        for key in dropped_parameters(check, ctx.assertion_platform, table, ctx.options.settings.assertions.type):
            ctx.note_dropped(f"{path}.params.{key}", "too-large")
    outcome = evaluate_outcome(check, ctx.assertion_platform, table)
    has_result = outcome not in ("SKIPPED", "UNKNOWN")
    if path:
        _note_run_values(check, path, ctx, has_result=has_result)
    if has_result:
        yield dataset, RESULTS, (urn, _entry_key(urn, dataset, ctx)), check
        if outcome == "ERROR" and outcome_path is not None:
            ctx.note_dropped(outcome_path, f"{RESULT_NOTE}{urn} {dataset}")
        elif outcome_path is not None and check.status is None and _is_failure_ignored(outcome, check, ctx):
            ctx.note_dropped(outcome_path, "policy:assertions.warn_as")


def _note_run_values(check: Check, path: str, ctx: FacetContext, *, has_result: bool) -> None:
    """Note for the report where fields about the run went: to the result of the check, if it has one."""
    run_params = [f"params.{key}" for key in sorted(ctx.options.tables.assertions.run_parameters & check.params.keys())]
    for field_name in run_params if has_result else ():
        ctx.note_outcome(f"{path}.{field_name}", RESULTS)
    for field_name in () if has_result else ("actual", "failures", *run_params):
        ctx.note_dropped(f"{path}.{field_name}", "no-field:no result")


def _is_failure_ignored(outcome: CheckOutcome, check: Check, ctx: FacetContext) -> bool:
    """Whether the settings turn the failure of a check into a success. The native status of the test is stored in any case."""
    severity = datahub_severity(check.severity, ctx.options.tables.assertions)
    return reported_outcome(outcome, severity, ctx.options.settings.assertions.warn_as) != outcome


def _entry_key(urn: str, dataset: str, ctx: FacetContext) -> EntryId | None:
    """Return which part of the dataset was checked; a test of the run that is a check of a dataset has looked at the same."""
    if not ctx.dataset_urn:
        return ctx.entry_ids.get((dataset, urn)) if ctx.entry_ids is not None else None
    entry_id = ctx.entry_id()
    if entry_id is not None or ctx.entry_ids is not None:
        ctx.entry_ids = {**(ctx.entry_ids or {}), (dataset, urn): entry_id}
    return entry_id
