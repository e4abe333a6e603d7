"""spark.exception (run): stands on the FAIL event only."""

from __future__ import annotations

from support.facet_cases import DPI, SPARK, event, facet, of_run, pair, translate_events

BODY = facet(message="boom", stackTrace="at x")


def test_spark_exception_is_kept_as_error_message():
    properties = of_run("spark.exception", BODY).properties(DPI)
    assert (properties["errorMessage.message"], properties["errorMessage.stackTrace"]) == ("boom", "at x")


def test_fail_and_then_a_complete_is_a_failure_with_its_cause():
    events = [
        event("START", producer=SPARK),
        event("FAIL", producer=SPARK, run={"spark.exception": BODY}, time="2026-11-20T01:00:30.000Z"),
        event("COMPLETE", producer=SPARK, time="2026-11-20T01:00:30.014Z"),
    ]
    for order in (events, events[::-1]):
        found = translate_events(order)
        points = found.all(DPI, "dataProcessInstanceRunEvent")
        assert [point.get("result", {}).get("type") for point in points] == [None, "FAILURE", "FAILURE"]
        assert {point["attempt"] for point in points} == {1}
        properties = found.properties(DPI)
        assert properties["eventType"] == "FAIL"
        assert properties["endTime"] == "2026-11-20T01:00:30.014Z"
        assert properties["errorMessage.message"] == "boom"


def test_error_message_facet_wins_over_spark_exception():
    run = {"spark.exception": BODY, "errorMessage": facet(message="better")}
    found = translate_events(pair(run=run), report=True)
    assert found.properties(DPI)["errorMessage.message"] == "better"
    assert "errorMessage.stackTrace" not in found.properties(DPI)
    outcome = found.outcomes()['$.run.facets["spark.exception"].message']
    assert outcome == ("dropped", "duplicate-of:errorMessage")


def test_empty_facet_has_no_effect():
    assert not any(key.startswith("error") for key in of_run("spark.exception", facet()).properties(DPI))
