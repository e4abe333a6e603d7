"""In parts as in one: runs folded apart, what they share folded by entity, give the catalogue of one call."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import structs
from support.generated_runs import group, group_of_tries
from support.partitions import SEED, bridge, differs, dumped, in_parts
from support.public_data import needs_corpus
from support.sample_events import AIRFLOW, SPARK, corpus, dataset, event, examples
from support.sample_events import packed as sent

from dh_bridge import Bridge, Settings
from dh_bridge.identity.granularity import application_of
from dh_bridge.openlineage.events import DeadLetter
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.partitioned.entities import group_of
from dh_bridge.partitioned.records import EventRecord, to_record
from dh_bridge.partitioned.runs import PartitionTranslator, TranslatedRun
from dh_bridge.state_codec.codec import encode_registers

LINEAGE = {"namespace": "postgres://db:5432", "type": "DATASET"}


OTHER = {
    "temporary datasets": {"temporary": {"datasets": ["*t2*"]}, "datahub_version": "1.7"},
    "lineage on datasets": {"column_lineage": {"target": "dataset"}, "materialize": "outputs"},
    "strictly redacted": {"redaction": "strict", "column_lineage": {"target": "both"}},
    "native checks": {"assertions": {"type": "native"}, "datahub_version": "1.7"},
}


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
@pytest.mark.parametrize("block", range(3))
def test_generated_runs_end_the_same_in_parts(block, profile):
    settings = Settings(datahub_version=profile)
    late = [i for i in range(block * 40, block * 40 + 40) if differs(sent(group(SEED, i)), settings)]
    assert late == []


def test_generated_tries_end_the_same_in_parts():
    settings = Settings(datahub_version="1.7")
    assert [i for i in range(40) if differs(sent(group_of_tries(SEED, i)), settings)] == []


@pytest.mark.parametrize("case", OTHER)
def test_cross_run_settings_work_in_partitions(case):
    settings = Settings(**OTHER[case])
    assert [i for i in range(25) if differs(sent(group(SEED, i)), settings)] == []


def test_producer_examples_end_the_same_in_partitions():
    assert not differs([one.raw for one in examples()], Settings(datahub_version="1.7"))


@needs_corpus
@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_corpus_ends_the_same_in_parts(profile):
    assert not differs([one.raw for one in corpus()], Settings(datahub_version=profile))


def test_run_that_another_one_names_waits_for_it():
    run = "018cc251-f400-734d-88b3-1e3d63fe6210"
    other = "018cc251-f400-734d-88b3-1e3d63fe6211"
    target = {"type": "JOB", "runId": other, "namespace": "ns", "name": "etl.other"}
    lineage = {"entries": [{**target, "inputs": [{**LINEAGE, "name": "d.s.x"}]}]}
    events = sent(
        [
            event("COMPLETE", run=run, job_facets={"lineage": lineage}, outputs=[dataset("d.s.a")]),
            event("START", run=other, job="etl.other", inputs=[dataset("d.s.b")]),
        ]
    )
    settings = Settings(datahub_version="1.7")
    found, late = in_parts(events, settings)
    ends = dumped(found)
    assert ends == dumped(Bridge(settings).translate(events).proposals)
    assert late == 1
    (inputs,) = [line for line in ends if b'"dataProcessInstanceInput"' in line]
    assert b"d.s.b" in inputs
    assert b"d.s.x" in inputs


def test_skipped_dbt_tests_are_recognised_across_partitions():
    events = [one.raw for one in examples() if "dbt.ndjson" in one.location]
    _, late = in_parts(events, Settings())
    assert late > 0


def test_record_without_an_event_is_a_dead_letter():
    runs = PartitionTranslator(Bridge().options, Bridge().zone)
    good = to_record(parse_event(sent([event()])[0], "a"), Bridge().options)
    found = list(runs.translate([EventRecord("x", 0, "b:2", b"{"), good]))
    (letter,) = [one for one in found if isinstance(one, DeadLetter)]
    assert (letter.location, letter.raw) == ("b:2", b"{")
    assert (runs.counts.events, runs.counts.dead, runs.counts.runs) == (1, 1, 1)


def test_run_with_very_many_events_has_bounded_memory():
    query = {"sql": {"query": "select 1", "_producer": SPARK, "_schemaURL": "x"}}
    texts = [
        json.dumps(event("RUNNING", "@", inputs=[dataset("d.s.a")], job_facets=query)),
        json.dumps(event("RUNNING", "@")),
    ]
    runs = PartitionTranslator(bridge(Settings()).options, bridge(Settings()).zone)
    most = 0
    for number in range(20_000):
        time = f"2026-11-20T{10 + number // 7200:02}:{number // 120 % 60:02}:{number // 2 % 60:02}.{number % 2}Z"
        runs.add_record(EventRecord("run", 0, str(number), texts[number % 2].replace("@", time).encode()))
        (state,) = runs._aggregator.runs.values()
        most = max(most, len(state.events))
    assert most < 2500
    assert sum(stamp[2]._raw != b"" for stamp, _ in state.events) < 2000
    runs.add_record(EventRecord("run", 0, "end", sent([event("COMPLETE", "2026-11-20T20:00:00Z")])[0]))
    results = [*runs.close_current(), *runs.finish()]
    (run,) = [one for one in results if isinstance(one, TranslatedRun)]
    assert runs.counts.events == 20_001
    assert "dataProcessInstanceRunEvent" in {one.aspect_name for one in run.proposals}


def test_job_has_its_own_group_unless_it_may_be_a_flow_job():
    flow = "urn:li:dataFlow:(spark,live.app,ns)"
    assert group_of(f"urn:li:dataJob:({flow},app.insert)", {}) == f"urn:li:dataJob:({flow},app.insert)"
    assert group_of(f"urn:li:dataJob:({flow},app)", {}) == flow
    assert group_of(f"urn:li:dataJob:({flow},long--0123456789abcdef)", {}) == flow
    assert group_of("urn:li:assertion:x", {}) == "urn:li:assertion:x"


@given(
    st.text(min_size=1, max_size=400),
    st.sampled_from(["ns", "a,b(c)", "n" * 300, "ünïcode" * 40]),
    st.sampled_from([SPARK, AIRFLOW, "https://example.com/own"]),
    st.sampled_from([None, "live"]),
)
@example("app" * 150, "ns", SPARK, "live")
@example("ä,(" * 60, "n" * 300, AIRFLOW, None)
def test_flow_job_is_in_the_group_of_its_flow(name, namespace, producer, instance):
    """Also where names are cut, and where an instance comes before the flow's."""
    rules = [{"namespace": ".*", "instance": instance}] if instance else []
    identity = bridge(Settings(identity={"rules": rules})).options.identity
    job = identity.job(namespace, name, producer)
    if job.level != "flow":
        job = application_of(structs.replace(job, platform="spark", granularity="application"))
    assert group_of(job.job_urn, {}) == job.flow_urn


def test_silent_tasks_have_their_runs_in_parts_too():
    """What their DAG's run says of them is shared, as jobs and datasets are."""
    tasks = {"a": {"emits_ol_events": False}, "b": {}}
    states = {"tasksState": {"a": "success", "b": "skipped"}, "dagRunState": "success"}
    history = [
        event(job="daily", producer=AIRFLOW, job_facets={"airflow": {"tasks": tasks}}),
        event("COMPLETE", "2026-11-20T20:00:00Z", job="daily", producer=AIRFLOW, run_facets={"airflowState": states}),
    ]
    settings = Settings(airflow={"tasks_without_events": "runs"})
    whole = bridge(settings).translate(json.dumps(history)).proposals
    assert len({one.entity_urn for one in whole if one.entity_type == "dataProcessInstance"}) == 3
    found, _ = in_parts(sent(history), settings)
    assert dumped(found) == dumped(whole)


def test_encoded_cells_carry_digests_instead_of_events():
    raw = json.dumps(event(inputs=[dataset("d.s.t")], run_facets={"x": {"text": "y" * 5000}})).encode()
    runs = PartitionTranslator(Bridge().options, Bridge().zone)
    pieces = [one for one in runs.translate([EventRecord("k", 0, "p", raw)]) if isinstance(one, tuple)]
    assert pieces
    assert all(len(encode_registers(slots)) < 3000 for _, _, slots in pieces)
