"""dbt_run (run): the invocation of dbt."""

from __future__ import annotations

import pytest
from support.facet_cases import DBT, DPI, event, facet, orders, pair, translate_events

BODY = facet(invocation_id="2b1f", project_name="shop", dbt_runtime="core", full_refresh=False)


def dbt(name="dbt-run-shop", job_type=None, body=BODY):
    job = {"jobType": facet(jobType=job_type)} if job_type else {}
    return translate_events(pair(run={"dbt_run": body}, job=job, producer=DBT, name=name))


def test_invocation_s_run_is_named_by_it():
    found = dbt(job_type="JOB")
    assert found.one(DPI, "dataProcessInstanceProperties")["name"] == "2b1f"
    assert found.properties(DPI)["dbt_run.full_refresh"] == "false"
    assert dbt().one(DPI, "dataProcessInstanceProperties")["name"] == "2b1f"


def test_runs_of_its_nodes_are_not():
    found = dbt("model.shop.orders", "MODEL")
    assert found.one(DPI, "dataProcessInstanceProperties")["name"] == DPI.rpartition(":")[2]
    assert found.properties(DPI)["dbt_run.invocation_id"] == "2b1f"


def test_project_is_kept_on_the_flow():
    assert dbt().properties("urn:li:dataFlow:(dbt,dbt-run-shop,shop)")["dbt_run.project_name"] == "shop"
    assert dbt("model.shop.orders").properties("urn:li:dataFlow:(dbt,shop,shop)")["dbt_run.project_name"] == "shop"


def test_placeholder_job_has_no_flow():
    assert dbt("unknown").entities("dataFlow") == set()


@pytest.mark.parametrize("body", [facet(), facet(invocation_id=None, project_name=None), facet(invocation_id=[7])])
def test_invalid_id_does_not_name_the_run(body):
    assert dbt(body=body).one(DPI, "dataProcessInstanceProperties")["name"] == DPI.rpartition(":")[2]


def test_microbatch_model_ends_once_whatever_its_batches_came_to():
    """As dbt-ol 1.54 sent one whose second of three batches failed, with ``--consume-structured-logs``."""
    stated = ("START", "START", "COMPLETE", "START", "FAIL", "START", "COMPLETE", "OTHER")
    events = [
        event(
            kind, time=f"2026-11-20T01:00:0{second}Z", run={"dbt_run": BODY}, outputs=[orders()],
            producer=DBT, name="model.shop.orders",
        )
        for second, kind in enumerate(stated)
    ]  # fmt: skip
    found = translate_events(events)
    points = found.all(DPI, "dataProcessInstanceRunEvent")
    ends = [one for one in points if one["status"] == "COMPLETE"]
    assert {one["result"]["type"] for one in ends} == {"FAILURE"}
    assert {one["attempt"] for one in points} == {1}
    assert max(one["durationMillis"] for one in ends) == 6000
    assert found.properties(DPI)["eventType"] == "FAIL"
