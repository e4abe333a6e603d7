"""The leaf report tells the truth: what a line says of a leaf is what a change of the leaf does (ruling 29)."""

from __future__ import annotations

import pytest
from samples import dataset, event
from truth import (
    VERDICTS,
    at_target,
    bears_out,
    bridge,
    documents,
    golden,
    injected,
    lies,
    reported,
    with_secrets,
    written,
)

from dh_bridge.datahub.proposal import patch, upsert

CALLS = [(False, "0.15.0"), (True, "0.15.0"), (True, "1.7"), (False, "1.7")]


@pytest.mark.slow
@pytest.mark.parametrize(("whole", "profile"), CALLS)
def test_every_leaf_of_every_golden_event_changes_the_target_that_its_line_names(whole, profile):
    found, tried = lies(golden(), 1, whole=whole, profile=profile)
    assert found == []
    assert all(tried[verdict] > 40 for verdict in VERDICTS), tried


@pytest.mark.slow
@pytest.mark.parametrize(("whole", "profile"), CALLS[:3])
def test_a_change_of_a_leaf_changes_its_target_if_and_only_if_it_is_not_withheld(whole, profile):
    found, tried = lies(documents(), 0.04, whole=whole, profile=profile)
    assert found == []
    assert all(tried[verdict] > 40 for verdict in VERDICTS), tried


ODD_COLUMNS = [
    {"name": "", "type": "struct", "fields": [{"name": "x", "type": "int", "description": "of a nameless one"}]},
    {"name": "a", "type": "array", "fields": [{"name": "_element", "type": "int", "description": "of an inside"}]},
    {"name": "m", "type": "map", "fields": [
        {"name": "key", "type": "string", "description": "k"}, {"name": "stray", "type": "int"},
        {"name": "value", "type": "struct", "description": "v", "fields": [{"name": "y", "type": "int", "mine": "z"}]},
    ]},
    {"name": "n", "type": "io.x.Node", "fields": [
        {"name": "id", "type": "int"}, {"name": "next", "type": "io.x.Node", "fields": [{"name": "id", "type": "int"}]},
    ]},
    {"name": "twice", "type": "int", "description": "d"}, {"name": "twice", "type": "int", "description": "e"},
]  # fmt: skip


def test_of_odd_columns_the_report_tells_the_truth():
    said = event(outputs=[dataset("d.s.t", facets={"schema": {"fields": ODD_COLUMNS}})])

    def only(path):  # another name of a nameless column, or of one that is there twice, is another column
        return "schema" in path and not (path[-1] == "name" and path[-2] in (0, 4, 5) and len(path) == 7)

    found, tried = lies([("here", said)], 1, only, whole=True, profile="1.7")
    assert found == []
    assert tried["withheld"] > 8
    assert tried["mapped"] > 15


def test_the_truth_test_finds_a_lie(monkeypatch):
    """A row that tells of a home that nothing goes to, and one that tells of a loss that is none."""
    said = event("START", job_facets={"sql": {"query": "select 1", "dialect": "ansi"}})
    assert lies([("here", said)], 1, whole=True, profile="1.7")[0] == []
    monkeypatch.setattr("dh_bridge.translation.facets.sql.sql.leaves", {})
    told = reported([said], bridge("1.7"))["$.job.facets.sql.query"]
    assert told["verdict"] == "kept"
    before = written(said, whole=True, profile="1.7")
    assert bears_out({**told, "verdict": "withheld"}, before, before[1:]) is False
    assert bears_out(told, before, list(before)) is False
    elsewhere = {**told, "target": "ownership.owners[].owner"}
    after = written(
        event("START", job_facets={"sql": {"query": "select 2", "dialect": "ansi"}}), whole=True, profile="1.7"
    )
    assert bears_out(elsewhere, before, after) is False


@pytest.mark.slow
@pytest.mark.parametrize(("whole", "profile"), CALLS[:2])
def test_every_value_that_redaction_replaced_is_told_to_be_a_secret_whatever_facet_it_is_in(whole, profile):
    found, tried = lies(
        [(place, with_secrets(said)) for place, said in golden()], 1, injected, whole=whole, profile=profile
    )
    assert found == []
    assert all(tried[verdict] > 40 for verdict in VERDICTS - {"mapped"}), tried


ORDERS = {"type": "DATASET", "namespace": "postgres://db:5432", "name": "shop.public.orders"}
TOTALS = {**ORDERS, "name": "shop.public.totals"}
EXTRACT = {"type": "JOB", "namespace": "ns", "name": "etl.extract"}
FLOW = {"type": "JOB", "namespace": "ns", "name": "nightly"}
OTHER_RUN = {"runId": "018cc251-f400-734d-88b3-1e3d63fe6299"}
SAID = {"transformations": [{"type": "INDIRECT", "subtype": "FILTER", "description": "d"}]}
SOURCES = {
    "a dataset": {**ORDERS, **SAID}, "a job": EXTRACT, "a job and what it did": {**EXTRACT, **SAID},
    "a run of a job": {**EXTRACT, **OTHER_RUN}, "a flow": FLOW, "the job itself": {"type": "JOB"},
}  # fmt: skip
TARGETS = {
    "a dataset": TOTALS, "the job itself": {"type": "JOB"}, "another job": {**EXTRACT, "name": "etl.transform"},
    "another run": {**EXTRACT, "name": "etl.transform", "runId": "018cc251-f400-734d-88b3-1e3d63fe6288"}, "a flow": FLOW,
}  # fmt: skip


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_every_kind_of_source_and_target_of_explicit_lineage_is_told_where_it_changes_something(source, target, whole):
    entry = {**TARGETS[target], "inputs": [SOURCES[source]]}
    said = event("COMPLETE", job_facets={"lineage": {"entries": [entry]}})
    assert lies([(f"{source} -> {target}", said)], 1, whole=whole, profile="0.15.0")[0] == []


PROPOSALS = [
    upsert("dataset", "urn:a", "schemaMetadata", {"fields": [{"fieldPath": "b"}, {"fieldPath": "a"}]}),
    patch(
        "dataset",
        "urn:a",
        "datasetProperties",
        [{"op": "add", "path": "/customProperties/openlineage.x.y~1z", "value": "1"}],
    ),
    patch(
        "dataJob",
        "urn:j",
        "dataJobInputOutput",
        [{"op": "add", "path": "/inputDatasetEdges/urn:a", "value": {"properties": {"k": "v"}}}],
    ),
]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("schemaMetadata.fields[].fieldPath", ['"b"', '"a"']),
        ("schemaMetadata.fields[].type", []),
        ("datasetProperties.customProperties[openlineage.x.y/z]", ['add "1"']),
        ("datasetProperties.customProperties[openlineage.x]", ['add "1"']),
        ("datasetProperties.customProperties[openlineage.y]", []),
        ("dataJobInputOutput.inputDatasetEdges[].properties", ['add "v"']),
        ("dataJobInputOutput.outputDatasetEdges", []),
        ("dataJobInputOutput.urn", [""]),
    ],
)
def test_a_target_names_leaves_of_one_aspect_below_one_path(target, expected):
    assert [text for _, _, text in at_target(PROPOSALS, target)] == expected
