"""The field report is true: a change of a field does what its line states."""

from __future__ import annotations

import copy

import pytest
from support.report_truth import (
    ASKED,
    OUTCOMES,
    at_target,
    bears_out,
    bridge,
    call,
    documents,
    golden,
    injected,
    leaves,
    lies,
    put,
    reported,
    shown,
    with_secrets,
    written,
)
from support.sample_events import dataset, dataset_event, event, job_event, packed

from dh_bridge.datahub.proposal import patch, upsert
from dh_bridge.facet_support.facet_spec import mapped
from dh_bridge.model.facts import JOB_PROPERTIES
from dh_bridge.naming.datasets import dataset_name
from dh_bridge.openlineage.read import events_of

CALLS = [(False, "0.15.0"), (True, "0.15.0"), (True, "1.7"), (False, "1.7")]


@pytest.mark.slow
@pytest.mark.parametrize(("whole", "profile"), CALLS)
def test_golden_field_change_changes_the_reported_target(whole, profile):
    found, tried = lies(golden(), 1, whole=whole, profile=profile)
    assert found == []
    assert all(tried[outcome] > 40 for outcome in OUTCOMES), tried


@pytest.mark.slow
@pytest.mark.parametrize(("whole", "profile"), CALLS)
def test_field_change_changes_the_target_unless_dropped(whole, profile):
    found, tried = lies(documents(), 0.04, whole=whole, profile=profile)
    assert found == []
    assert all(tried[outcome] > 40 for outcome in OUTCOMES), tried


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


def test_report_is_true_for_odd_columns():
    stated = event(outputs=[dataset("d.s.t", facets={"schema": {"fields": ODD_COLUMNS}})])

    def only(path):  # another name of a nameless column, or of one that is there twice, is another column
        return "schema" in path and not (path[-1] == "name" and path[-2] in (0, 4, 5) and len(path) == 7)

    found, tried = lies([("here", stated)], 1, only, whole=True, profile="1.7")
    assert found == []
    assert tried["dropped"] > 8
    assert tried["mapped"] > 15


#: Without a namespace or name, or what kind of thing it is, the same thing is named, and columns may be in order as they stand.
OF_NAMES = ("namespace", "name", "type", "ordinal_position")


def without(document, path):
    found = copy.deepcopy(document)
    inner = found
    for step in path[:-1]:
        inner = inner[step]
    if isinstance(inner, list):
        inner[path[-1]] = None
    else:
        del inner[path[-1]]
    return found


def test_empty_text_or_zero_is_mapped_only_if_it_has_an_effect():
    found, tried = [], 0
    for place, stated in golden():
        for path, value in leaves(stated):
            if isinstance(value, bool | None) or value in ({}, []) or path[-1] in (*OF_NAMES, "eventTime", "runId"):
                continue
            changed = put(stated, [path], "" if isinstance(value, str) else 0)
            line = reported(call(changed, whole=True), bridge("1.7"))[shown(path)]
            if line["outcome"] == "dropped":
                continue
            tried += 1
            if written(changed, whole=True, profile="1.7") == written(without(stated, path), whole=True, profile="1.7"):
                found.append((place, shown(path), line["target"]))
    assert found == []
    assert tried > 150


def test_report_check_detects_a_false_outcome(monkeypatch):
    """A row that names a target that nothing goes to, and one that drops what is stored."""
    stated = event("START", job_facets={"sql": {"query": "select 1", "dialect": "ansi"}})
    assert lies([("here", stated)], 1, whole=True, profile="1.7")[0] == []
    monkeypatch.setattr("dh_bridge.facets.source_code.sql.outcomes", {"query": mapped(JOB_PROPERTIES["sql.dialect"])})
    output = reported([stated], bridge("1.7"))["$.job.facets.sql.query"]
    assert output["outcome"] == "property"
    before = written(stated, whole=True, profile="1.7")
    assert lies([("here", stated)], 1, whole=True, profile="1.7")[0] != []
    assert bears_out({**output, "outcome": "dropped"}, before, before[1:]) is False
    assert bears_out(output, before, list(before)) is False
    elsewhere = {**output, "target": "ownership.owners[].owner"}
    after = written(
        event("START", job_facets={"sql": {"query": "select 2", "dialect": "ansi"}}), whole=True, profile="1.7"
    )
    assert bears_out(elsewhere, before, after) is False


@pytest.mark.slow
@pytest.mark.parametrize(("whole", "profile"), CALLS[:2])
def test_redacted_value_is_reported_as_secret_in_any_facet(whole, profile):
    found, tried = lies(
        [(place, with_secrets(stated)) for place, stated in golden()], 1, injected, whole=whole, profile=profile
    )
    assert found == []
    assert all(tried[outcome] > 40 for outcome in OUTCOMES - {"mapped"}), tried


ORDERS = {"type": "DATASET", "namespace": "postgres://db:5432", "name": "shop.public.orders"}
TOTALS = {**ORDERS, "name": "shop.public.totals"}
EXTRACT = {"type": "JOB", "namespace": "ns", "name": "etl.extract"}
FLOW = {"type": "JOB", "namespace": "ns", "name": "nightly"}
OTHER_RUN = {"runId": "018cc251-f400-734d-88b3-1e3d63fe6299"}
STATED = {"transformations": [{"type": "INDIRECT", "subtype": "FILTER", "description": "d"}]}
SOURCES = {
    "a dataset": {**ORDERS, **STATED}, "a job": EXTRACT, "a job and what it did": {**EXTRACT, **STATED},
    "a run of a job": {**EXTRACT, **OTHER_RUN}, "a flow": FLOW, "the job itself": {"type": "JOB"},
}  # fmt: skip
TARGETS = {
    "a dataset": TOTALS, "the job itself": {"type": "JOB"}, "another job": {**EXTRACT, "name": "etl.transform"},
    "another run": {**EXTRACT, "name": "etl.transform", "runId": "018cc251-f400-734d-88b3-1e3d63fe6288"}, "a flow": FLOW,
}  # fmt: skip


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("source", SOURCES)
def test_explicit_lineage_is_reported_only_where_it_is_used(source, target, whole):
    entry = {**TARGETS[target], "inputs": [SOURCES[source]]}
    stated = event("COMPLETE", job_facets={"lineage": {"entries": [entry]}})
    assert lies([(f"{source} -> {target}", stated)], 1, whole=whole, profile="0.15.0")[0] == []


# -- entity by entity, whatever the settings leave out ---------------------------------------------------------------------

#: Aspects of datasets, some of which jobs have too
OF_DATASETS = {
    "datasetProperties", "schemaMetadata", "editableSchemaMetadata", "upstreamLineage", "operation", "datasetProfile",
    "ownership", "globalTags", "subTypes", "siblings",
}  # fmt: skip


def named(document, using):
    """Return the URN of each dataset of an event, by its path."""
    (one,) = events_of(*packed([document]), "here")
    sides = [("$.dataset", one.dataset)] if one.dataset else []
    sides += [(f"$.{side}[{i}]", at) for side in ("inputs", "outputs") for i, at in enumerate(getattr(one, side))]
    return {path: dataset_name(found, using.options.naming).endpoint for path, found in sides}


def own_name(path):
    return len(path) == 3 and path[0] in ("inputs", "outputs")


def elsewhere(document, using):
    """Return the lines of fields of a dataset that name it as target, although its aspect is not proposed."""
    translation = using.translate(packed([document]), report=True)
    written = {(one.entity_urn, one.aspect_name) for one in translation.proposals}
    urns = named(document, using)
    found = []
    for line in translation.report.lines():
        urn = next((urns[path] for path in urns if line["path"].startswith(f"{path}.")), None)
        aspect = (line["target"] or "").partition(".")[0]
        if urn is not None and aspect in OF_DATASETS and (urn, aspect) not in written:
            found.append((line["path"], line["target"]))
    return found


@pytest.mark.parametrize("asked", ["", *(f" with {asked}" for asked in ASKED if "removals" not in asked)])
def test_dataset_field_is_mapped_only_to_a_proposed_aspect(asked):
    using = bridge(f"1.7{asked}")
    assert [(place, *line) for place, stated in golden() for line in elsewhere(stated, using)] == []


@pytest.mark.slow
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("asked", ASKED)
def test_golden_fields_are_reported_truthfully_in_all_settings(asked, whole):
    def only(path):  # by its own name a facet of another dataset may mean one that is left out
        return "through" not in asked or not own_name(path)

    found, tried = lies(golden(), 1, only, whole=whole, profile=f"{'1.7' if whole else '0.15.0'} with {asked}")
    assert found == []
    assert sum(tried.values()) > 2_000


DIRECT = {"type": "DIRECT", "subtype": "IDENTITY", "description": "d", "masking": False}
FILTER = {"type": "INDIRECT", "subtype": "FILTER", "description": "f"}
A_SOURCE = {"namespace": "postgres://db:5432", "name": "shop.public.orders", "field": "id"}
COLUMNS = {
    "fields": {"id": {"inputFields": [{**A_SOURCE, "transformations": [DIRECT]}]},
               "total": {"inputFields": [{**A_SOURCE, "field": "amount"}]}},
    "dataset": [{**A_SOURCE, "field": "day", "transformations": [FILTER]}],
}  # fmt: skip
EXPLICIT = {
    "inputs": [{**ORDERS, "field": "day", "transformations": [FILTER]}, EXTRACT],
    "fields": {"id": {"inputs": [{**ORDERS, "field": "id", "transformations": [DIRECT]}]}},
}
TOTAL = dataset("shop.public.totals", facets={"columnLineage": COLUMNS})
MADE = dataset("shop.public.totals", facets={"lineage": EXPLICIT})
ENTRIES = {"lineage": {"entries": [{**TOTALS, **EXPLICIT}]}}
PLACEHOLDERS = {
    "column lineage of a job": job_event(job="unknown", outputs=[TOTAL]),
    "column lineage of a run": event("COMPLETE", job="unknown", outputs=[TOTAL]),
    "lineage of a dataset, of a job": job_event(job="unknown", outputs=[MADE]),
    "lineage of a dataset, of a run": event("COMPLETE", job="unknown", outputs=[MADE]),
    "lineage of a job": job_event(job="unknown", job_facets=ENTRIES),
    "lineage of a run": event("COMPLETE", job="unknown", job_facets=ENTRIES),
    "its parent": event("COMPLETE", job="unknown", run_facets={"parent": {"run": OTHER_RUN, "job": {"namespace": "n", "name": "p"}}}),
    "an input and an output": job_event(job="unknown", inputs=[dataset("d.s.read")], outputs=[dataset("d.s.made")]),
}  # fmt: skip


@pytest.mark.parametrize("asked", ["", " with outputs", " with lineage on datasets"])
@pytest.mark.parametrize("case", PLACEHOLDERS)
def test_fields_of_an_unwritten_job_are_reported_truthfully(case, asked):
    for whole in (False, True):
        assert lies([(case, PLACEHOLDERS[case])], 1, whole=whole, profile=f"0.15.0{asked}")[0] == []


MARKED = dataset(
    "shop.public.orders", facets={"datasetType": {"datasetType": "TABLE", "subType": "TEMPORARY"}, "own": {"x": 1}}
)
LEFT_OUT = {
    "a temporary source of columns": event("COMPLETE", inputs=[MARKED], outputs=[TOTAL]),
    "a temporary source of a dataset": event("COMPLETE", inputs=[MARKED], outputs=[MADE]),
    "a temporary source of an entry": event("COMPLETE", inputs=[MARKED], job_facets=ENTRIES),
    "a temporary output": event(
        "COMPLETE",
        inputs=[dataset("shop.public.orders")],
        outputs=[{**TOTAL, "facets": {**TOTAL["facets"], "datasetType": MARKED["facets"]["datasetType"]}}],
    ),
    "columns of a dataset event": dataset_event(TOTAL),
}


@pytest.mark.parametrize(
    "asked", ["no edges of temporary ones", "no temporary ones", "lineage through orders", "lineage on datasets"]
)
@pytest.mark.parametrize("case", LEFT_OUT)
def test_dataset_left_out_of_lineage_is_reported_truthfully(case, asked):
    def only(path):  # by its own name a facet of another dataset may mean it or not
        return not own_name(path)

    assert lies([(case, LEFT_OUT[case])], 1, only, whole=True, profile=f"1.7 with {asked}")[0] == []


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
def test_target_names_leaves_of_one_aspect_below_one_path(target, expected):
    assert [text for _, _, text in at_target(PROPOSALS, target)] == expected
