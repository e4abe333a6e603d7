"""What the facets that carry checks share: the rows of their leaves, and the statement of a check on a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from dh_bridge.translation.assertions import (
    SPOILT,
    Check,
    Outcome,
    assertion_urns,
    count_of,
    ended_as,
    outcome,
    severity_of,
    untold_parameters,
    without_values,
)
from dh_bridge.translation.envelope import BY_NAME
from dh_bridge.translation.facet import Facet, Row, kept, mapped, withheld
from dh_bridge.translation.facts import CHECKS, RESULTS, Statements
from dh_bridge.translation.naming import Name
from dh_bridge.translation.naming.names import Quoted, split

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.openlineage.events import Dataset
    from dh_bridge.translation.context import Mark, Place

#: Note of a leaf that tells of an error, with the URNs of check and dataset: only the other runs of the call tell whether
#: the result stands (`skipped.py`).
RESULT_NOTE = "result:"
CHECK_LEAVES: dict[str, Row] = {
    "severity": mapped(CHECKS, RESULTS),
    "name": mapped(CHECKS),
    "description": mapped(CHECKS),
    "expected": mapped(CHECKS, RESULTS),
    "actual": mapped(RESULTS),
    "failures": mapped(RESULTS),
    "content": mapped(CHECKS),
    "contentType": kept(CHECKS[".customProperties"]),
    "params.**": mapped(CHECKS),
    "params": withheld("envelope"),
}


class Described(Facet):
    """What both facets say of a check in the same words."""

    severity: str | None = None
    description: str | None = None
    expected: str | None = None
    actual: str | None = None
    content: str | None = None
    contentType: str | None = None
    params: dict[str, Any] | None = None
    failures: int | None = None  # OpenLineage pull request 4252


_CHECKS = "dataQualityAssertions"


def own_check(dataset: Dataset, endpoint: str, where: str, at: Place) -> bool:
    """Return whether an input is there for its checks alone, and is an output, too: a job tested what it wrote.

    So Cosmos tells `dbt build` of a model. As an input it would make the table its own source.
    """
    if _CHECKS not in dataset.input_facets and _CHECKS not in dataset.facets:
        return False
    if len({*dataset.facets, *dataset.input_facets}) > 1 or endpoint not in at.outputs:
        return False
    if at.notes is not None:
        at.where = where
        for leaf in ("namespace", "name"):
            at.reached(leaf, "datasetProperties.urn", *BY_NAME)
    return True


def success_of(word: bool | str | None, leaf: str, at: Place) -> bool | None:  # noqa: FBT001 - the wire's own type
    """Return whether a check succeeded; None, noted at ``leaf`` when something unreadable was said."""
    success = {"true": True, "false": False}.get(word.lower()) if isinstance(word, str) else word
    if word is not None and success is None:
        at.withheld(leaf, "malformed")
    return success


def bare(column: str | None) -> str | None:
    """Return the name of a column without the quotes that SQL needs around it: dbt sends those of ``quote: true``."""
    parts = split(column) if column else ()
    return str(parts[0]) if len(parts) == 1 and type(parts[0]) is Quoted else column


def note_not_run(path: str, at: Place) -> None:
    """Note for the report that a result at ``path`` was invented: nothing was checked."""
    for leaf in ("success", "status", "actual", "failures"):
        at.withheld(f"{path}.{leaf}", "no-home:skipped")


def note_unread(one: Facet, path: str, at: Place) -> None:
    """Note for the report which leaves of a check at ``path`` say nothing that could be read."""
    for leaf in one.__struct_fields__:
        value = getattr(one, leaf)
        for name, said in value.items() if isinstance(value, dict) else (("", value),):
            if isinstance(said, str) and said.startswith(SPOILT):
                at.withheld(f"{path}.{leaf}.{name}" if name else f"{path}.{leaf}", "non-serializable")
        if leaf == "failures" and value is not None and count_of(value) is None:
            at.withheld(f"{path}.{leaf}", "malformed")


class Stated(msgspec.Struct, frozen=True, gc=False):
    """A check on a dataset: ``name`` is the dataset's when it is known here, ``platform`` whose check it is."""

    check: Check
    dataset: str
    platform: str
    label: str
    name: Name | None


def stated_checks(
    checks: list[Check], dataset: str, at: Place, *, leaves: Sequence[str | None] | None = None
) -> Statements:
    """Yield each check under its assertion URN: the same check in two bags is one.

    ``leaves`` are those that say how each check ended.
    """
    name = at.named.get(dataset)
    urns = assertion_urns(
        checks,
        dataset,
        at.assertion_platform,
        at.options.tables.assertions,
        column_path=name.column if name is not None else None,
        identity=at.options.settings.assertions.identity,
    )
    if len(urns) == len(at.tested) == 1:
        urns = [at.identity.check_urn() or urns[0]]
    for position, (urn, check) in enumerate(zip(urns, checks, strict=True)):
        yield from stated(urn, check, dataset, at, leaf=leaves[position] if leaves else None)
        if check.name:
            at.checks.setdefault((dataset, check.name), {})[urn] = check


def stated(urn: str, check: Check, dataset: str, at: Place, *, leaf: str | None = None) -> Statements:
    """Yield the description of a check, and its result when it has one; ``leaf`` says how it ended."""
    table = at.options.tables.assertions
    check, hidden = without_values(check, at.assertion_platform, table)
    entry = Stated(check, dataset, at.assertion_platform, at.assertion_label, at.named.get(dataset))
    yield dataset, CHECKS, urn, entry
    path = leaf.rpartition(".")[0] if leaf is not None else ""
    for name in hidden if path else ():
        at.withheld(f"{path}.{name}", "secret")
    if path and check.params:
        for key in untold_parameters(check, at.assertion_platform, table, at.options.settings.assertions.type):
            at.withheld(f"{path}.params.{key}", "too-large")
    ended = outcome(check, at.assertion_platform, table)
    has_ended = ended not in ("SKIPPED", "UNKNOWN")
    if path:
        _note_of_the_run(check, path, at, has_ended=has_ended)
    if has_ended:
        yield dataset, RESULTS, (urn, _mark(urn, dataset, at)), check
        if ended == "ERROR" and leaf is not None:
            at.withheld(leaf, f"{RESULT_NOTE}{urn} {dataset}")
        elif leaf is not None and check.status is None and _is_hushed(ended, check, at):
            at.withheld(leaf, "policy:assertions.warn_as")


def _note_of_the_run(check: Check, path: str, at: Place, *, has_ended: bool) -> None:
    """Note for the report where that went which tells of the run, not of the check: to its result, if it has one."""
    told = [f"params.{key}" for key in sorted(at.options.tables.assertions.of_the_run & check.params.keys())]
    for leaf in told if has_ended else ():
        at.reached(f"{path}.{leaf}", RESULTS)
    for leaf in () if has_ended else ("actual", "failures", *told):
        at.withheld(f"{path}.{leaf}", "no-home:no result")


def _is_hushed(ended: Outcome, check: Check, at: Place) -> bool:
    """Whether the settings call the failure of a check a success; the word of a test's status is kept all the same."""
    severity = severity_of(check.severity, at.options.tables.assertions)
    return ended_as(ended, severity, at.options.settings.assertions.warn_as) != ended


def _mark(urn: str, dataset: str, at: Place) -> Mark | None:
    """Return which part of the dataset was checked; a test of the run that is a check of a dataset has looked at the same."""
    if not at.dataset:
        return at.marks.get((dataset, urn)) if at.marks is not None else None
    mark = at.entry()
    if mark is not None or at.marks is not None:
        at.marks = {**(at.marks or {}), (dataset, urn): mark}
    return mark
