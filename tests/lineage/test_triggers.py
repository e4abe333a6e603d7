"""Who started a job as its upstream job, on request."""

from __future__ import annotations

import pytest
from support.facet_cases import AIRFLOW, PARENT, SPARK, event, facet, totals, translate_events

ON = {"identity": {"parent_job_edge": True}}
TASK = "urn:li:dataJob:(urn:li:dataFlow:(airflow,daily,shop),daily.load)"
FORWARDED = {"jobType": facet(integration="AIRFLOW", jobType="TASK", processingType="BATCH")}


def started(name="app", *, by="daily.load", producer=SPARK, outputs=(), facets=None, **more):
    parent = facet(run={"runId": PARENT}, job={"namespace": "shop", "name": by, "facets": facets or {}})
    run = {"parent": parent, **more.pop("run", {})}
    return [
        event(kind, name=name, producer=producer, run=run, outputs=list(outputs), **more)
        for kind in ("START", "COMPLETE")
    ]


def edges(found):
    """Job id -> the jobs before it."""
    start = "/inputDatajobEdges/"
    return {
        one.entity_urn.rpartition(",")[2][:-1]: {
            op["path"].removeprefix(start) for op in one.value if op["path"].startswith(start)
        }
        for one in found.proposals
        if one.aspect_name == "dataJobInputOutput"
    }


def test_application_is_downstream_of_the_submitting_task():
    stated = started(outputs=[totals()], facets=FORWARDED)
    assert edges(translate_events(stated, **ON)) == {"app": {TASK}}
    assert edges(translate_events(stated)) == {"app": set()}


def test_application_that_is_no_job_has_no_edges():
    assert edges(translate_events(started(facets=FORWARDED), **ON)) == {}


@pytest.mark.parametrize(
    ("name", "by", "producer"),
    [("app", "daily.load", SPARK), ("daily.load", "daily", AIRFLOW), ("app.sql", "app", SPARK), ("daily.load.query.1", "daily.load", AIRFLOW)],
)  # fmt: skip
def test_containing_or_ambiguous_job_is_no_upstream(name, by, producer):
    found = translate_events(started(name, by=by, producer=producer, outputs=[totals()]), **ON)
    assert set().union(*edges(found).values()) == set()


def test_triggered_dag_is_downstream_of_the_triggering_task():
    tasks = {"first": {"downstream_task_ids": ["last"]}, "also": {}, "last": {"downstream_task_ids": []}}
    upstream = {
        "jobDependencies": facet(
            upstream=[{"job": {"namespace": "shop", "name": "assets.make"}}, {"job": {"name": ""}}]
        )
    }
    stated = started("daily", by="other.trigger", producer=AIRFLOW, job={"airflow": facet(tasks=tasks)}, run=upstream)
    trigger, make = (
        f"urn:li:dataJob:(urn:li:dataFlow:(airflow,{dag},shop),{dag}.{task})"
        for dag, task in (("other", "trigger"), ("assets", "make"))
    )
    first = "urn:li:dataJob:(urn:li:dataFlow:(airflow,daily,shop),daily.first)"
    assert edges(translate_events(stated, **ON)) == {
        "daily.first": {trigger, make},
        "daily.also": {trigger, make},
        "daily.last": {first},
    }
    assert edges(translate_events(stated)) == {"daily.last": {first}}
