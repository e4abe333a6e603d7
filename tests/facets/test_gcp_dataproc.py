"""gcp_dataproc (run), also under its older key."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, facet, pair, translate_events

BODY = facet(appId="application_1", appName="x", batchId="b-1", projectId="p", jobType="batch")


@pytest.mark.parametrize("key", ["gcp_dataproc", "gcp_dataproc_spark"])
def test_leaves_are_kept_under_one_key(key):
    properties = translate_events(pair(run={key: BODY})).properties(DPI)
    assert properties["gcp_dataproc.batchId"] == "b-1"
    assert properties["gcp_dataproc.projectId"] == "p"
    assert not any(name.startswith("gcp_dataproc_spark") for name in properties)


def test_application_names_the_application_s_run_only():
    application = translate_events(
        pair(run={"gcp_dataproc": BODY}, job={"jobType": facet(jobType="APPLICATION")}, name="app")
    )
    assert application.one(DPI, "dataProcessInstanceProperties")["name"] == "application_1"
    query = translate_events(
        pair(run={"gcp_dataproc": BODY}, job={"jobType": facet(jobType="SQL_JOB")}, name="app.sql")
    )
    assert query.one(DPI, "dataProcessInstanceProperties")["name"] == DPI.rpartition(":")[2]


def test_empty_facet_has_no_effect():
    found = translate_events(pair(run={"gcp_dataproc": facet()}))
    assert not any(key.startswith("gcp") for key in found.properties(DPI))
