"""dbt's singular tests: one check, one result, whichever form they come in and however many tables they read."""

from __future__ import annotations

import itertools
import json

import pytest
from support.facet_cases import DBT, ORDERS, TOTALS, event, facet, orders, totals, translate_events

NAME = "no_negative_amount"
CHECK = {"assertion": NAME, "name": NAME, "success": False, "severity": "error", "expected": "0", "actual": "1"}
TEST = {"name": f"test.shop.{NAME}", "type": "singular", "status": "fail", "expected": "0", "actual": "1", "params": {}}
GENERIC = {
    "assertion": "not_null",
    "name": "not_null_id",
    "column": "id",
    "success": True,
    "expected": "0",
    "actual": "0",
}


def checks(*stated):
    return {"dataQualityAssertions": facet(assertions=list(stated))}


def ran(*inputs, tests=(), report=False, producer=DBT, **settings):
    run = {"test": facet(tests=list(tests))} if tests else {}
    events = [
        event(kind, inputs=list(inputs), run=run, producer=producer, name=f"test.shop.{NAME}")
        for kind in ("START", "FAIL")
    ]
    return translate_events(events, report=report, **settings)


def results(found):
    return [(one.entity_urn, one.value) for one in found.proposals if one.aspect_name == "assertionRunEvent"]


FORMS = {
    "a test of the run, bare inputs": ((orders(), totals()), (TEST,), ORDERS),
    "the check on one input": ((orders(), totals(facets=checks(CHECK))), (), TOTALS),
    "the check on both inputs": ((orders(facets=checks(CHECK)), totals(facets=checks(CHECK))), (), ORDERS),
    "the check on one input, and the test": ((orders(), totals(facets=checks(CHECK))), (TEST,), TOTALS),
    "the check in two bags": ((orders(), totals(facets=checks(CHECK), inputFacets=checks(CHECK))), (TEST,), TOTALS),
    "other checks on one input, and the test": ((orders(), totals(facets=checks(GENERIC))), (TEST,), TOTALS),
    "other checks on the first": ((orders(facets=checks(GENERIC)), totals(facets=checks(CHECK))), (TEST,), TOTALS),
}


@pytest.mark.parametrize("form", FORMS)
def test_singular_test_is_one_check_of_one_table(form):
    inputs, tests, asserted = FORMS[form]
    expected = None
    for order in itertools.permutations(inputs):
        found = ran(*order, tests=tests)
        mine = [
            (urn, value)
            for urn, value in results(found)
            if found.one(urn, "assertionInfo")["datasetAssertion"]["nativeType"] == NAME
        ]
        ((urn, value),) = mine
        assert value["asserteeUrn"] == asserted
        assert value["result"]["type"] == "FAILURE"
        assert json.loads(value["runtimeContext"]["datasets"]) == sorted({ORDERS, TOTALS} - {asserted})
        assert expected in (None, urn)
        expected = urn


def test_its_urn_is_the_same_in_every_form_on_the_same_table():
    found = [ran(*inputs, tests=tests) for inputs, tests, asserted in FORMS.values() if asserted == TOTALS]
    found.append(ran(totals(facets=checks(CHECK))))
    found.append(ran(totals(), tests=[TEST]))
    urns = {urn for one in found for urn, value in results(one) if value["result"]["type"] == "FAILURE"}
    assert len(urns) == 1


def test_singular_test_of_one_table_lists_no_others():
    ((_, value),) = results(ran(orders(), tests=[TEST]))
    assert "datasets" not in value["runtimeContext"]


def test_generic_tests_are_checks_of_each_table_as_ever():
    found = results(ran(orders(facets=checks(GENERIC)), totals(facets=checks(GENERIC))))
    assert {value["asserteeUrn"] for _, value in found} == {ORDERS, TOTALS}
    assert all("datasets" not in value["runtimeContext"] for _, value in found)


def test_singular_test_of_other_producers_checks_each_table():
    found = results(ran(orders(), totals(), tests=[TEST], producer="https://example.com/own"))
    assert {value["asserteeUrn"] for _, value in found} == {ORDERS, TOTALS}


def test_parameter_that_names_a_table_counts():
    found = results(ran(orders(), totals(), tests=[{**TEST, "params": {"model": "totals"}}]))
    ((_, value),) = found
    assert value["asserteeUrn"] == TOTALS
    assert json.loads(value["runtimeContext"]["datasets"]) == [ORDERS]


def test_setting_none_leaves_it_on_the_run():
    assert results(ran(orders(), totals(), tests=[TEST], assertions={"multi_dataset": "none"})) == []


def test_report_marks_singular_test_duplicates_on_other_tables():
    found = ran(orders(facets=checks(CHECK)), totals(facets=checks(CHECK, GENERIC)), report=True)
    path = "$.inputs[1].facets.dataQualityAssertions.assertions"
    assert found.outcomes()[f"{path}[0].success"] == ("dropped", f"duplicate-of:the same test of {ORDERS}")
    assert found.outcomes()[f"{path}[1].success"] == ("mapped", "assertionRunEvent.result")
    assert found.outcomes()["$.inputs[0].facets.dataQualityAssertions.assertions[0].success"][0] == "mapped"


@pytest.mark.parametrize(
    "broken", ["text", 7, {"assertions": 7}, {"assertions": [7]}, {"assertions": [None, {"name": 3}]}]
)
def test_unreadable_checks_of_another_table_do_no_harm(broken):
    found = ran(orders(facets={"dataQualityAssertions": broken}), totals(facets=checks(CHECK)))
    mine = [value for urn, value in results(found) if value["result"]["type"] == "FAILURE"]
    assert [value["asserteeUrn"] for value in mine] == [TOTALS]


def test_run_facet_test_equals_a_check_with_its_short_name():
    """dbt calls it ``test.<project>.<name>`` in the run's facet, ``<name>`` on its table."""
    test = {**TEST, "content": "select 1", "contentType": "sql", "status": "pass"}
    found = ran(orders(facets=checks(CHECK)), tests=[test], report=True)
    ((urn, value),) = results(found)
    assert value["result"]["type"] == "FAILURE", "the check's own word counts"
    info = found.one(urn, "assertionInfo")
    assert info["customProperties"]["openlineage.name"] == NAME
    assert info["datasetAssertion"]["logic"] == "select 1"
    outcomes = found.outcomes()
    assert outcomes["$.run.facets.test.tests[0].type"] == ("dropped", "duplicate-of:dataQualityAssertions")
    assert outcomes["$.inputs[0].facets.dataQualityAssertions.assertions[0].success"][0] == "mapped"


def test_typed_test_differs_from_a_check_with_its_short_name():
    generic = {**TEST, "name": f"shop.{NAME}", "type": "unique"}
    for producer in (DBT, "https://example.com/own"):
        assert len(results(ran(orders(facets=checks(CHECK)), tests=[generic], producer=producer))) == 2
