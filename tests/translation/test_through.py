"""Temporary datasets that lineage runs through, also where dataset events tell of upstreams (settings filters.through)."""

from __future__ import annotations

from samples import dataset, dataset_event, event, job_event, packed

from dh_bridge import Bridge, Settings

BRIDGE = Bridge(Settings(filters={"through": ["postgres://db:5432/d.s.tmp*", "staging.*"]}))


def urn(name):
    return f"urn:li:dataset:(urn:li:dataPlatform:postgres,{name},PROD)"


def lineage(**columns):
    fields = {
        column: {"inputFields": [{"namespace": "postgres://db:5432", "name": name, "field": "x"}]}
        for column, name in columns.items()
    }
    return {"columnLineage": {"fields": fields}}


def told(*events):
    translation = BRIDGE.translate(packed(events))
    assert translation.rejected == []
    return translation


def operations(translation, aspect):
    return [o for p in translation.proposals if p.aspect_name == aspect for o in p.value]


def test_a_pattern_is_compared_with_the_name_and_with_namespace_and_name():
    assert BRIDGE.settings.filters.runs_through("postgres://db:5432", "d.s.tmp1")
    assert BRIDGE.settings.filters.runs_through("anything", "staging.a")
    assert not BRIDGE.settings.filters.runs_through("postgres://other:5432", "d.s.tmp1")


def test_upstreams_of_a_dataset_event_run_through_what_a_job_of_the_call_made():
    made = event("COMPLETE", inputs=[dataset("d.s.a"), dataset("d.s.b")], outputs=[dataset("d.s.tmp")])
    upstream = dataset_event(dataset("d.s.c", facets=lineage(x="d.s.tmp", y="d.s.a")))
    for events in ((made, upstream), (upstream, made)):
        found = told(*events)
        edges = {
            o["value"]["dataset"] for o in operations(found, "upstreamLineage") if o["path"].startswith("/upstreams/")
        }
        assert edges == {urn("d.s.a"), urn("d.s.b")}
        assert "d.s.tmp" not in repr(found.proposals)


def test_a_temporary_dataset_that_nobody_made_leaves_no_edge():
    found = told(event("COMPLETE", inputs=[dataset("d.s.tmp")], outputs=[dataset("d.s.c")]))
    paths = [o["path"] for o in operations(found, "dataJobInputOutput")]
    assert [path for path in paths if path.startswith("/inputDatasetEdges")] == []
    assert [p for p in found.proposals if p.aspect_name == "dataProcessInstanceInput"] == []


def test_the_first_time_of_an_edge_is_that_of_the_temporary_one():
    found = told(
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


def test_an_untyped_list_of_columns_of_a_temporary_dataset_is_forgotten():
    schema = {"schema": {"fields": [{"name": "x"}]}}
    found = told(job_event(inputs=[dataset("d.s.tmp", facets=schema), dataset("d.s.a", facets=schema)]))
    fields = [
        o["value"] for o in operations(found, "dataJobInputOutput") if o["path"].startswith("/inputDatasetFields/")
    ]
    assert fields == [f"urn:li:schemaField:({urn('d.s.a')},x)"]


def test_column_lineage_keeps_the_columns_of_lasting_datasets():
    said = event("COMPLETE", outputs=[dataset("d.s.c", facets=lineage(x="d.s.tmp", y="d.s.a"))])
    found = told(said, event("COMPLETE", run="r0", inputs=[dataset("d.s.b")], outputs=[dataset("d.s.tmp")]))
    fine = [o["path"] for o in operations(found, "dataJobInputOutput") if o["path"].startswith("/fineGrainedLineages/")]
    assert len(fine) == 1
    assert "d.s.a" in fine[0]


def test_a_second_call_knows_the_temporary_datasets_that_only_a_facet_mentions():
    said = event("COMPLETE", outputs=[dataset("d.s.c", facets=lineage(x="d.s.tmp", y="d.s.a"))])
    first, second = told(said), told(said)
    assert operations(second, "dataJobInputOutput") == operations(first, "dataJobInputOutput")
    assert not any("d.s.tmp" in o["path"] for o in operations(second, "dataJobInputOutput"))
