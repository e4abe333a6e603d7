"""Real events of many producers."""

from __future__ import annotations

import pytest
from support.sample_events import SOURCES, documents

from dh_bridge.datahub.urns import is_urn
from dh_bridge.identity import Identity
from dh_bridge.identity.event import IdentityInput, event_identity

NOT_IN_ALL = {"dagster", "feast", "great-expectations", "hive", "kafka-connect", "sqlmesh", "trino"}
"""Platforms of jobs that only one of the two sources has."""


def bag(holder, key):
    stated = holder.get(key) if isinstance(holder, dict) else None
    return stated if isinstance(stated, dict) else {}


def facts_of(event, place):
    job = event.get("job") if isinstance(event, dict) else None
    if not isinstance(job, dict) or not isinstance(job.get("name"), str):
        return None
    parent = bag(bag(event.get("run"), "facets"), "parent")
    reference = (
        bag(parent, "job").get("namespace"),
        bag(parent, "job").get("name"),
        bag(parent, "run").get("runId"),
    )
    return IdentityInput(
        kind="RunEvent" if "run" in event else "JobEvent",
        location=place,
        namespace=job.get("namespace") or "",
        name=job["name"],
        producer=event.get("producer"),
        event_type=event.get("eventType"),
        run_id=bag(event, "run").get("runId"),
        has_io=bool(event.get("inputs") or event.get("outputs")),
        job_type=bag(bag(job, "facets"), "jobType").get("jobType"),
        parent=reference if all(isinstance(part, str) for part in reference) else None,
    )


@pytest.fixture(scope="module", params=SOURCES)
def events(request):
    found = [facts_of(event, str(number)) for number, event in enumerate(documents(request.param))]
    return [facts for facts in found if facts is not None]


def test_no_real_job_gets_two_identities(events):
    identity, seen = Identity(), {}
    assert len(events) > 300
    for facts in events:
        job = identity.job(facts.namespace, facts.name, facts.producer)
        seen.setdefault((facts.namespace, facts.name), set()).add((job.flow_urn, job.job_urn))
    assert {key: urns for key, urns in seen.items() if len(urns) > 1} == {}


def test_urns_of_every_real_event_are_valid(events):
    identity = Identity()
    for facts in events:
        row = event_identity(identity, facts)
        urns = [row[key] for key in ("dataFlow", "dataJob", "dpi", "parentTemplate", "parentInstance")]
        assert [urn for urn in urns if urn and not is_urn(urn)] == [], facts.place


def test_dags_and_applications_are_flows_and_tasks_are_jobs(events):
    identity = Identity()
    levels = {"DAG": "flow", "APPLICATION": "flow", "TASK": "job", "SQL_JOB": "job", "MODEL": "job"}
    checked = 0
    for facts in events:
        if facts.job_type in levels:
            assert identity.job(facts.namespace, facts.name, facts.producer).level == levels[facts.job_type], (
                facts.place
            )
            checked += 1
    assert checked >= 40


def test_flow_level_job_without_lineage_has_no_data_job(events):
    identity = Identity()
    rows = [(facts, event_identity(identity, facts)) for facts in events]
    phantoms = [row["event"] for facts, row in rows if row["level"] == "flow" and not facts.has_io and row["dataJob"]]
    assert phantoms == []


def test_platforms_of_real_jobs(events):
    identity = Identity()
    platforms = {identity.job(facts.namespace, facts.name, facts.producer).platform for facts in events}
    assert platforms - NOT_IN_ALL == {"airflow", "spark", "dbt", "flink", "openlineage"}
