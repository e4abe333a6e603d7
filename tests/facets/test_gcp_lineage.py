"""gcp_lineage (job)."""

from __future__ import annotations

from support.facet_cases import FLOW, JOB, facet, of_job, pair, told

BODY = facet(displayName="Orders, nightly", origin={"sourceType": "CUSTOM", "name": "projects/p/x"})


def test_the_display_name_is_the_name_of_the_job_and_the_origin_is_kept():
    found = of_job("gcp_lineage", BODY)
    assert found.patched(JOB, "dataJobInfo")["/name"] == "Orders, nightly"
    assert found.patched(FLOW, "dataFlowInfo")["/name"] == "daily"
    kept = found.kept(JOB)
    assert (kept["gcp_lineage.origin.sourceType"], kept["gcp_lineage.origin.name"]) == ("CUSTOM", "projects/p/x")


def test_of_a_flow_level_job_it_is_the_flow_s():
    assert (
        told(pair(job={"gcp_lineage": BODY}, name="daily")).patched(FLOW, "dataFlowInfo")["/name"] == "Orders, nightly"
    )


def test_an_empty_one_says_nothing():
    found = of_job("gcp_lineage", facet(displayName=None))
    assert found.patched(JOB, "dataJobInfo")["/name"] == "load"


def test_a_name_that_is_a_number_is_shown_as_it_is_written_and_one_that_is_no_text_is_kept():
    number = told(pair(job={"gcp_lineage": facet(displayName=2026)}))
    assert number.patched(JOB, "dataJobInfo")["/name"] == "2026"
    strange = told(pair(job={"gcp_lineage": facet(displayName={"de": "Laden"})}))
    assert strange.kept(JOB)["gcp_lineage.displayName.de"] == "Laden"
