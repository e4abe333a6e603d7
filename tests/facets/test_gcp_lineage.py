"""gcp_lineage (job)."""

from __future__ import annotations

from support.facet_cases import FLOW, JOB, facet, of_job, pair, translate_events

BODY = facet(displayName="Orders, nightly", origin={"sourceType": "CUSTOM", "name": "projects/p/x"})


def test_display_name_is_the_job_name_and_the_origin_is_kept():
    found = of_job("gcp_lineage", BODY)
    assert found.patched(JOB, "dataJobInfo")["/name"] == "Orders, nightly"
    assert found.patched(FLOW, "dataFlowInfo")["/name"] == "daily"
    properties = found.properties(JOB)
    assert (properties["gcp_lineage.origin.sourceType"], properties["gcp_lineage.origin.name"]) == (
        "CUSTOM",
        "projects/p/x",
    )


def test_facet_of_a_flow_level_job_is_on_the_flow():
    assert (
        translate_events(pair(job={"gcp_lineage": BODY}, name="daily")).patched(FLOW, "dataFlowInfo")["/name"]
        == "Orders, nightly"
    )


def test_empty_facet_has_no_effect():
    found = of_job("gcp_lineage", facet(displayName=None))
    assert found.patched(JOB, "dataJobInfo")["/name"] == "load"


def test_numeric_display_name_is_used_and_an_object_is_kept():
    number = translate_events(pair(job={"gcp_lineage": facet(displayName=2026)}))
    assert number.patched(JOB, "dataJobInfo")["/name"] == "2026"
    strange = translate_events(pair(job={"gcp_lineage": facet(displayName={"de": "Laden"})}))
    assert strange.properties(JOB)["gcp_lineage.displayName.de"] == "Laden"
