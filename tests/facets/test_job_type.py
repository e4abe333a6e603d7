"""jobType (job)."""

from __future__ import annotations

import pytest
from openlineage.client.facet_v2 import job_type_job
from support.facet_cases import (
    DPI,
    FLOW,
    JOB,
    TOTALS,
    client_pair,
    event,
    facet,
    job_on,
    of_job,
    orders,
    pair,
    spec,
    totals,
    translate_events,
)


def kind(**leaves):
    return {"jobType": facet(**leaves)}


def test_job_type_is_the_job_subtype_and_a_property():
    found = of_job("jobType", facet(processingType="BATCH", integration="AIRFLOW", jobType="TASK"))
    job = job_on("airflow")
    assert found.one(job, "subTypes") == {"typeNames": ["Task"]}
    assert not found.has(FLOW.replace("openlineage", "airflow"), "subTypes")
    properties = found.properties(job)
    assert (properties["jobType.processingType"], properties["jobType.integration"]) == ("BATCH", "AIRFLOW")
    assert properties["jobType.jobType"] == "TASK"
    assert found.patched(job, "dataJobInfo")["/type"] == {"string": "airflow"}


def test_job_type_of_a_flow_level_job_is_on_flow_and_flow_job():
    found = translate_events(pair(job=kind(jobType="DAG"), name="daily", outputs=[totals()]))
    assert found.one(FLOW, "subTypes") == {"typeNames": ["DAG"]}
    assert found.one(f"urn:li:dataJob:({FLOW},daily)", "subTypes") == {"typeNames": ["DAG"]}


def test_runs_have_a_subtype_where_the_server_knows_it():
    found = translate_events(pair(job=kind(jobType="SQL_JOB")), datahub_version="1.7")
    assert found.one(DPI, "subTypes") == {"typeNames": ["SQL Job Run"]}
    assert not translate_events(pair(job=kind(jobType="SQL_JOB"))).has(DPI, "subTypes")


@pytest.mark.parametrize(
    ("leaves", "type_"),
    [
        ({"processingType": "STREAMING"}, "STREAMING"),
        ({"processingType": "service"}, "STREAMING"),
        ({"processingType": "BATCH"}, None),
        ({"processingType": "NONE"}, None),
        ({"jobType": "QUERY", "integration": "TRINO"}, "BATCH_AD_HOC"),
        ({"jobType": "QUERY", "integration": "HIVE"}, "BATCH_AD_HOC"),
        ({"jobType": "QUERY", "integration": "SPARK"}, None),
    ],
)
def test_type_of_the_run(leaves, type_):
    assert translate_events(pair(job=kind(**leaves))).one(DPI, "dataProcessInstanceProperties").get("type") == type_


def test_run_that_ever_streamed_keeps_its_heartbeats():
    """Any of its own events; a later word does not take a point back."""
    events = [
        event("START", job=kind(processingType="STREAMING")),
        event("RUNNING", job=kind(processingType="BATCH"), time="2026-11-20T03:10:00Z"),
    ]
    for order in (events, events[::-1]):
        points = translate_events(order).all(DPI, "dataProcessInstanceRunEvent")
        assert [point["timestampMillis"] for point in points] == [1795136400000, 1795143600000]


def test_emission_pattern_is_kept():
    pattern = {"eventTrigger": "PERIODIC", "eventContentMode": "ACCUMULATIVE", "windowDuration": 300}
    properties = of_job("jobType", facet(emissionPattern=pattern)).properties(JOB)
    assert properties["jobType.emissionPattern.eventTrigger"] == "PERIODIC"
    assert properties["jobType.emissionPattern.eventContentMode"] == "ACCUMULATIVE"
    assert properties["jobType.emissionPattern.windowDuration"] == "300"


def snapshots(mode):
    job = kind(emissionPattern={"eventContentMode": mode})
    return [
        event("START", job=job, inputs=[orders()], outputs=[orders(), totals()]),
        event("COMPLETE", job=job, inputs=[], outputs=[totals()]),
    ]


def test_complete_snapshot_replaces_earlier_lineage():
    for order in (snapshots("COMPLETE_SNAPSHOT"), snapshots("COMPLETE_SNAPSHOT")[::-1]):
        found = translate_events(order)
        assert found.one(DPI, "dataProcessInstanceOutput") == {"outputs": [TOTALS]}
        # an empty list is no statement
        assert len(found.one(DPI, "dataProcessInstanceInput")["inputs"]) == 1
    assert len(translate_events(snapshots("ACCUMULATIVE")).one(DPI, "dataProcessInstanceOutput")["outputs"]) == 2


def test_operation_is_not_withdrawn_by_a_complete_snapshot():
    """Every dataset that any event of the run lists as output, snapshots ignored."""
    found = translate_events(snapshots("COMPLETE_SNAPSHOT"))
    assert {one.entity_urn for one in found.proposals if one.aspect_name == "operation"} == {
        TOTALS,
        TOTALS.replace("totals", "orders"),
    }


def test_null_values_are_ignored():
    found = of_job("jobType", facet(processingType=None, jobType="", emissionPattern=None))
    assert not any(key.startswith("jobType") for key in found.properties(JOB))
    assert not found.has(JOB, "subTypes")


def test_facet_among_run_facets_applies_to_the_job():
    assert translate_events(pair(run=kind(jobType="TASK"))).one(JOB, "subTypes") == {"typeNames": ["Task"]}


@pytest.mark.parametrize(
    ("document", "subtype", "job"),
    [("1", "Query", job_on("spark")), ("2", "Stream Processor", JOB), ("3", "ETL", job_on("spark"))],
)
def test_specification_s_documents_are_read(document, subtype, job):
    found = translate_events(pair(job=spec("JobTypeJobFacet", document)))
    assert found.one(job, "subTypes") == {"typeNames": [subtype]}
    if document == "2":
        assert found.properties(JOB)["jobType.emissionPattern.windowDuration"] == "300"


def test_client_s_class_is_read():
    made = job_type_job.JobTypeJobFacet(processingType="BATCH", integration="DBT", jobType="MODEL")
    assert translate_events(client_pair(job={"jobType": made})).one(job_on("dbt"), "subTypes") == {
        "typeNames": ["Model"]
    }
