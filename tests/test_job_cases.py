"""Small inputs whose jobs, runs or times once went wrong (``job_cases/``), alone, in any order and in batches."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from support.ledger_batches import catalogue, settings

from dh_bridge import Bridge, Settings

CASES = Path(__file__).with_name("job_cases")
SEED = 2026


def events_of(case):
    (file,) = CASES.glob(f"{case}.*")
    text = file.read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()] if file.suffix == ".ndjson" else [json.loads(text)]


def translated(events, **chosen):
    return Bridge(Settings(datahub_version="1.7", **chosen)).translate([json.dumps(one).encode() for one in events])


def urns(proposals, entity_type):
    return {one.entity_urn for one in proposals if one.entity_type == entity_type}


def values(proposals, aspect):
    return [one.value for one in proposals if one.aspect_name == aspect]


def strays(events, **chosen):
    """Return the ways to send events to a ledger, in other orders and batches, that give another catalogue."""
    chance = random.Random(SEED)  # noqa: S311 - reproducible, not secret
    options = settings(**{"datahub_version": "1.7", **chosen})
    whole = catalogue(events, chosen=options)
    ways = [[[one] for one in events], [[one] for one in reversed(events)]]
    for _ in range(4):
        shuffled = [*events, *events[:2]]
        chance.shuffle(shuffled)
        cut = chance.randint(0, len(shuffled))
        ways += [[[one] for one in shuffled], [shuffled[:cut], shuffled[cut:]], [shuffled]]
    return [way for way in ways if catalogue(*way, chosen=options) != whole]


# -- names that change with every run ----------------------------------------------------------------------------------

FLOWS = {
    "09-glue-raw-appname": ("sales_daily", "glue"),
    "50-apps-glue": ("sales_daily", "nsglue"),
    "50-apps-livy": ("livy-session", "nslivy"),
    "50-apps-run": ("Databricks Shell", "nsrun"),
    "50-apps-uuidmid": ("orders-load", "nsuuidmid"),
}


@pytest.mark.parametrize("case", FLOWS)
def test_all_runs_of_an_application_are_of_one_flow_and_one_job(case):
    flow, namespace = FLOWS[case]
    proposals = translated(events_of(case)).proposals
    flow_urn = f"urn:li:dataFlow:(spark,{flow},{namespace})"
    assert urns(proposals, "dataFlow") == {flow_urn}
    job = f"urn:li:dataJob:({flow_urn},{flow}.execute_insert_into_hadoop_fs_relation_command)"
    assert urns(proposals, "dataJob") == {job}
    assert len(urns(proposals, "dataProcessInstance")) == 4
    assert strays(events_of(case)) == []


def test_the_whole_name_is_kept_on_the_run_and_the_job_does_not_change_with_it():
    events = events_of("50-apps-uuidmid")
    proposals = translated(events).proposals
    names = {
        value["customProperties"]["openlineage.job.name"]
        for value in values(proposals, "dataProcessInstanceProperties")
    }
    assert names == {one["job"]["name"] for one in events}
    assert len({str(value) for value in values(proposals, "dataJobInfo")}) == 1
    assert "c6ff8af5" not in str(values(proposals, "dataJobInfo"))


# -- times -------------------------------------------------------------------------------------------------------------


def timed(kind, time, **parts):
    producer = parts.pop("producer", "https://github.com/apache/airflow/tree/providers-openlineage/2.18.1")
    return {
        "eventType": kind, "eventTime": time, "producer": producer,
        "run": {"runId": "92a22353-e89d-5247-8838-d65b1a5e69a1"}, "job": {"namespace": "prod", "name": "d.t"}, **parts,
    }  # fmt: skip


def timeline(proposals):
    points = [value for value in values(proposals, "dataProcessInstanceRunEvent")]
    return [
        (point["status"], point.get("result", {}).get("type"), point.get("durationMillis"), point.get("attempt"))
        for point in sorted(points, key=lambda point: point["timestampMillis"])
    ]


def test_an_offset_and_a_z_is_utc_with_a_finding():
    translation = translated(events_of("08_time_offset_and_z"))
    assert (translation.dead, translation.counts.notes) == ([], {"two-zones": 1})
    (point,) = values(translation.proposals, "dataProcessInstanceRunEvent")
    assert point["timestampMillis"] == 1771788621010


RUN_OF_30_SECONDS = [("STARTED", None, None, 1), ("COMPLETE", "FAILURE", 30500, 1)]
ZONES = {
    "a clock in the west": events_of("17b-naive-fail-west"),
    "the offset of the START": [timed("START", "2026-11-06T10:00:00+02:00"), timed("FAIL", "2026-11-06T10:00:30.5")],
    "the offset of the end": [timed("START", "2026-11-06T10:00:00"), timed("FAIL", "2026-11-06T10:00:30.5-05:00")],
    "a START on a clock in the east": [timed("START", "2026-11-06T15:00:00"), timed("FAIL", "2026-11-06T10:00:30.5Z")],
    "an event between": [
        timed("START", "2026-11-06T10:00:00+02:00"), timed("RUNNING", "2026-11-06T10:00:10"), timed("FAIL", "2026-11-06T10:00:30.5"),
    ],
}  # fmt: skip


@pytest.mark.parametrize("case", ZONES)
def test_a_time_without_a_zone_is_read_in_the_zone_of_the_run(case):
    events = ZONES[case]
    for order in (events, events[::-1], [*events, *events]):
        translation = translated(order)
        assert timeline(translation.proposals) == RUN_OF_30_SECONDS
        assert translation.counts.notes["zone-of-run"] == len({str(one) for one in events}) - 1
    assert strays(events) == []


def test_a_run_of_which_no_time_has_a_zone_is_read_in_utc():
    events = [timed("START", "2026-11-06T10:00:00"), timed("FAIL", "2026-11-06T10:00:30.5")]
    translation = translated(events)
    assert timeline(translation.proposals) == RUN_OF_30_SECONDS
    assert translation.counts.notes == {"zone-less": 2}
    assert strays(events) == []


def test_a_zone_that_was_set_is_known_better():
    events = [timed("START", "2026-11-06T10:00:00+00:00"), timed("FAIL", "2026-11-06T11:00:30.5")]
    assert timeline(translated(events, event_time={"default_zone": "Europe/Berlin"}).proposals) == RUN_OF_30_SECONDS


def test_an_end_without_a_zone_of_an_unknown_producer_is_written_at_once():
    event = timed("COMPLETE", "2026-11-06T10:00:00", producer="https://example.com/etl")
    (status,) = {status for status, *_ in timeline(translated([event]).proposals)}
    assert status == "COMPLETE"
    assert b'"dataProcessInstanceRunEvent"' in b"".join(catalogue([event], chosen=settings(datahub_version="1.7")))
