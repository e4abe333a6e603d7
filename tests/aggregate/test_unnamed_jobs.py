"""Queries without a name share a job: what is said of it is the run's, and lineage stands on the datasets."""

from __future__ import annotations

import itertools

import pytest
from support.ledger_batches import LedgerCase, catalogue, settings
from support.report_truth import lies
from support.sample_events import RUN, aspects, dataset, event, job_event, one, packed, properties

from dh_bridge import Bridge, Settings
from dh_bridge.state_codec.codec import encode_registers

HOST = "trino://trino:8080"
PRODUCER = "https://github.com/trinodb/trino/plugin/trino-openlineage"
ADHOC = "urn:li:dataJob:(urn:li:dataFlow:(trino,queries,trino://trino:8080),adhoc)"
FIRST, SECOND = "20261120_100000_00001_abcde", "20261120_100100_00002_abcde"
_PREFIX = "openlineage."


def table(name):
    return f"urn:li:dataset:(urn:li:dataPlatform:trino,shop.public.{name},PROD)"


def query(job, sql, *, reads, writes, columns=(), minute=0, **parts):
    """Return START and COMPLETE of a query, as Trino sends them: inputs and outputs are known at the end."""
    number = int(job[16:21])
    stated = {"producer": parts.pop("producer", PRODUCER), "namespace": HOST, "job": job}
    run = f"018cc251-f400-734d-88b3-{number:012}"
    facets = {"sql": {"query": sql}, "jobType": {"processingType": "BATCH", "integration": "TRINO", "jobType": "QUERY"}}
    lineage = {
        column: {"inputFields": [{**dataset(f"shop.public.{source}", HOST), "field": column}]}
        for source, column in columns
    }
    written = {"facets": {"columnLineage": {"fields": lineage}}} if lineage else {}
    return [
        event("START", f"2026-11-20T10:{minute:02}:00Z", run=run, job_facets=facets, **stated),
        event(
            "COMPLETE",
            f"2026-11-20T10:{minute:02}:05Z",
            run=run,
            job_facets=facets,
            inputs=[dataset(f"shop.public.{name}", HOST) for name in reads],
            outputs=[dataset(f"shop.public.{name}", HOST, **written) for name in writes],
            **stated,
        ),
    ]


TOTALS = query(FIRST, "insert into totals", reads=["orders", "rates"], writes=["totals"], columns=[("orders", "a")])
REPORT = query(SECOND, "create table report", reads=["totals"], writes=["report"], minute=1)


def translated(*events, **chosen):
    found = Bridge(Settings(**{"datahub_version": "1.7", **chosen})).translate(packed(events))
    assert found.rejected == []
    return found


def upstreams(found, name):
    """Return the tables that a table was made of, and the pairs of its columns."""
    paths = [operation["path"] for operation in one(found, "upstreamLineage", table(name))]
    edges = [path.removeprefix("/upstreams/") for path in paths if path.startswith("/upstreams/")]
    return sorted(edges), len(paths) - len(edges)


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_each_run_keeps_the_text_and_the_id_of_its_query(profile):
    found = translated(*TOTALS, *REPORT, datahub_version=profile)
    stated = {run["name"]: run["customProperties"] for run in aspects(found, "dataProcessInstanceProperties")}
    assert {name: own[f"{_PREFIX}sql.query"] for name, own in stated.items()} == {
        FIRST: "insert into totals",
        SECOND: "create table report",
    }
    assert [own[f"{_PREFIX}job.name"] for own in stated.values()] == list(stated)
    assert {own[f"{_PREFIX}jobType.jobType"] for own in stated.values()} == {"QUERY"}
    assert len({own[f"{_PREFIX}sql.sha256"] for own in stated.values()}) == 2


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_unnamed_job_has_no_properties_of_single_queries(profile):
    found = translated(*TOTALS, *REPORT, datahub_version=profile)
    assert properties(one(found, "dataJobInfo", ADHOC)) == {"job.namespace": HOST}
    assert {p.aspect_name for p in found.proposals if p.entity_urn == ADHOC} == {
        "dataJobInfo",
        "dataPlatformInstance",
        "subTypes",
    }
    assert one(found, "subTypes", ADHOC) == {"typeNames": ["Query"]}


@pytest.mark.parametrize("target", ["job", "dataset", "both"])
def test_unnamed_job_lineage_is_on_datasets_under_any_setting(target):
    found = translated(*TOTALS, *REPORT, column_lineage={"target": target})
    assert upstreams(found, "totals") == ([table("orders"), table("rates")], 1)
    assert upstreams(found, "report") == ([table("totals")], 0)
    assert aspects(found, "dataJobInputOutput") == []
    assert sorted(map(str, aspects(found, "dataProcessInstanceInput"))) == sorted(
        map(str, [{"inputs": [table("orders"), table("rates")]}, {"inputs": [table("totals")]}])
    )


def test_query_with_a_name_has_a_job_of_its_own():
    named = [{**one, "job": {**one["job"], "name": "nightly.totals"}} for one in TOTALS]
    found = translated(*named)
    job = "urn:li:dataJob:(urn:li:dataFlow:(trino,nightly,trino://trino:8080),nightly.totals)"
    assert properties(one(found, "dataJobInfo", job))["job.name"] == "nightly.totals"
    assert len(one(found, "dataTransformLogic", job)["transforms"]) == 1
    assert aspects(found, "upstreamLineage") == []
    assert len(one(found, "dataJobInputOutput", job)) == 4
    assert one(found, "dataProcessInstanceProperties")["name"] != "nightly.totals"


def test_dagster_mapped_steps_are_runs_of_one_job_with_keys():
    dagster = {
        "namespace": "shop",
        "producer": "https://github.com/OpenLineage/OpenLineage/tree/0.2.1/integration/dagster",
    }
    steps = [("nightly.load_day[2026_11_20]", "a"), ("nightly.load_day[2026_11_21]", "b"), ("nightly.insert", "c")]
    above = {"run": {"runId": RUN}, "job": {"namespace": "shop", "name": "nightly"}}
    found = translated(
        *[event("START", job=job, run=run, run_facets={"parent": above}, **dagster) for job, run in steps]
    )
    jobs = {p.entity_urn.rpartition(",")[2][:-1] for p in found.proposals if p.aspect_name == "dataJobInfo"}
    assert jobs == {"nightly.load_day", "nightly.insert"}
    runs = [run["customProperties"] for run in aspects(found, "dataProcessInstanceProperties")]
    assert sorted(run[f"{_PREFIX}job.name"] for run in runs if f"{_PREFIX}job.name" in run) == [
        steps[0][0],
        steps[1][0],
    ]
    links = aspects(found, "dataProcessInstanceRelationships")
    assert [link["parentInstance"] for link in links] == [f"urn:li:dataProcessInstance:{RUN}"] * 3
    assert [link["parentTemplate"].rpartition(",")[2] for link in links].count("nightly.load_day)") == 2


def test_text_of_a_query_is_no_name_of_its_run():
    sql = "SELECT `status`, COUNT(*)\nFROM `orders`"
    flink = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/flink"
    found = translated(event("START", job=sql, namespace="shop", producer=flink))
    (run,) = aspects(found, "dataProcessInstanceProperties")
    assert run["name"] == run["customProperties"][f"{_PREFIX}runId"]
    assert run["customProperties"][f"{_PREFIX}job.name"] == sql


def test_text_is_redacted_where_it_is_kept():
    text = "call s3('s3://key:hunter2secret@bucket/x')"
    found = translated(*query(FIRST, text, reads=["orders"], writes=["totals"]))
    assert one(found, "dataProcessInstanceProperties")["customProperties"][f"{_PREFIX}sql.query"] == (
        "call s3('s3://key:***@bucket/x')"
    )


def test_job_event_of_an_unnamed_query_leaves_no_job_name():
    stated = job_event(job=FIRST, namespace=HOST, producer=PRODUCER, job_facets={"sql": {"query": "select 1"}})
    found = translated(stated, datahub_version="0.15.0")
    assert "job.name" not in properties(one(found, "dataJobInfo", ADHOC))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("queries", ["off", "on"])
def test_report_of_unnamed_jobs_matches_the_written_aspects(whole, queries):
    profile = "1.7 with queries" if queries == "on" else "1.7"
    found, tried = lies([("here", TOTALS[1])], 1, whole=whole, profile=profile)
    assert found == []
    assert sum(tried.values()) > 15


# -- with a ledger ------------------------------------------------------------------------------------------------------


def test_unnamed_job_is_not_rewritten_by_its_next_query():
    ledger_case = LedgerCase(settings(datahub_version="1.7"))
    assert ADHOC in {p.entity_urn for p in ledger_case.process(TOTALS)}
    assert ADHOC not in {p.entity_urn for p in ledger_case.process(REPORT)}
    assert ledger_case.catalog.aspect(ADHOC, "dataJobInputOutput") is None


def test_any_order_in_any_batches_comes_to_the_same():
    wanted = catalogue([*TOTALS, *REPORT], chosen=settings(datahub_version="1.7"))
    assert any("fineGrainedLineages" in str(line) for line in wanted)
    for order in itertools.permutations([*TOTALS, *REPORT]):
        for size in (1, 2, 3):
            batches = [order[at : at + size] for at in range(0, 4, size)]
            assert catalogue(*batches, chosen=settings(datahub_version="1.7")) == wanted


def test_ledger_state_of_an_unnamed_job_does_not_grow():
    ledger_case, sizes = LedgerCase(), []
    for number in range(1, 13):
        job = f"20261120_100000_{number:05}_abcde"
        ledger_case.process(
            query(job, "insert", reads=[f"r{number}"], writes=[f"w{number}"], columns=[(f"r{number}", "a")])
        )
        sizes.append(len(encode_registers(ledger_case.ledger._aggregator.shared.registers_of(ADHOC))))
    assert len(set(sizes[2:])) == 1
