"""nominalTime (run)."""

from __future__ import annotations

from openlineage.client.facet_v2 import nominal_time_run
from support.facet_cases import DPI, START_MS, client_pair, event, facet, of_run, spec, translate_events

BODY = facet(nominalStartTime="2020-01-01T04:00:00Z", nominalEndTime="2020-01-02T04:00:00Z")


def test_times_are_kept_and_the_run_is_scheduled():
    found = of_run("nominalTime", BODY)
    run_properties = found.properties(DPI)
    assert run_properties["nominalTime.nominalStartTime"] == "2020-01-01T04:00:00Z"
    assert run_properties["nominalTime.nominalEndTime"] == "2020-01-02T04:00:00Z"
    properties = found.one(DPI, "dataProcessInstanceProperties")
    assert properties["type"] == "BATCH_SCHEDULED"
    # a backfill lies in the past, the run does not
    assert properties["created"]["time"] == START_MS


def test_nominal_end_equal_to_the_start_is_a_duplicate():
    body = facet(nominalStartTime="2020-01-01T04:00:00Z", nominalEndTime="2020-01-01T04:00:00Z")
    found = of_run("nominalTime", body, report=True)
    assert "nominalTime.nominalEndTime" not in found.properties(DPI)
    outcome = found.outcomes()["$.run.facets.nominalTime.nominalEndTime"]
    assert outcome == ("dropped", "duplicate-of:nominalStartTime")


def test_end_alone_schedules_nothing():
    found = of_run("nominalTime", facet(nominalEndTime="2020-01-01T04:00:00Z"))
    assert "type" not in found.one(DPI, "dataProcessInstanceProperties")
    assert "type" not in of_run("nominalTime", facet()).one(DPI, "dataProcessInstanceProperties")


def test_assertion_results_have_the_nominal_start_time():
    checks = {"dataQualityAssertions": facet(assertions=[{"assertion": "unique", "success": True}])}
    dataset = {"namespace": "postgres://db:5432", "name": "a.b.c", "inputFacets": checks}
    found = translate_events(event(run={"nominalTime": BODY}, inputs=[dataset]))
    (result,) = [one.value for one in found.proposals if one.aspect_name == "assertionRunEvent"]
    assert result["runtimeContext"]["nominalStartTime"] == "2020-01-01T04:00:00Z"


def test_specification_s_document_is_read():
    run_properties = of_run("nominalTime", spec("NominalTimeRunFacet")["nominalTime"]).properties(DPI)
    assert run_properties["nominalTime.nominalStartTime"] == "2020-01-01T04:00:00.001Z"


def test_client_s_class_is_read():
    made = nominal_time_run.NominalTimeRunFacet(nominalStartTime="2020-01-01T04:00:00Z")
    assert (
        translate_events(client_pair(run={"nominalTime": made})).properties(DPI)["nominalTime.nominalStartTime"]
        == "2020-01-01T04:00:00Z"
    )
