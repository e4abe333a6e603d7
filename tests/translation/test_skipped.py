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


# -- the report --------------------------------------------------------------------------------------------------------

KEPT = ("kept", "dataProcessInstanceProperties.customProperties[openlineage.test.skipped]")
RESULT = ("mapped", "assertionRunEvent.result")
FIRST = "$.inputs[0].inputFacets.dataQualityAssertions.assertions[0]"


def lines(events):
    """Return (verdict, target or reason) by path of the last event."""
    found = told(events, report=True)
    last = f"event[{len(events) - 1}]"
    return {
        line["path"]: (line["verdict"], line["target"] or line["reason"])
        for line in found.translation.report.lines()
        if line["event"] == last
    }


def test_the_report_tells_where_a_withdrawn_result_went():
    found = lines([*model(), *checked(BROKEN)])
    assert found[f"{FIRST}.success"] == KEPT
    assert {found[f"{FIRST}.{leaf}"] for leaf in ("assertion", "column", "name")} == {("mapped", "assertionInfo")}


def test_the_report_tells_of_each_result_by_itself():
    ran = {**BROKEN, "name": "unique_orders_id", "assertion": "unique", "expected": "0", "actual": "3"}
    found = lines([*model(), *checked(BROKEN, ran)])
    assert found[f"{FIRST}.success"] == KEPT
    assert found[f"{FIRST.removesuffix('[0]')}[1].success"] == RESULT


def test_a_result_that_stands_is_told_as_ever():
    assert lines(checked(BROKEN))[f"{FIRST}.success"] == RESULT
    assert lines([*model("COMPLETE"), *checked(BROKEN)])[f"{FIRST}.success"] == RESULT


def test_the_report_tells_of_a_test_of_the_run_that_was_withdrawn_or_called_skipped():
    body = facet(
        tests=[
            {"name": "a", "status": "skip", "type": "unique", "severity": "warn"},
            {"name": "b", "status": "fail", "type": "unique"},
        ]
    )
    found = lines([*model(), *checked(run={"test": body})])
    of = "$.run.facets.test.tests"
    assert found[f"{of}[0].name"] == found[f"{of}[0].status"] == found[f"{of}[1].status"] == KEPT
    assert found[f"{of}[0].type"] == found[f"{of}[0].severity"] == ("withheld", "no-home:skipped")
    assert found[f"{of}[1].type"] == ("mapped", "assertionInfo")


def test_what_does_not_fit_onto_a_list_that_was_cut_is_told():
    body = facet(tests=[{"name": "x" * 100_000, "status": "skip"}])
    found = lines([*model(), *checked(BROKEN, run={"test": body})])
    assert found[f"{FIRST}.success"] == ("withheld", "too-large")


def test_each_line_is_borne_out():
    events = [
        *model(),
        *checked(BROKEN, run={"test": facet(tests=[{"name": "b", "status": "fail", "type": "unique"}])}),
    ]
    paths = {f"{FIRST}.success": ("success", True), "$.run.facets.test.tests[0].status": ("status", "pass")}
    for path, (leaf, other) in paths.items():
        changed = json.loads(json.dumps(events))
        if leaf == "success":
            changed[-1]["inputs"][0]["inputFacets"]["dataQualityAssertions"]["assertions"][0][leaf] = other
        else:
            changed[-1]["run"]["facets"]["test"]["tests"][0][leaf] = other
        assert skipped(told(changed)) != skipped(told(events)), path
