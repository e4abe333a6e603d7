"""test (run)."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import test_run
from support.facet_cases import (
    AIRFLOW,
    DBT,
    DPI,
    GX,
    ORDERS,
    OWN,
    SPARK,
    TOTALS,
    client_pair,
    event,
    facet,
    orders,
    pair,
    totals,
    translate_events,
)

RESULTS = "dataProcessInstanceProperties.customProperties[openlineage.test.results]"


def ran(*tests, inputs=None, outputs=None, bag=None, **settings):
    inputs = [orders(inputFacets=bag or {})] if inputs is None else inputs
    return translate_events(pair(run={"test": facet(tests=list(tests))}, inputs=inputs, outputs=outputs), **settings)


def results(found):
    return {
        one.value["asserteeUrn"]: one.value["result"]
        for one in found.proposals
        if one.aspect_name == "assertionRunEvent"
    }


def infos(found):
    return [one.value["datasetAssertion"] for one in found.proposals if one.aspect_name == "assertionInfo"]


UNIQUE = {"name": "unique_orders_id", "status": "pass", "type": "unique", "params": {"column": "id"}}


def test_test_is_an_assertion_on_the_tested_dataset():
    found = ran({**UNIQUE, "status": "fail", "severity": "error", "actual": "(4,)", "expected": "0"})
    assert results(found)[ORDERS]["type"] == "FAILURE"
    (info,) = infos(found)
    assert (info["nativeType"], info["dataset"]) == ("unique", ORDERS)


@pytest.mark.parametrize(("status", "kind"), [("pass", "SUCCESS"), ("PASS", "SUCCESS"), ("fail", "FAILURE")])
def test_how_a_test_ended(status, kind):
    assert results(ran({**UNIQUE, "status": status}))[ORDERS]["type"] == kind


def test_skipped_test_has_no_result_and_stays_on_the_run():
    found = ran({**UNIQUE, "status": "skip"})
    assert results(found) == {}
    assert found.properties(DPI)["test.skipped"] == '["unique_orders_id"]'


@pytest.mark.parametrize(
    "beside", [{}, {"assertions": [{"assertion": "accepted_values", "name": "held", "success": True}]}]
)
def test_values_of_secret_columns_are_redacted_in_tests(beside):
    test = {
        "name": "held", "status": "fail", "type": "accepted_values", "actual": "hunter2", "expected": "0",
        "params": {"column": "login.password", "values": ["hunter2"]},
    }  # fmt: skip
    bag = {"dataQualityAssertions": facet(**beside)} if beside else {}
    found = ran(test, bag=bag, report=True)
    assert results(found)[ORDERS]["nativeResults"]["actual"] == "[REDACTED]"
    assert "hunter2" not in str([one.value for one in found.proposals])
    outcomes = found.outcomes()
    for leaf in ("actual", "params.values[0]"):
        assert outcomes[f"$.run.facets.test.tests[0].{leaf}"] == ("dropped", "secret")
    assert outcomes["$.run.facets.test.tests[0].expected"][0] == "mapped"


@pytest.mark.parametrize("status", ["maybe", None])
def test_unknown_test_status_is_malformed_and_kept_on_the_run(status):
    found = ran({**UNIQUE, "status": status, "expected": "0"}, report=True)
    assert results(found) == {}
    assert '"name":"unique_orders_id"' in found.properties(DPI)["test.results"]
    assert found.outcomes()["$.run.facets.test.tests[0].name"] == ("property", RESULTS)
    assert found.outcomes()["$.run.facets.test.tests[0].expected"] == ("dropped", "malformed")


def test_without_a_dataset_the_results_stay_on_the_run():
    found = ran({**UNIQUE, "severity": "warn", "expected": "0"}, inputs=[], report=True)
    assert found.entities("assertion") == set()
    assert found.properties(DPI)["test.results"] == (
        '[{"name":"unique_orders_id","severity":"warn","status":"pass","type":"unique"}]'
    )
    assert found.outcomes()["$.run.facets.test.tests[0].name"] == ("property", RESULTS)
    assert found.outcomes()["$.run.facets.test.tests[0].expected"] == ("dropped", "no-dataset")


def test_outputs_are_tested_where_nothing_was_read():
    assert set(results(ran(UNIQUE, inputs=[], outputs=[totals()]))) == {TOTALS}


def test_test_of_several_datasets_checks_each_or_the_named_one():
    both = [orders(), totals()]
    assert set(results(ran({**UNIQUE, "params": {}}, inputs=both))) == {ORDERS, TOTALS}
    assert set(results(ran({**UNIQUE, "params": {"model": "totals"}}, inputs=both))) == {TOTALS}


@pytest.mark.parametrize(("which", "tested"), [("all", {ORDERS, TOTALS}), ("first", {ORDERS}), ("none", set())])
def test_multi_dataset_setting_selects_the_tested_datasets(which, tested):
    test = {**UNIQUE, "params": {"limit": 3}}
    found = ran(test, inputs=[totals(), orders()], assertions={"multi_dataset": which}, report=True)
    assert set(results(found)) == tested
    properties = found.properties(DPI).get("test.results")
    assert (properties is None) == bool(tested), "what has no dataset stays on the run"
    if not tested:
        assert found.outcomes()["$.run.facets.test.tests[0].params.limit"] == ("dropped", "no-dataset")


@pytest.mark.parametrize(("warn_as", "kind"), [("failure", "FAILURE"), ("success", "SUCCESS")])
def test_warn_as_setting_sets_the_result_of_a_warning(warn_as, kind):
    warned = ran({**UNIQUE, "status": "fail", "severity": "warn"}, assertions={"warn_as": warn_as})
    assert results(warned)[ORDERS]["type"] == kind
    failed = ran({**UNIQUE, "status": "fail", "severity": "error"}, assertions={"warn_as": warn_as})
    assert results(failed)[ORDERS]["type"] == "FAILURE"


@pytest.mark.parametrize(("identity", "same"), [("full", False), ("name_only", True)])
def test_identity_setting_decides_if_a_threshold_changes_the_urn(identity, same):
    below_5, below_6 = (
        ran({"name": "max", "type": "max", "status": "pass", "params": {"column": "id", "max_value": most}},
            assertions={"identity": identity}).entities("assertion")
        for most in (5, 6)
    )  # fmt: skip
    assert len(below_5) == len(below_6) == 1
    assert (below_5 == below_6) is same


@pytest.mark.parametrize(("kind", "written"), [("auto", "CUSTOM"), ("dataset", "DATASET")])
def test_type_is_a_setting_and_no_part_of_the_urn(kind, written):
    found = ran(UNIQUE, datahub_version="1.7", assertions={"type": kind})
    (info,) = (one.value for one in found.proposals if one.aspect_name == "assertionInfo")
    assert info["type"] == written
    assert found.entities("assertion") == ran(UNIQUE).entities("assertion")


def test_check_of_the_same_name_on_the_dataset_is_the_same_check():
    check = {"assertion": "unique", "name": "unique_orders_id", "column": "id", "success": False, "actual": "2"}
    found = ran(
        {**UNIQUE, "status": "fail", "severity": "warn"}, bag={"dataQualityAssertions": facet(assertions=[check])}
    )
    assert len(found.entities("assertion")) == 1
    native = results(found)[ORDERS]["nativeResults"]
    assert (native["actual"], native["severity"]) == ("2", "warn")


def test_test_without_a_type_is_known_by_its_name():
    assert infos(ran({"name": "assert_no_refunds", "status": "pass"}))[0]["nativeType"] == "assert_no_refunds"


@pytest.mark.parametrize("body", [facet(tests=[]), facet(tests=None), facet(), facet(tests=[None])])
def test_empty_list_is_ignored(body):
    found = translate_events(pair(run={"test": body}, inputs=[orders()]))
    assert found.entities("assertion") == set()
    assert not any(key.startswith("test") for key in found.properties(DPI))


def test_only_terminal_events_report():
    started = translate_events(event("START", run={"test": facet(tests=[UNIQUE])}, inputs=[orders()]))
    assert results(started) == {}


def test_client_s_class_is_read():
    made = test_run.TestRunFacet(tests=[test_run.TestExecution(name="a", status="pass", type="not_null")])
    assert results(translate_events(client_pair(run={"test": made})))[ORDERS]["type"] == "SUCCESS"


def of_columns(*tests, **checks):
    """Return how the check ``n`` of each column ended, of which tests with that name report as well."""
    history_of = [{"assertion": "not_null", "name": "n", "column": name, **stated} for name, stated in checks.items()]
    found = ran(*({"name": "n", **one} for one in tests), bag={"dataQualityAssertions": facet(assertions=history_of)})
    fields = {
        one.entity_urn: one.value["datasetAssertion"]["fields"][0].rpartition(",")[2].rstrip(")")
        for one in found.proposals
        if one.aspect_name == "assertionInfo"
    }
    ended = [one for one in found.proposals if one.aspect_name == "assertionRunEvent"]
    return {fields[one.entity_urn]: one.value["result"] for one in ended}


@pytest.mark.parametrize(("success", "status", "kind"), [
    (True, "fail", "SUCCESS"), (False, "pass", "FAILURE"), (None, "pass", "SUCCESS"), (None, "fail", "FAILURE"),
])  # fmt: skip
def test_check_success_wins_over_the_test_of_its_name(success, status, kind):
    found = of_columns({"status": status}, id={"success": success})
    assert found["id"]["type"] == kind
    assert found["id"]["nativeResults"]["status"] == status


def test_tests_match_checks_by_column_then_by_order():
    tests = [{"status": "pass"}, {"status": "fail", "params": {"column": "orders.a"}}, {"status": "pass"}]
    found = of_columns(*tests, a={}, b={}, c={})
    assert {column: result["type"] for column, result in found.items()} == {
        "a": "FAILURE",
        "b": "SUCCESS",
        "c": "SUCCESS",
    }
    found = of_columns(*reversed(tests[:2]), a={}, b={})
    assert {column: result["type"] for column, result in found.items()} == {"a": "FAILURE", "b": "SUCCESS"}


def test_surplus_tests_do_not_change_the_check_result():
    found = of_columns({"status": "pass"}, {"status": "pass"}, a={"success": False})
    assert found["a"]["type"] == "FAILURE"


SPOILT = "<<non-serializable: Decimal>>"


def test_non_serializable_test_fields_are_reported():
    found = ran({**UNIQUE, "expected": SPOILT, "failures": -1, "params": {"most": SPOILT}}, report=True)
    assert found.outcomes()["$.run.facets.test.tests[0].expected"] == ("dropped", "non-serializable")
    assert found.outcomes()["$.run.facets.test.tests[0].failures"] == ("dropped", "malformed")
    assert found.outcomes()["$.run.facets.test.tests[0].params.most"] == ("dropped", "non-serializable")


@pytest.mark.parametrize("producer", [AIRFLOW, SPARK, DBT, GX, OWN])
@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("connection refused", "SOURCE_CONNECTION_ERROR"),
        ("no such table: x", "SOURCE_QUERY_FAILED"),
        (None, "UNKNOWN_ERROR"),
    ],
)
def test_status_error_is_an_error_of_its_type_for_every_producer(producer, message, kind):
    params = {} if message is None else {"params": {"error_message": message}}
    body = facet(tests=[{"name": "t", "type": "not_null", "status": "error", "actual": "4", **params}])
    found = translate_events(event(producer=producer, run={"test": body}, inputs=[orders()]))
    (point,) = [p.value for p in found.proposals if p.aspect_name == "assertionRunEvent"]
    assert point["result"]["type"] == "ERROR"
    assert point["result"]["error"]["type"] == kind
    assert point["result"]["error"]["properties"]["message"] in (message, "the test reported an error without a cause")


def test_status_error_of_a_test_makes_a_failed_check_of_its_name_an_error():
    check = facet(assertions=[{"assertion": "not_null", "success": False, "name": "t", "column": "id"}])
    body = facet(tests=[{"name": "t", "type": "not_null", "status": "error"}])
    inputs = [orders(inputFacets={"dataQualityAssertions": check})]
    found = translate_events(event(producer=OWN, run={"test": body}, inputs=inputs))
    points = [p.value["result"]["type"] for p in found.proposals if p.aspect_name == "assertionRunEvent"]
    assert points == ["ERROR"]
