"""gcp_composer_job (job)."""

from __future__ import annotations

import pytest
from support.facet_cases import FLOW, JOB, facet, job_on, of_job, pair, translate_events

JOB_BODY = {
    "environmentName": "prod", "dagId": "daily", "operator": "BashOperator", "taskId": "load", "airflowVersion": "2.10",
    "composerVersion": "3",
}  # fmt: skip


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_every_leaf_is_a_property_of_the_job(profile):
    found = of_job("gcp_composer_job", facet(**JOB_BODY, region="eu"), datahub_version=profile).properties(JOB)
    assert {key.removeprefix("gcp_composer_job."): value for key, value in found.items() if "composer" in key} == {
        **JOB_BODY, "region": "eu",
    }  # fmt: skip


def test_operator_is_the_second_subtype_of_the_job():
    facets = {
        "gcp_composer_job": facet(**JOB_BODY),
        "jobType": facet(jobType="TASK", integration="AIRFLOW", processingType="BATCH"),
    }
    for order in (facets, dict(reversed(facets.items()))):
        names = translate_events(pair(job=order)).one(job_on("airflow"), "subTypes")["typeNames"]
        assert names[1:] == ["BashOperator"]
    assert not of_job("gcp_composer_job", facet(**JOB_BODY)).has(JOB, "subTypes")


def test_null_and_malformed_composer_fields_are_ignored():
    found = of_job(
        "gcp_composer_job", facet(environmentName=None, dagId=["x"], operator="", airflowVersion=2.5)
    ).properties(JOB)
    assert {key: value for key, value in found.items() if "composer" in key} == {
        "gcp_composer_job.airflowVersion": "2.5"
    }


def test_facet_of_a_flow_goes_to_the_flow():
    parts = {"job": {"gcp_composer_job": facet(**JOB_BODY), "jobType": facet(jobType="DAG", integration="AIRFLOW")}}
    found = translate_events(
        pair(name="daily", producer="https://github.com/apache/airflow/tree/providers-openlineage/2.20.3", **parts)
    )
    flows = found.entities("dataFlow")
    assert len(flows) == 1
    assert flows != {FLOW}
    assert found.properties(flows.pop())["gcp_composer_job.environmentName"] == "prod"
