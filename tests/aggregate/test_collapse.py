"""Temporary datasets that lineage runs through, also where dataset events state upstreams (settings
`temporary`)."""

from __future__ import annotations

import pytest
from support.sample_events import dataset, dataset_event, event, job_event, packed

from dh_bridge import Bridge, Settings

BRIDGE = Bridge(Settings(temporary={"datasets": ["postgres://db:5432/d.s.tmp*", "staging.*"]}))


def urn(name):
    return f"urn:li:dataset:(urn:li:dataPlatform:postgres,{name},PROD)"


def lineage(**columns):
    fields = {
        column: {"inputFields": [{"namespace": "postgres://db:5432", "name": name, "field": "x"}]}
        for column, name in columns.items()
    }
    return {"columnLineage": {"fields": fields}}


def translate_events(*events):
    translation = BRIDGE.translate(packed(events))
    assert translation.rejected == []
    return translation


def operations(translation, aspect):
    return [o for p in translation.proposals if p.aspect_name == aspect for o in p.value]


def test_collapse_pattern_matches_name_or_namespace_and_name():
    assert BRIDGE.settings.temporary.is_listed("postgres://db:5432", "d.s.tmp1")
    assert BRIDGE.settings.temporary.is_listed("anything", "staging.a")
    assert BRIDGE.settings.temporary.is_listed("postgres://other:5432", "d.s.tmp1") is None


def test_dataset_event_upstreams_collapse_through_jobs():
    made = event("COMPLETE", inputs=[dataset("d.s.a"), dataset("d.s.b")], outputs=[dataset("d.s.tmp")])
    upstream = dataset_event(dataset("d.s.c", facets=lineage(x="d.s.tmp", y="d.s.a")))
    for events in ((made, upstream), (upstream, made)):
        found = translate_events(*events)
        edges = {
            o["value"]["dataset"] for o in operations(found, "upstreamLineage") if o["path"].startswith("/upstreams/")
        }
        assert edges == {urn("d.s.a"), urn("d.s.b")}
        assert "d.s.tmp" not in repr(found.proposals)


def test_temporary_dataset_that_nobody_made_leaves_no_edge():
    found = translate_events(event("COMPLETE", inputs=[dataset("d.s.tmp")], outputs=[dataset("d.s.c")]))
    paths = [o["path"] for o in operations(found, "dataJobInputOutput")]
    assert [path for path in paths if path.startswith("/inputDatasetEdges")] == []
    assert [p for p in found.proposals if p.aspect_name == "dataProcessInstanceInput"] == []


def test_first_time_of_an_edge_is_that_of_the_temporary_one():
    found = translate_events(
        event(
            "COMPLETE",
            "2026-11-20T10:00:01Z",
            run="r1",
            job="etl.one",
            inputs=[dataset("d.s.a")],
            outputs=[dataset("d.s.tmp")],
        ),
        event(
            "COMPLETE",
            "2026-11-20T10:00:05Z",
            run="r2",
            job="etl.two",
            inputs=[dataset("d.s.tmp")],
            outputs=[dataset("d.s.c")],
        ),
    )
    times = {
        o["value"]["created"]["time"] % 60_000
        for o in operations(found, "dataJobInputOutput")
        if "inputDatasetEdges" in o["path"]
    }
    assert times == {1000, 5000}


def test_untyped_columns_of_a_temporary_dataset_are_dropped():
    schema = {"schema": {"fields": [{"name": "x"}]}}
    found = translate_events(job_event(inputs=[dataset("d.s.tmp", facets=schema), dataset("d.s.a", facets=schema)]))
    fields = [
        o["value"] for o in operations(found, "dataJobInputOutput") if o["path"].startswith("/inputDatasetFields/")
    ]
    assert fields == [f"urn:li:schemaField:({urn('d.s.a')},x)"]


def test_column_lineage_keeps_the_columns_of_lasting_datasets():
    stated = event("COMPLETE", outputs=[dataset("d.s.c", facets=lineage(x="d.s.tmp", y="d.s.a"))])
    found = translate_events(
        stated, event("COMPLETE", run="r0", inputs=[dataset("d.s.b")], outputs=[dataset("d.s.tmp")])
    )
    fine = [o["path"] for o in operations(found, "dataJobInputOutput") if o["path"].startswith("/fineGrainedLineages/")]
    assert len(fine) == 1
    assert "d.s.a" in fine[0]


def test_second_call_remembers_temporary_datasets_of_a_facet():
    stated = event("COMPLETE", outputs=[dataset("d.s.c", facets=lineage(x="d.s.tmp", y="d.s.a"))])
    first, second = translate_events(stated), translate_events(stated)
    assert operations(second, "dataJobInputOutput") == operations(first, "dataJobInputOutput")
    assert not any("d.s.tmp" in o["path"] for o in operations(second, "dataJobInputOutput"))


# -- by the facet datasetType (settings `temporary`) -------------------------------------------------------------------

STATED = {"datasetType": {"datasetType": "TABLE", "subType": "TEMPORARY"}}


def chain(stated, *, reader=None):
    """Return a run that makes a temporary dataset of two tables, and one that makes a table of it."""
    return (
        event("COMPLETE", inputs=[dataset("d.s.a"), dataset("d.s.b")], outputs=[dataset("d.s.x", facets=stated)]),
        event(
            "COMPLETE", run="r2", job="etl.two", inputs=[dataset("d.s.x", facets=reader or {})],
            outputs=[dataset("d.s.c", facets=lineage(x="d.s.x", y="d.s.a"))],
        ),
    )  # fmt: skip


def edges_of(translation):
    """Return (job, dataset) of each edge of lineage, inputs and outputs apart."""
    found = set()
    for proposal in translation.proposals:
        for operation in proposal.value if proposal.aspect_name == "dataJobInputOutput" else ():
            side, _, dataset_urn = operation["path"][1:].partition("/")
            if side in ("inputDatasetEdges", "outputDatasetEdges"):
                found.add((proposal.entity_urn.rpartition(",")[2][:-1], side[:-12], dataset_urn.split(",")[1]))
    return found


WHOLE = {
    ("etl.load", "input", "d.s.a"), ("etl.load", "input", "d.s.b"), ("etl.load", "output", "d.s.x"),
    ("etl.two", "input", "d.s.x"), ("etl.two", "input", "d.s.a"), ("etl.two", "output", "d.s.c"),
}  # fmt: skip


def collapsed(mode, *events):
    translation = Bridge(Settings(temporary={"dataset_type": mode})).translate(packed(events))
    assert translation.rejected == []
    return translation


@pytest.mark.parametrize(
    "stated",
    [
        STATED,
        {"datasetType": {"datasetType": "JOB_OUTPUT"}},
        {"datasetType": {"datasetType": "temporary"}},
        {"datasetType": {"datasetType": "TABLE", "subType": " Temporary "}},
    ],
)
def test_lineage_runs_through_what_the_facet_calls_temporary(stated):
    for events in (chain(stated, reader=stated), reversed(chain(stated, reader=stated))):
        found = collapsed("collapse", *events)
        assert edges_of(found) == {
            ("etl.load", "input", "d.s.a"), ("etl.load", "input", "d.s.b"),
            ("etl.two", "input", "d.s.a"), ("etl.two", "input", "d.s.b"), ("etl.two", "output", "d.s.c"),
        }  # fmt: skip
        assert "d.s.x" not in repr(found.proposals)


def test_dataset_temporary_only_in_another_run_has_no_edges():
    for events in (chain(STATED), reversed(chain(STATED))):
        found = collapsed("collapse", *events)
        assert {one for one in edges_of(found) if one[0] == "etl.two"} == {
            ("etl.two", "input", "d.s.a"), ("etl.two", "input", "d.s.b"), ("etl.two", "output", "d.s.c"),
        }  # fmt: skip
        assert {p.aspect_name for p in found.proposals if p.entity_urn == urn("d.s.x")} == {"datasetProperties"}


@pytest.mark.parametrize("bag", ["inputFacets", "outputFacets"])
def test_temporary_facet_is_read_from_every_facet_map(bag):
    first, _ = chain({})
    first["outputs"] = [dataset("d.s.x", **{bag: STATED})]
    assert "d.s.x" not in repr(collapsed("collapse", first).proposals)
    assert edges_of(collapsed("drop_edges", first)) == {
        one for one in WHOLE if one[0] == "etl.load" and one[1] == "input"
    }


def test_temporary_dataset_stays_without_edges():
    for events in (chain(STATED), reversed(chain(STATED))):
        found = collapsed("drop_edges", *events)
        assert edges_of(found) == {one for one in WHOLE if one[2] != "d.s.x"}
        fine = [o["path"] for o in operations(found, "dataJobInputOutput") if "fineGrained" in o["path"]]
        assert len(fine) == 1
        assert "d.s.x" not in fine[0]
        about = {p.aspect_name for p in found.proposals if p.entity_urn == urn("d.s.x")}
        assert about == {"datasetProperties", "subTypes", "operation"}
        runs = [p.value for p in found.proposals if p.aspect_name == "dataProcessInstanceInput"]
        assert {"inputs": [urn("d.s.a"), urn("d.s.x")]} in runs


@pytest.mark.parametrize("target", ["dataset", "both"])
def test_no_upstream_of_a_dataset_is_temporary_either(target):
    first, second = chain(STATED)
    settings = Settings(temporary={"dataset_type": "drop_edges"}, column_lineage={"target": target})
    found = Bridge(settings).translate(packed([first, second])).proposals
    lineage_of = {p.entity_urn: repr(p.value) for p in found if p.aspect_name == "upstreamLineage"}
    assert set(lineage_of) == {urn("d.s.c")}
    assert "d.s.x" not in lineage_of[urn("d.s.c")]


@pytest.mark.parametrize(
    "stated", [{}, {"datasetType": {"datasetType": "TABLE"}}, {"datasetType": 7}, {"datasetType": {}}]
)
@pytest.mark.parametrize("mode", ["keep", "drop_edges", "collapse"])
def test_any_other_dataset_is_as_it_was(mode, stated):
    assert edges_of(collapsed(mode, *chain(stated))) == WHOLE


def test_temporary_datasets_are_as_others_by_default():
    assert Settings().temporary.dataset_type == "keep"
    assert edges_of(collapsed("keep", *chain(STATED))) == WHOLE


def test_report_has_the_reason_for_a_dropped_temporary_dataset():
    (first, second) = chain(STATED, reader=STATED)
    report = (
        Bridge(Settings(temporary={"dataset_type": "collapse"})).translate(packed([first, second]), report=True).report
    )
    reasons = {line["path"]: line["reason"] for line in report.lines() if line["path"].startswith("$.outputs[0]")}
    assert {reasons[path] for path in reasons if path.startswith("$.outputs[0].facets.datasetType")} == {
        "policy:temporary"
    }
