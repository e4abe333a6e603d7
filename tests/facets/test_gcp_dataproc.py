"""gcp_dataproc (run), also under its older key."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, facet, pair, told

BODY = facet(appId="application_1", appName="x", batchId="b-1", projectId="p", jobType="batch")


@pytest.mark.parametrize("key", ["gcp_dataproc", "gcp_dataproc_spark"])
def test_leaves_are_kept_under_one_key(key):
    kept = told(pair(run={key: BODY})).kept(DPI)
    assert kept["gcp_dataproc.batchId"] == "b-1"
    assert kept["gcp_dataproc.projectId"] == "p"
    assert not any(name.startswith("gcp_dataproc_spark") for name in kept)


def test_application_names_the_application_s_run_only():
    application = told(pair(run={"gcp_dataproc": BODY}, job={"jobType": facet(jobType="APPLICATION")}, name="app"))
    assert application.one(DPI, "dataProcessInstanceProperties")["name"] == "application_1"
    query = told(pair(run={"gcp_dataproc": BODY}, job={"jobType": facet(jobType="SQL_JOB")}, name="app.sql"))
    assert query.one(DPI, "dataProcessInstanceProperties")["name"] == DPI.rpartition(":")[2]


def test_empty_facet_has_no_effect():
    found = told(pair(run={"gcp_dataproc": facet()}))
    assert not any(key.startswith("gcp") for key in found.kept(DPI))
