"""flink_job (run)."""

from __future__ import annotations

import pytest
from support.facet_cases import DPI, TOTALS, event, facet, pair, totals, translate_events

BODY = {"flink_job": facet(jobId="ab12")}


def test_job_id_is_the_name_of_the_run():
    found = translate_events(pair(run=BODY))
    assert found.one(DPI, "dataProcessInstanceProperties")["name"] == "ab12"
    assert found.properties(DPI)["flink_job.jobId"] == "ab12"
    assert "externalUrl" not in found.one(DPI, "dataProcessInstanceProperties")


def test_flink_url_namespace_links_the_job_page():
    running = translate_events(event("START", run=BODY, namespace="http://flink:8081/"))
    assert running.one(DPI, "dataProcessInstanceProperties")["externalUrl"] == "http://flink:8081/#/job/running/ab12"
    for order in (pair(run=BODY, namespace="http://flink:8081"), pair(run=BODY, namespace="http://flink:8081")[::-1]):
        ended = translate_events(order)
        assert (
            ended.one(DPI, "dataProcessInstanceProperties")["externalUrl"] == "http://flink:8081/#/job/completed/ab12"
        )


@pytest.mark.parametrize("job_id", [None, [7], ""])
def test_invalid_id_does_not_name_the_run(job_id):
    found = translate_events(pair(run={"flink_job": facet(jobId=job_id)}))
    assert found.one(DPI, "dataProcessInstanceProperties")["name"] == DPI.rpartition(":")[2]


def test_run_event_links_follow_the_state_of_the_flink_job():
    found = translate_events(pair(run=BODY, namespace="https://flink:8081"))
    start, end = found.all(DPI, "dataProcessInstanceRunEvent")
    assert start["externalUrl"] == "https://flink:8081/#/job/running/ab12"
    assert end["externalUrl"] == "https://flink:8081/#/job/completed/ab12"


@pytest.mark.parametrize(
    ("job", "kind"),
    [({}, "INSERT"), ({"sql": facet(query="merge into totals using x")}, "UPDATE")],
)
def test_flink_operation_is_insert_unless_sql_differs(job, kind):
    operation = translate_events(pair(run=BODY, job=job, outputs=[totals()])).one(TOTALS, "operation")
    assert operation["operationType"] == kind
    assert "openlineage.operation.inferred" not in operation["customProperties"]


def test_stream_inserts():
    facets = {"jobType": facet(processingType="STREAMING", integration="KAFKA", jobType="JOB")}
    operation = translate_events(pair(job=facets, outputs=[totals()])).one(TOTALS, "operation")
    assert operation["operationType"] == "INSERT"
    assert "openlineage.operation.inferred" not in operation["customProperties"]
