"""Facets that are deleted: where state is kept, the properties that they stated go."""

from __future__ import annotations

from itertools import permutations

import pytest
from support.ledger_batches import catalogue, compiled, read
from support.report_truth import reported
from support.sample_events import aspects, dataset, dataset_event, event, job_event

from dh_bridge import translate
from dh_bridge.options import Options
from dh_bridge.session import Session
from dh_bridge.settings import Settings

GONE = {"_deleted": True}
STORAGE = {"storageLayer": "iceberg", "fileFormat": "parquet"}


def of_dataset(key, facet, hour):
    return dataset_event(dataset("d.s.t", facets={key: facet}), time=f"2026-11-20T{hour}:00:00Z")


def of_job(key, facet, hour):
    return job_event(time=f"2026-11-20T{hour}:00:00Z", job_facets={key: facet})


def left(events, **settings):
    """Return the catalogue that each order of the events ends in, processed one by one."""
    (found,) = {
        b"".join(catalogue(*[[one] for one in order], chosen=Settings(**settings))) for order in permutations(events)
    }
    return found


@pytest.mark.parametrize(
    ("event_with_facet", "key", "body", "text"),
    [
        (of_dataset, "storage", STORAGE, b"parquet"),
        (of_dataset, "storage", {**STORAGE, "fileFormat": "orc", "more": "of it"}, b"of it"),
        (of_dataset, "mystery", {"x": "nobody knows"}, b"nobody knows"),
        (of_dataset, "hierarchy", {"hierarchy": [{"type": "DATABASE", "name": "deep"}]}, b"deep"),
        (of_dataset, "tags", {"tags": [{"key": "pii"}]}, b'urn:li:tag:pii"}]'),
        (of_dataset, "tags", {"tags": [{"key": "pii", "field": "a"}]}, b'urn:li:tag:pii"}]'),
        (of_dataset, "ownership", {"owners": [{"name": "ann"}]}, b"corpuser:ann"),
        (of_job, "tags", {"tags": [{"key": "pii"}]}, b'urn:li:tag:pii"}]'),
        (of_job, "ownership", {"owners": [{"name": "ann"}]}, b"corpuser:ann"),
        (of_job, "sourceCodeLocation", {"type": "git", "path": "some/where"}, b"some/where"),
    ],
)
def test_facet_content_is_deleted_and_restored_in_any_order(event_with_facet, key, body, text):
    events = [event_with_facet(key, body, 10), event_with_facet(key, GONE, 11)]
    assert text not in left(events, optional_metadata=["queries"], datahub_version="1.7")
    assert text in left(
        [*events, event_with_facet(key, body, 12)], optional_metadata=["queries"], datahub_version="1.7"
    )
    assert text in left(
        [events[0], event_with_facet("other", GONE, 11)], optional_metadata=["queries"], datahub_version="1.7"
    )


def outcomes(body, *, stateful, key="storage"):
    call = Session(compiled(None) if stateful else Options(Settings()), report=True)
    for one in read([of_dataset(key, body, 10)]):
        call.add(one)
    lines = call.close(None).report.lines()
    return {line["path"].rpartition(".")[2]: line["target"] or line["reason"] for line in lines if key in line["path"]}


def test_query_of_a_deleted_facet_has_no_dialect():
    """The text of a run cannot be withdrawn, a property can."""
    sql = {"query": "select 1", "dialect": "ansi"}
    events = [
        event("START", job_facets={"sql": sql}),
        event("COMPLETE", "2026-11-20T11:00:00Z", job_facets={"sql": GONE}),
    ]
    (query,) = aspects(
        translate(events, settings=Settings(optional_metadata=["queries"], datahub_version="1.7")), "queryProperties"
    )
    assert query["statement"]["value"] == "select 1"
    assert set(query["customProperties"]) == {"openlineage.sql.sha256"}


@pytest.mark.parametrize("key", ["storage", "mystery"])
def test_fields_beside_the_deletion_mark_are_ignored(key):
    body = {**STORAGE, **GONE, "_producer": "p"}
    output = outcomes(body, stateful=True, key=key)
    assert output["_deleted"] == "retraction of the bridge's own contribution"
    assert {output["storageLayer"], output["fileFormat"]} == {"no-field:the facet is deleted"}
    assert output["_producer"] == "envelope"
    without = outcomes(body, stateful=False, key=key)
    assert {without["_deleted"], without["storageLayer"]} == {"policy:state=none"}


def test_deleted_description_is_not_reported_as_mapped():
    facet = {"description": "text", "contentType": "text/html", **GONE}
    output = reported([event("COMPLETE", job_facets={"documentation": facet})])
    assert output["$.job.facets.documentation.description"]["reason"] == "no-field:the facet is deleted"
    assert output["$.job.facets.documentation._deleted"]["outcome"] == "mapped"


def test_deleted_column_lineage_removes_and_restores_upstreams():
    source = {"namespace": "postgres://db:5432", "name": "d.s.from", "field": "a"}
    facet = {"fields": {"b": {"inputFields": [source]}}}
    events = [of_dataset("columnLineage", facet, 10), of_dataset("columnLineage", GONE, 11)]
    assert b"d.s.from" in left(events[:1])
    assert b'"dataset":"urn:li:dataset:(urn:li:dataPlatform:postgres,d.s.from' not in left(events)
    assert b"d.s.from" in left([*events, of_dataset("columnLineage", facet, 12)])


def test_misplaced_facet_counts_if_its_own_position_is_null():
    parent = {"run": {"runId": "018cc251-f400-734d-88b3-00000000000a"}, "job": {"namespace": "ns", "name": "dag"}}
    output = translate([event("START", run_facets={"parent": None}, job_facets={"parent": parent})], report=True)
    (found,) = aspects(output, "dataProcessInstanceRelationships")
    assert found["parentInstance"].endswith("00000000000a")
    lines = {line["path"]: line["outcome"] for line in output.report.lines()}
    assert lines["$.job.facets.parent.run.runId"] == "mapped"
