"""spark_jobDetails (run)."""

from __future__ import annotations

from facet_cases import DPI, facet, of_run


def test_id_group_and_call_site_are_kept():
    kept = of_run("spark_jobDetails", facet(jobId=3, jobDescription="d", jobGroup="g", jobCallSite="save at X")).kept(
        DPI
    )
    assert kept["spark_jobDetails.jobId"] == "3"
    assert kept["spark_jobDetails.jobDescription"] == "d"
    assert kept["spark_jobDetails.jobGroup"] == "g"
    assert kept["spark_jobDetails.jobCallSite"] == "save at X"
