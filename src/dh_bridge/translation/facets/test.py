"""test (run): tests and how they ended. https://openlineage.io/docs/spec/facets/run-facets/test"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.assertions import Check, datasets_of_test, merge, outcome, said
from dh_bridge.translation.facet import Facet, facet, mapped, property_statement
from dh_bridge.translation.facts import CHECKS, RESULTS, RUN_PROPERTIES
from dh_bridge.translation.properties import worded
from dh_bridge.translation.reading.checks import (
    CHECK_LEAVES,
    Described,
    note_not_run,
    note_unread,
    stated,
    stated_checks,
)
from dh_bridge.translation.reading.singular import asserted, is_singular, others, same_name
from dh_bridge.translation.runs.skipped import is_skipped

if TYPE_CHECKING:
    from dh_bridge.translation.context import Place
    from dh_bridge.translation.facts import Statements


class Test(Described):
    """One test of a run."""

    name: str = ""
    status: str | None = None
    type: str | None = None


class Tests(Facet):
    """The tests."""

    tests: list[Test] | None = None


#: Of a test that has no dataset, or no readable result, name, type, severity and status stay on the run.
_RESULTS = RUN_PROPERTIES["test.results"]
_SKIPPED = RUN_PROPERTIES["test.skipped"]
_SHORT = ("name", "status", "severity", "type")
_UNTOLD = ("description", "expected", "actual", "failures", "content", "contentType", "params")


@facet(
    "test",
    at="run",
    reads=Tests,
    leaves={
        f"tests[].{leaf}": row
        for leaf, row in {
            **CHECK_LEAVES,
            "name": mapped(CHECKS, _RESULTS),
            "type": mapped(CHECKS, _RESULTS),
            "severity": mapped(CHECKS, RESULTS, _RESULTS),
            "status": mapped(RESULTS, _RESULTS),
        }.items()
    },
)
def test(facet: Tests, at: Place) -> Statements:
    """One assertion per test and tested dataset (the event's inputs, else its outputs); skipped ones stay on the run."""
    skipped, untold = [], []
    none_ran = is_skipped(at)
    merged: list[tuple[str, Check, str | None]] = []
    loose: dict[str, list[tuple[Check, str | None]]] = {}
    for position, one in enumerate(facet.tests or ()):
        check = Check(
            assertion=one.type or one.name, severity=one.severity, name=one.name, description=one.description,
            expected=one.expected, actual=one.actual, content=one.content, content_type=one.contentType,
            params=one.params or {}, failures=one.failures, source="test", status="skip" if none_ran else one.status,
        )  # fmt: skip
        if at.notes is not None:
            note_unread(one, f"tests[{position}]", at)
        ended = outcome(check, at.assertion_platform, at.options.tables.assertions)
        if ended == "SKIPPED":
            skipped.append(one.name)
            if none_ran:
                note_not_run(f"tests[{position}]", at)
            _note_skipped(f"tests[{position}]", at)
            continue
        datasets = datasets_of_test(check, at.tested, several=at.options.settings.assertions.multi_dataset)
        if datasets and is_singular(check, at):
            datasets = datasets if len(datasets) == 1 else [asserted(check, at)]
            check.others = others(datasets[0], at)
        if ended == "UNKNOWN" or not datasets:
            _note_untold(f"tests[{position}]", at, malformed=ended == "UNKNOWN")
            untold.append({"name": one.name, "status": one.status, "severity": one.severity, "type": one.type})
        else:
            leaf = f"tests[{position}].status" if at.notes is not None else None
            told = [dataset for dataset in datasets if same_name(check, dataset, at) is not None]
            merged += [(dataset, check, leaf) for dataset in told]
            for dataset in datasets:
                if dataset not in told:
                    loose.setdefault(dataset, []).append((check, leaf))
            if len(told) == len(datasets) and not is_singular(check, at):
                at.withheld(f"tests[{position}].type", "duplicate-of:dataQualityAssertions")
    yield from _merged(merged, at)
    for dataset, pairs in loose.items():
        yield from stated_checks([one for one, _ in pairs], dataset, at, leaves=[leaf for _, leaf in pairs])
    lists = {"test.skipped": skipped, "test.results": untold}
    if properties := {key: worded(key, entries) for key, entries in lists.items() if entries}:
        yield property_statement(at, properties)


def _merged(tests: list[tuple[str, Check, str | None]], at: Place) -> Statements:
    """Yield each test as what it adds to the check of its name: of several, that of its column, else the next that is left."""
    left = {key: dict(checks) for key, checks in at.checks.items()} if tests else {}
    for dataset, test, leaf in sorted(tests, key=lambda one: not _columns(one[1])):
        named, columns = left[dataset, same_name(test, dataset, at) or ""], _columns(test)
        urn = next((urn for urn, one in named.items() if one.column in columns), next(iter(named)))
        same = named.pop(urn) if len(named) > 1 else named[urn]
        yield from stated(urn, merge(same, test), dataset, at, leaf=leaf)


def _columns(test: Check) -> set[str]:
    """Return what the column that a test names may be called: it may stand behind its table."""
    column = said(test.params.get("column"))
    return {column, column.rpartition(".")[2]} if isinstance(column, str) else set()


def _note_skipped(path: str, at: Place) -> None:
    """Note for the report that of a test that did not run only its name stays."""
    for leaf in ("name", "status"):  # another status would take the name off the list
        at.reached(f"{path}.{leaf}", _SKIPPED)
    for leaf in ("type", "severity", *_UNTOLD):
        at.withheld(f"{path}.{leaf}", "no-home:skipped")


def _note_untold(path: str, at: Place, *, malformed: bool) -> None:
    """Note for the report what stays of a test without a dataset, or without a readable result."""
    for leaf in _SHORT:
        at.reached(f"{path}.{leaf}", _RESULTS)
    for leaf in _UNTOLD:
        at.withheld(f"{path}.{leaf}", "malformed" if malformed and at.tested else "no-dataset")
