"""test (run): tests and how they ended. https://openlineage.io/docs/spec/facets/run-facets/test"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.translation.assertions import Check, datasets_of_test, merge, outcome
from dh_bridge.translation.checks import CHECK_LEAVES, INFO, RESULT, Described, stated, stated_checks
from dh_bridge.translation.facet import Facet, facet, mapped, property_statement
from dh_bridge.translation.properties import worded
from dh_bridge.translation.singular import asserted, is_singular, others

if TYPE_CHECKING:
    from dh_bridge.translation.place import Place
    from dh_bridge.translation.slots import Statements


class Test(Described):
    """One test of a run."""

    name: str = ""
    status: str | None = None
    type: str | None = None


class Tests(Facet):
    """The tests."""

    tests: list[Test] | None = None


#: Of a test that has no dataset, or no readable result, name, type, severity and status stay on the run (ruling 8).
_RESULTS = "dataProcessInstanceProperties.customProperties[openlineage.test.results]"
_SKIPPED = "dataProcessInstanceProperties.customProperties[openlineage.test.skipped]"
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
            "name": mapped(INFO, _RESULTS),
            "type": mapped(INFO, _RESULTS),
            "severity": mapped(INFO, RESULT, _RESULTS),
            "status": mapped(RESULT, _RESULTS),
        }.items()
    },
)
def test(facet: Tests, at: Place) -> Statements:
    """One assertion per test and tested dataset (the event's inputs, else its outputs); skipped ones stay on the run."""
    skipped, untold = [], []
    loose: dict[str, list[tuple[Check, str | None]]] = {}
    for position, one in enumerate(facet.tests or ()):
        check = Check(
            assertion=one.type or one.name, severity=one.severity, name=one.name, description=one.description,
            expected=one.expected, actual=one.actual, content=one.content, content_type=one.contentType,
            params=one.params or {}, failures=one.failures, source="test", status=one.status,
        )  # fmt: skip
        ended = outcome(check, at.assertion_platform)
        if ended == "SKIPPED":
            skipped.append(one.name)
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
            for dataset in datasets:
                same = at.checks.get((dataset, one.name))
                if same is None:
                    loose.setdefault(dataset, []).append((check, leaf))
                else:
                    yield from stated(same[0], merge(same[1], check), dataset, at, leaf=leaf)
    for dataset, pairs in loose.items():
        yield from stated_checks([one for one, _ in pairs], dataset, at, leaves=[leaf for _, leaf in pairs])
    lists = {"test.skipped": skipped, "test.results": untold}
    if properties := {key: worded(key, entries) for key, entries in lists.items() if entries}:
        yield property_statement(at, properties)


def _note_skipped(path: str, at: Place) -> None:
    """Note for the report that of a test that did not run only its name stays."""
    for leaf in ("name", "status"):  # another status would take the name off the list
        at.reached(f"{path}.{leaf}", "kept", _SKIPPED)
    for leaf in ("type", "severity", *_UNTOLD):
        at.withheld(f"{path}.{leaf}", "no-home:skipped")


def _note_untold(path: str, at: Place, *, malformed: bool) -> None:
    """Note for the report what stays of a test without a dataset, or without a readable result."""
    for leaf in _SHORT:
        at.reached(f"{path}.{leaf}", "kept", _RESULTS)
    for leaf in _UNTOLD:
        at.withheld(f"{path}.{leaf}", "malformed" if malformed and at.tested else "no-dataset")
