"""test (run): tests and how they ended. https://openlineage.io/docs/spec/facets/run-facets/test"""

from __future__ import annotations

from typing import Any

from dh_bridge.translation.assertions import Check
from dh_bridge.translation.checks import CHECK_LEAVES, INFO, RESULT, stated_checks
from dh_bridge.translation.facet import Facet, facet, mapped, property_statement
from dh_bridge.translation.place import Place
from dh_bridge.translation.properties import kept as kept_text
from dh_bridge.translation.slots import Statements

_SKIPPED = ("skip", "skipped")
_STATUSES = {"pass": True, "success": True, "passed": True, "fail": False, "failed": False, "failure": False, "error": False}


class Test(Facet):
    """One test of a run."""

    name: str = ""
    status: str | None = None
    severity: str | None = None
    type: str | None = None
    description: str | None = None
    expected: str | None = None
    actual: str | None = None
    content: str | None = None
    contentType: str | None = None
    params: dict[str, Any] | None = None


class Tests(Facet):
    """The tests."""

    tests: list[Test] | None = None


@facet(
    "test",
    at="run",
    reads=Tests,
    leaves={
        f"tests[].{leaf}": row
        for leaf, row in {**CHECK_LEAVES, "type": mapped(INFO), "status": mapped(RESULT, "dataProcessInstanceProperties")}.items()
    },
)
def test(facet: Tests, at: Place) -> Statements:
    """One assertion per test and tested dataset (the run's inputs, else its outputs); skipped ones stay on the run."""
    datasets = at.tested
    skipped, kept_here, checks = [], [], []
    for position, one in enumerate(facet.tests or ()):
        status = (one.status or "").lower()
        if status in _SKIPPED:
            skipped.append(one.name)
        elif status not in _STATUSES or not datasets:
            at.withheld(f"tests[{position}]", "malformed" if datasets else "no-dataset")
            kept_here.append({"name": one.name, "status": one.status, "severity": one.severity, "type": one.type})
        else:
            checks.append(
                Check(
                    assertion=one.type or one.name, success=_STATUSES[status], severity=one.severity, name=one.name,
                    description=one.description, expected=one.expected, actual=one.actual, content=one.content,
                    content_type=one.contentType, params=one.params or {}, source="test", status=one.status,
                )
            )  # fmt: skip
    for dataset in datasets:
        yield from stated_checks(checks, dataset, at)
    properties = {}
    if skipped:
        properties["test.skipped"] = kept_text("test.skipped", skipped) or ""
    if kept_here:
        properties["test.results"] = kept_text("test.results", kept_here) or ""
    if properties:
        yield property_statement(at, properties)
