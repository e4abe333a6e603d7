"""dbt tests that dbt skipped, because their model failed under the same parent run."""

from __future__ import annotations

import itertools
import json

import pytest
from support.facet_cases import DBT, ORDERS, PARENT, event, facet, orders, translate_events

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
    return json.loads(found.properties(DPI).get("test.skipped", "[]"))


def test_dbt_test_of_a_failed_model_sends_no_result():
    found = translate_events([*model(), *checked(BROKEN)])
    assert results(found) == []
    assert skipped(found) == ["not_null_orders_id"]
    (info,) = (one.value for one in found.proposals if one.aspect_name == "assertionInfo")
    assert info["datasetAssertion"]["dataset"] == ORDERS, "the check exists all the same"


def test_order_of_the_events_does_not_matter():
    for events in itertools.permutations([*model(), *checked(BROKEN)]):
        found = translate_events(list(events))
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
def test_test_without_a_value_is_an_error_otherwise(why, events):
    found = translate_events(events)
    assert results(found) == ["ERROR"], why
    assert skipped(found) == []


def test_test_with_a_value_ran_and_keeps_its_result():
    ran = {**BROKEN, "name": "unique_orders_id", "assertion": "unique", "expected": "0", "actual": "3"}
    found = translate_events([*model(), *checked(BROKEN, ran)])
    assert results(found) == ["FAILURE"]
    assert skipped(found) == ["not_null_orders_id"]


def test_run_facet_tests_of_a_failed_model_are_skipped():
    body = facet(tests=[{"name": "a", "status": "skip"}, {"name": "b", "status": "fail", "type": "unique"}])
    found = translate_events([*model(), *checked(run={"test": body})])
    assert results(found) == []
    assert skipped(found) == ["a", "b"]


def test_list_that_was_cut_stays_as_it_is():
    body = facet(tests=[{"name": "x" * 100_000, "status": "skip"}])
    found = translate_events([*model(), *checked(BROKEN, run={"test": body})])
    assert results(found) == []
    assert found.properties(DPI)["test.skipped"].startswith('["xxx')


def test_dbt_test_that_ran_keeps_its_result_if_its_model_failed():
    ran = {**BROKEN, "expected": "0", "actual": "3"}
    found = translate_events([*model(), *checked(ran)])
    assert results(found) == ["FAILURE"]
    assert skipped(found) == []


# -- events that follow dbt's log --------------------------------------------------------------------------------------

INVENTED = {**BROKEN, "expected": "0", "actual": "0"}
SINGULAR = {"name": "test.shop.no_gaps", "type": "singular", "status": "fail", "expected": "0", "actual": "0"}


def aborted(*checks, tests=(), kind="ABORT", producer=DBT, error=None):
    bag = {"dataQualityAssertions": facet(assertions=list(checks))} if checks else {}
    run = {"test": facet(tests=list(tests))} if tests else {}
    if error:
        run["errorMessage"] = facet(message=error, programmingLanguage="sql")
    parts = {"run_id": TEST, "name": "test.shop.not_null_orders_id.1a2b", "producer": producer}
    return [
        event("START", time="2026-11-20T01:00:11Z", inputs=[orders()], **parts),
        event(kind, time="2026-11-20T01:00:11Z", inputs=[orders(facets=bag)], run=run, **parts),
    ]


def test_dbt_test_with_an_aborted_run_is_skipped():
    found = translate_events(aborted(INVENTED))
    assert results(found) == []
    assert skipped(found) == ["not_null_orders_id"]
    assert [one.aspect_name for one in found.proposals].count("assertionInfo") == 1, "the check exists all the same"


def test_so_was_a_singular_test_of_the_run():
    found = translate_events(
        aborted({**INVENTED, "assertion": "no_gaps", "name": "no_gaps", "column": None}, tests=[SINGULAR])
    )
    assert results(found) == []
    assert skipped(found) == ["test.shop.no_gaps"]


def test_aborted_run_of_others_than_dbt_has_its_results():
    assert results(translate_events(aborted(INVENTED, producer="https://example.com/own"))) == ["FAILURE"]


def test_failed_dbt_test_without_failing_rows_is_an_error():
    found = translate_events(aborted(INVENTED, kind="FAIL", error='column "id" does not exist'))
    (result,) = (one.value["result"] for one in found.proposals if one.aspect_name == "assertionRunEvent")
    assert result["type"] == "ERROR"
    assert result["error"]["properties"]["message"] == 'column "id" does not exist'
    assert not {"unexpectedCount", "actualAggValue"} & result.keys(), "nothing was counted"
    assert result["nativeResults"]["actual"] == "0"


@pytest.mark.parametrize(
    ("expected", "actual", "kind"),
    [("> 10", "0", "ERROR"), ("<1", "0", "FAILURE"), ("0", "3", "FAILURE"), (None, "0", "FAILURE")],
)
def test_zero_failing_rows_fail_only_if_some_are_expected(expected, actual, kind):
    check = {**BROKEN, "expected": expected, "actual": actual}
    assert results(translate_events(aborted(check, kind="FAIL"))) == [kind]


def test_report_drops_invented_results_of_skipped_tests():
    found = lines(aborted({**INVENTED, "name": "no_gaps", "assertion": "no_gaps"}, tests=[SINGULAR]))
    of_check, of_test = "$.inputs[0].facets.dataQualityAssertions.assertions[0]", "$.run.facets.test.tests[0]"
    invented = ("dropped", "no-field:skipped")
    assert {found[f"{of_check}.{leaf}"] for leaf in ("success", "actual")} == {invented}
    assert {found[f"{of_test}.{leaf}"] for leaf in ("status", "actual")} == {invented}
    assert found[f"{of_check}.name"] == ("mapped", "assertionInfo")
    assert found[f"{of_test}.name"] == KEPT


# -- the report --------------------------------------------------------------------------------------------------------

KEPT = ("property", "dataProcessInstanceProperties.customProperties[openlineage.test.skipped]")
RESULT = ("mapped", "assertionRunEvent.result")
FIRST = "$.inputs[0].inputFacets.dataQualityAssertions.assertions[0]"


def lines(events):
    """Return (outcome, target or reason) by path of the last event."""
    found = translate_events(events, report=True)
    last = f"event[{len(events) - 1}]"
    return {
        line["path"]: (line["outcome"], line["target"] or line["reason"])
        for line in found.translation.report.lines()
        if line["event"] == last
    }


def test_report_marks_a_withdrawn_result_as_property():
    found = lines([*model(), *checked(BROKEN)])
    assert found[f"{FIRST}.success"] == KEPT
    assert {found[f"{FIRST}.{leaf}"] for leaf in ("assertion", "column", "name")} == {("mapped", "assertionInfo")}


def test_report_distinguishes_withdrawn_and_sent_results():
    ran = {**BROKEN, "name": "unique_orders_id", "assertion": "unique", "expected": "0", "actual": "3"}
    found = lines([*model(), *checked(BROKEN, ran)])
    assert found[f"{FIRST}.success"] == KEPT
    assert found[f"{FIRST.removesuffix('[0]')}[1].success"] == RESULT


def test_report_marks_a_sent_result_as_mapped():
    assert lines(checked(BROKEN))[f"{FIRST}.success"] == RESULT
    assert lines([*model("COMPLETE"), *checked(BROKEN)])[f"{FIRST}.success"] == RESULT


def test_report_covers_withdrawn_and_skipped_run_facet_tests():
    body = facet(
        tests=[
            {"name": "a", "status": "skip", "type": "unique", "severity": "warn"},
            {"name": "b", "status": "fail", "type": "unique"},
        ]
    )
    found = lines([*model(), *checked(run={"test": body})])
    of = "$.run.facets.test.tests"
    assert found[f"{of}[0].name"] == found[f"{of}[0].status"] == found[f"{of}[1].status"] == KEPT
    assert found[f"{of}[0].type"] == found[f"{of}[0].severity"] == ("dropped", "no-field:skipped")
    assert found[f"{of}[1].type"] == ("mapped", "assertionInfo")


def test_report_drops_results_beyond_the_truncated_list():
    body = facet(tests=[{"name": "x" * 100_000, "status": "skip"}])
    found = lines([*model(), *checked(BROKEN, run={"test": body})])
    assert found[f"{FIRST}.success"] == ("dropped", "too-large")


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
        assert skipped(translate_events(changed)) != skipped(translate_events(events)), path
