"""dbt tests that dbt skipped, because their model failed under the same parent run (producers.md 3)."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "facets"))

from facet_cases import DBT, ORDERS, PARENT, event, facet, orders, told

MODEL, TEST = "01938a9c-0000-7000-8000-00000000000b", "01938a9c-0000-7000-8000-00000000000c"
OTHER = "01938a9c-0000-7000-8000-0000000000bb"
DPI = f"urn:li:dataProcessInstance:{TEST}"
BROKEN = {"assertion": "not_null", "column": "id", "name": "not_null_orders_id", "severity": "error", "success": False}


def under(parent):
    return facet(run={"runId": parent}, job={"namespace": "shop", "name": "dbt-run-shop"})


def model(kind="FAIL", *, parent=PARENT):
    parts = {"run_id": MODEL, "name": "shop.public.shop.orders", "producer": DBT, "run": {"parent": under(parent)}}
    return [
        event("START", time="2026-11-20T01:00:00Z", outputs=[orders()], **parts),
        event(kind, time="2026-11-20T01:00:10Z", outputs=[], **parts),
    ]


def checked(*checks, run=None):
    bag = {"dataQualityAssertions": facet(assertions=list(checks))}
    parts = {
        "run_id": TEST, "name": "shop.public.shop.orders.test", "producer": DBT,
        "run": {"parent": under(PARENT), **(run or {})},
    }  # fmt: skip
    return [
        event("START", time="2026-11-20T01:00:11Z", inputs=[orders()], **parts),
        event("FAIL", time="2026-11-20T01:00:12Z", inputs=[orders(inputFacets=bag)], **parts),
    ]


def results(found):
    return [one.value["result"]["type"] for one in found.proposals if one.aspect_name == "assertionRunEvent"]


def skipped(found):
    return json.loads(found.kept(DPI).get("test.skipped", "[]"))


def test_a_test_whose_model_failed_under_the_same_parent_sends_no_result():
    found = told([*model(), *checked(BROKEN)])
    assert results(found) == []
    assert skipped(found) == ["not_null_orders_id"]
    (info,) = (one.value for one in found.proposals if one.aspect_name == "assertionInfo")
    assert info["datasetAssertion"]["dataset"] == ORDERS, "the check exists all the same"


def test_the_order_of_the_events_does_not_matter():
    for events in itertools.permutations([*model(), *checked(BROKEN)]):
        found = told(list(events))
        assert results(found) == []
        assert skipped(found) == ["not_null_orders_id"]


@pytest.mark.parametrize(
    ("why", "events"),
    [
        ("the model is in another call", checked(BROKEN)),
        ("the model was built", [*model("COMPLETE"), *checked(BROKEN)]),
        ("the model failed under another parent", [*model(parent=OTHER), *checked(BROKEN)]),
    ],
)
def test_a_test_without_a_value_is_an_error_otherwise(why, events):
    found = told(events)
    assert results(found) == ["ERROR"], why
    assert skipped(found) == []


def test_a_test_with_a_value_ran_and_keeps_its_result():
    ran = {**BROKEN, "name": "unique_orders_id", "assertion": "unique", "expected": "0", "actual": "3"}
    found = told([*model(), *checked(BROKEN, ran)])
    assert results(found) == ["FAILURE"]
    assert skipped(found) == ["not_null_orders_id"]


def test_a_test_that_the_run_facet_tells_is_skipped_too_beside_those_that_it_calls_skipped():
    body = facet(tests=[{"name": "a", "status": "skip"}, {"name": "b", "status": "fail", "type": "unique"}])
    found = told([*model(), *checked(run={"test": body})])
    assert results(found) == []
    assert skipped(found) == ["a", "b"]


def test_a_list_that_was_cut_stays_as_it_is():
    body = facet(tests=[{"name": "x" * 100_000, "status": "skip"}])
    found = told([*model(), *checked(BROKEN, run={"test": body})])
    assert results(found) == []
    assert found.kept(DPI)["test.skipped"].startswith('["xxx')


def test_a_failed_model_takes_no_result_from_a_test_that_ran():
    ran = {**BROKEN, "expected": "0", "actual": "3"}
    found = told([*model(), *checked(ran)])
    assert results(found) == ["FAILURE"]
    assert skipped(found) == []
