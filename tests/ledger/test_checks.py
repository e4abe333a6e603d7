"""Checks are shown with the type of their column, whichever call stated its schema."""

from __future__ import annotations

import itertools

import pytest
from support.ledger_batches import LedgerCase, settings
from support.sample_events import dataset, event

from dh_bridge.settings import AssertionSettings

NATIVE = settings(datahub_version="1.7", assertions=AssertionSettings(type="native"))
RETIRING = settings(datahub_version="1.7", assertions=AssertionSettings(type="native", expire="runs:2"))


def run(day, *, job="app.check", inputs=(), outputs=()):
    number = f"{day:02}{len(job):02}"
    return event(
        "COMPLETE", f"2026-10-{day:02}T10:00:00Z", run=f"018cc251-f400-734d-88b3-{number:0>12}", job=job, inputs=[*inputs],
        outputs=[*outputs],
    )  # fmt: skip


def check(day, most=None):
    found = {"assertion": "not_null" if most is None else "max_nulls", "success": True, "column": "a"}
    if most is not None:
        found["params"] = {"most": str(most)}
    return run(day, inputs=[dataset("d.s.t", inputFacets={"dataQualityAssertions": {"assertions": [found]}})])


def schema(day, kind):
    one = dataset("d.s.t", facets={"schema": {"fields": [{"name": "a", "type": kind}]}})
    return run(day, job="app.write", outputs=[one])


def infos(ledger_case):
    return [ledger_case.catalog.aspect(urn, "assertionInfo") for urn in ledger_case.catalog.entities("assertion")]


def after(chosen, *events):
    ledger_case = LedgerCase(chosen, forgetful=True)
    ledger_case.process(*([one] for one in events))
    assert ledger_case.refused == []
    return ledger_case


def test_later_schema_sets_the_column_type_of_a_check():
    (info,) = infos(after(NATIVE, check(1)))
    assert info["type"] == "CUSTOM"
    (info,) = infos(after(NATIVE, check(1), schema(2, "int")))
    assert info["fieldAssertion"]["fieldValuesAssertion"]["field"] == {
        "path": "a",
        "type": "NUMBER",
        "nativeType": "int",
    }


@pytest.mark.parametrize("chosen", [NATIVE, RETIRING], ids=["native", "retiring"])
def test_order_of_checks_and_schemas_does_not_matter(chosen):
    history = [check(1), schema(2, "int"), schema(3, "string"), check(4)]
    assert len({tuple(after(chosen, *order).dump()) for order in itertools.permutations(history)}) == 1


def test_later_schema_keeps_retired_and_replaced_assertions():
    ledger_case = after(RETIRING, check(1, 5), check(2, 7), check(3, 7))
    before = {urn: ledger_case.catalog.aspect(urn, "status") for urn in ledger_case.catalog.entities("assertion")}
    assert sorted(map(bool, before.values())) == [False, True]
    ledger_case.process([schema(4, "int")])
    assert {urn: ledger_case.catalog.aspect(urn, "status") for urn in before} == before
    assert sum("openlineage.replaces" in info["customProperties"] for info in infos(ledger_case)) == 1
