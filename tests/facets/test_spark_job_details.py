"""spark_jobDetails (run)."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, FLOW, JOB, facet, of_run, pair, translate_events


def test_id_group_and_call_site_are_kept():
    properties = of_run(
        "spark_jobDetails", facet(jobId=3, jobDescription="d", jobGroup="g", jobCallSite="save at X")
    ).properties(DPI)
    assert properties["spark_jobDetails.jobId"] == "3"
    assert properties["spark_jobDetails.jobDescription"] == "d"
    assert properties["spark_jobDetails.jobGroup"] == "g"
    assert properties["spark_jobDetails.jobCallSite"] == "save at X"


def test_description_describes_the_job_where_nothing_else_does():
    body = {"spark_jobDetails": facet(jobDescription="nightly totals")}
    found = translate_events(pair(run=body), report=True)
    assert found.patched(JOB, "dataJobInfo")["/description"] == "nightly totals"
    assert found.outcomes()["$.run.facets.spark_jobDetails.jobDescription"] == ("mapped", "dataJobInfo.description")
    stated = translate_events(pair(run=body, job={"documentation": facet(description="What it is")}))
    assert stated.patched(JOB, "dataJobInfo")["/description"] == "What it is"


def test_description_never_describes_the_application():
    found = translate_events(pair(run={"spark_jobDetails": facet(jobDescription="one of many")}, name="daily"))
    assert "/description" not in found.patched(FLOW, "dataFlowInfo")


@pytest.mark.parametrize("text", ["", "  ", None, [7]])
def test_invalid_job_description_is_ignored(text):
    found = of_run("spark_jobDetails", facet(jobDescription=text))
    assert "/description" not in found.patched(JOB, "dataJobInfo")


def test_description_is_redacted():
    found = of_run("spark_jobDetails", facet(jobDescription="jdbc postgresql://ann:s3cret@db/shop"))
    assert found.patched(JOB, "dataJobInfo")["/description"] == "jdbc postgresql://ann:***@db/shop"
