"""What a call makes of its events: names, folds, snapshots, SQL, parents, twins, filters, tombstones."""

from __future__ import annotations

from collections import Counter

import pytest
from support.sample_events import (
    AIRFLOW,
    RUN,
    SPARK,
    aspects,
    dataset,
    dataset_event,
    event,
    job_event,
    names,
    one,
    packed,
    properties,
)

from dh_bridge import Bridge, Settings

DPI = f"urn:li:dataProcessInstance:{RUN}"
GREAT_EXPECTATIONS = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/common/src/openlineage/common/provider/great_expectations"
PAIR = {("dataProcessInstance", f"dataProcessInstance{name}") for name in ("Properties", "Relationships")}


def urn(name, platform="postgres"):
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


A, B, C, TMP = (urn(f"d.s.{name}") for name in ("a", "b", "c", "tmp"))


def data(name, **bags):
    return dataset(f"d.s.{name}", **bags)


def at(kind, second, **parts):
    return event(kind, f"2026-11-20T10:00:{second:02}Z", **parts)


def translate_events(*events, **settings):
    translation = Bridge(Settings(**{"datahub_version": "0.15.0", **settings})).translate(packed(events))
    assert (translation.rejected, translation.dead) == ([], [])
    return translation


def job_of(translation, name):
    """Return the URN of the dataJob ``etl.<name>``."""
    (found,) = {
        p.entity_urn for p in translation.proposals if p.entity_type == "dataJob" and p.entity_urn.endswith(f"{name})")
    }
    return found


def edges(translation, side, job=None):
    """Return the datasets of a job's edges, by URN."""
    found = {}
    for operations in aspects(translation, "dataJobInputOutput", job):
        for operation in operations:
            if operation["path"].startswith(f"/{side}DatasetEdges/"):
                found[operation["value"]["destinationUrn"]] = operation["value"]
    return found


# -- without state -------------------------------------------------------------------------------------------------------


def changes(translation):
    """Return how the properties and the relationships of runs are written."""
    return {p.change_type for p in translation.proposals if (p.entity_type, p.aspect_name) in PAIR}


def test_call_without_the_start_creates_run_properties():
    found = translate_events(at("COMPLETE", 9, inputs=[data("a")], outputs=[data("b")]))
    assert names(found) >= PAIR
    assert changes(found) == {"CREATE"}
    assert {"dataProcessInstanceInput", "dataProcessInstanceOutput", "dataProcessInstanceRunEvent"} <= {
        aspect for _, aspect in names(found)
    }
    whole = {p.entity_type for p in found.proposals if p.change_type == "UPSERT" and p.aspect_name.endswith("Info")}
    assert whole == set()


def test_call_with_the_start_sends_all_of_the_run():
    found = translate_events(at("START", 0), at("COMPLETE", 9, outputs=[data("b")]))
    assert names(found) >= PAIR
    own = one(found, "dataProcessInstanceProperties")
    assert own["created"]["time"] == 1795168800000
    assert own["customProperties"]["openlineage.endTime"] == "2026-11-20T10:00:09Z"


def test_producer_that_sends_a_single_event_needs_no_start():
    assert changes(translate_events(at("COMPLETE", 9, producer=GREAT_EXPECTATIONS))) == {"UPSERT"}
    assert changes(translate_events(at("COMPLETE", 9))) == {"CREATE"}


def test_run_without_datasets_has_no_empty_aspect():
    found = translate_events(event("OTHER", inputs=[], outputs=None))
    assert {aspect for _, aspect in names(found)} <= {
        "dataFlowInfo",
        "dataJobInfo",
        "dataPlatformInstance",
        "dataPlatformInfo",
        "dataProcessInstanceProperties",
        "dataProcessInstanceRelationships",
    }


def test_job_type_is_the_platform_despite_job_facets():
    found = translate_events(
        at("START", 0, job_facets={"jobType": {"jobType": "SQL_JOB", "integration": "X", "processingType": "BATCH"}})
    )
    (operations,) = aspects(found, "dataJobInfo")
    assert [o["value"] for o in operations if o["path"] == "/type"] == [{"string": "spark"}]


# -- twins and placeholders ----------------------------------------------------------------------------------------------


def jobs_and_template(*events):
    found = translate_events(*events)
    jobs = {p.entity_urn for p in found.proposals if p.entity_type == "dataJob"}
    return len(jobs), one(found, "dataProcessInstanceRelationships").get("parentTemplate", "").split(":")[2]


def test_flow_level_run_without_datasets_has_no_job():
    assert jobs_and_template(at("START", 0, job="app")) == (0, "dataFlow")


@pytest.mark.parametrize("side", ["inputs", "outputs"])
def test_flow_level_run_with_datasets_belongs_to_the_flow_job(side):
    assert jobs_and_template(at("START", 0, job="app"), at("COMPLETE", 9, job="app", **{side: [data("a")]})) == (
        1,
        "dataJob",
    )


def test_placeholder_datasets_belong_to_the_flow_job():
    stated = (at("START", 0, job="unknown", inputs=[data("a")]), at("COMPLETE", 9, job="app"))
    assert jobs_and_template(*stated) == (1, "dataJob")
    assert set(edges(translate_events(*stated), "input")) == {A}


def test_datasets_only_in_column_lineage_make_a_flow_job():
    lineage = {
        "columnLineage": {
            "fields": {"x": {"inputFields": [{"namespace": "postgres://db:5432", "name": "d.s.a", "field": "y"}]}}
        }
    }
    found = translate_events(at("START", 0, job="app", outputs=[data("b", facets=lineage)]))
    assert set(edges(found, "input")) == {A}
    assert ("dataJob", "dataJobInfo") in names(found)


def test_filtered_datasets_make_no_flow_job():
    deny = {"filters": {"datasets": ["!d.s.*"]}}
    found = translate_events(at("START", 0, job="app", inputs=[data("a")]), **deny)
    assert [p for p in found.proposals if p.entity_type in ("dataJob", "dataset")] == []


def test_for_a_placeholder_name_no_entity_is_written():
    found = translate_events(at("START", 0, job="unknown"), at("COMPLETE", 9, job="unknown", inputs=[data("a")]))
    assert {p.entity_type for p in found.proposals} <= {"dataProcessInstance", "dataset", "dataPlatform"}
    assert one(found, "dataProcessInstanceInput") == {"inputs": [A]}
    assert aspects(found, "dataProcessInstanceRelationships") == []


def test_placeholder_facets_go_to_every_job_of_the_run():
    found = translate_events(
        at("START", 0, job="unknown", inputs=[data("a")], job_facets={"documentation": {"description": "text"}}),
        at("RUNNING", 5, job="etl.one"),
        at("COMPLETE", 9, job="etl.two", outputs=[data("b")]),
    )
    one_, two = (job_of(found, name) for name in ("one", "two"))
    assert (set(edges(found, "input", one_)), set(edges(found, "output", one_))) == ({A}, set())
    assert (set(edges(found, "input", two)), set(edges(found, "output", two))) == ({A}, {B})
    for job in (one_, two):
        assert {"op": "add", "path": "/description", "value": "text"} in one(found, "dataJobInfo", job)
    assert one(found, "dataProcessInstanceRelationships")["parentTemplate"] == two


def test_each_named_event_s_facets_belong_to_its_own_job():
    found = translate_events(
        at("START", 0, job="etl.one", job_facets={"documentation": {"description": "first"}}),
        at("COMPLETE", 9, job="etl.two", job_facets={"documentation": {"description": "second"}}),
    )
    for name, text in (("one", "first"), ("two", "second")):
        assert {"op": "add", "path": "/description", "value": text} in one(found, "dataJobInfo", job_of(found, name))


# -- snapshots -----------------------------------------------------------------------------------------------------------

SNAPSHOT = {"jobType": {"emissionPattern": {"eventContentMode": "COMPLETE_SNAPSHOT"}, "integration": "X"}}


def test_inputs_and_outputs_accumulate():
    found = translate_events(
        at("START", 0, inputs=[data("a")]), at("COMPLETE", 9, inputs=[data("b")], outputs=[data("c")])
    )
    assert (set(edges(found, "input")), set(edges(found, "output"))) == ({A, B}, {C})


def test_topic_list_is_split_and_other_entries_are_kept():
    fields = {"schema": {"fields": [{"name": "id", "type": "INT"}]}}
    several = dataset("orders;returns", "kafka://b:9092", facets=fields)
    found = translate_events(
        at("COMPLETE", 9, inputs=[several, dataset("all", "food;drink", facets={"x": 1})], outputs=[data("c")])
    )
    topics = {urn("orders", "kafka"), urn("returns", "kafka")}
    assert set(edges(found, "input")) == {*topics, urn("food;drink/all", "unknown")}
    assert {p.entity_urn for p in found.proposals if p.aspect_name == "schemaMetadata"} == topics


def test_snapshot_replaces_inputs_and_outputs_separately():
    found = translate_events(
        at("START", 0, inputs=[data("a")], outputs=[data("b")], job_facets=SNAPSHOT),
        at("RUNNING", 5, inputs=[data("c")], outputs=[], job_facets=SNAPSHOT),
        at("COMPLETE", 9, inputs=None, job_facets=SNAPSHOT),
    )
    assert (set(edges(found, "input")), set(edges(found, "output"))) == ({C}, {B})
    assert one(found, "dataProcessInstanceInput") == {"inputs": [C]}


def test_snapshot_also_removes_column_lineage():
    """Of lineage between columns the same law holds as of inputs and outputs."""

    def made(name, source):
        about = {**data(source), "field": "c"}
        touching = {**about, "transformations": [{"type": "INDIRECT", "subtype": "FILTER"}]}
        return data(name, facets={"columnLineage": {"fields": {"x": {"inputFields": [about]}}, "dataset": [touching]}})

    def columns(mode):
        found = translate_events(
            at("RUNNING", 5, inputs=[data("a")], outputs=[made("b", "a"), made("c", "b")], job_facets=mode),
            at("COMPLETE", 9, inputs=[data("b")], outputs=[made("c", "b")], job_facets=mode),
        )
        paths = [operation["path"].split("/") for operation in one(found, "dataJobInputOutput")]
        return Counter(steps[1] for steps in paths if steps[1] in ("fineGrainedLineages", "inputDatasetFields"))

    assert columns(None) == {"fineGrainedLineages": 2, "inputDatasetFields": 2}
    assert columns(SNAPSHOT) == {"fineGrainedLineages": 1, "inputDatasetFields": 1}


# -- SQL -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stated", "retained"),
    [
        (("select 1", "select 1, 2"), "select 1, 2"),
        (("select 1, 2", "select 1"), "select 1, 2"),
        (("select 1, 2", "select 3"), "select 3"),
        (("select 1, 2", "select 1, 3", "select 1"), "select 1, 3"),
    ],
)
def test_sql_of_a_run_is_the_longest_continuation(stated, retained):
    found = translate_events(
        *(at("RUNNING", n, job_facets={"sql": {"query": text}}) for n, text in enumerate(stated)), datahub_version="1.7"
    )
    assert one(found, "dataTransformLogic")["transforms"] == [
        {"queryStatement": {"value": retained, "language": "SQL"}}
    ]


def test_sql_of_the_last_run_is_the_job_s():
    found = translate_events(
        at("START", 0, run="r1", job_facets={"sql": {"query": "select 1"}}),
        at("START", 5, run="r2", job_facets={"sql": {"query": "select 2"}}),
    )
    assert properties(one(found, "dataJobInfo"))["sql.query"] == "select 2"


# -- parents -------------------------------------------------------------------------------------------------------------

OTHER = "01a1fbd4-f500-7934-91a3-fb1391ff71ba"


@pytest.mark.parametrize("key", ["parent", "parentRun"])
@pytest.mark.parametrize("bag", ["run_facets", "job_facets"])
def test_parent_facet_is_the_parent_instance_in_any_position(key, bag):
    facet = {key: {"run": {"runId": OTHER}, "job": {"namespace": "ns", "name": "etl"}}}
    found = one(translate_events(at("START", 0, **{bag: facet})), "dataProcessInstanceRelationships")
    assert found["parentInstance"] == f"urn:li:dataProcessInstance:{OTHER}"


@pytest.mark.parametrize("spelt", [RUN, RUN.upper(), f"urn:uuid:{RUN}"])
def test_run_is_not_its_own_parent(spelt):
    stated = at(
        "START", 0, run_facets={"parent": {"run": {"runId": spelt}, "job": {"namespace": "ns", "name": "etl.load"}}}
    )
    found = translate_events(stated)
    assert "parentInstance" not in one(found, "dataProcessInstanceRelationships")
    assert "openlineage.root.runId" not in one(found, "dataProcessInstanceProperties")["customProperties"]


def test_later_parent_wins_unless_it_is_a_self_reference():
    def parent(run):
        return {"parent": {"run": {"runId": run}, "job": {"namespace": "ns", "name": "etl"}}}

    found = translate_events(at("START", 0, run_facets=parent("11111111-1111-4111-8111-111111111111")),
                 at("RUNNING", 1, run_facets=parent(OTHER)), at("COMPLETE", 9, run_facets=parent(RUN)))  # fmt: skip
    assert one(found, "dataProcessInstanceRelationships")["parentInstance"].endswith(OTHER)


def test_no_stub_is_written_for_a_parent():
    found = translate_events(
        at("START", 0, run_facets={"parent": {"run": {"runId": OTHER}, "job": {"namespace": "ns", "name": "par"}}})
    )
    assert {p.entity_urn for p in found.proposals if p.entity_type == "dataProcessInstance"} == {DPI}


# -- what cannot be taken back -------------------------------------------------------------------------------------------


def lifecycle(word, kind="COMPLETE"):
    return translate_events(
        at(kind, 9, outputs=[data("a", facets={"lifecycleStateChange": {"lifecycleStateChange": word}})])
    )


def test_dataset_is_removed_only_by_a_drop_of_a_finished_run():
    assert one(lifecycle("DROP"), "status", A) == {"removed": True}
    for found in (lifecycle("TRUNCATE"), lifecycle("ALTER"), lifecycle("DROP", "FAIL"), lifecycle("DROP", "START")):
        assert aspects(found, "status") == []


def test_status_is_never_sent_to_revive_what_somebody_removed():
    found = translate_events(at("START", 0), at("COMPLETE", 9, inputs=[data("a")], outputs=[data("b")]))
    assert aspects(found, "status") == []


@pytest.mark.parametrize(("bag", "entity"), [("job", "dataJob"), ("dataset", "dataset")])
def test_tombstone_removes_a_description(bag, entity):
    def stated(second, facet):
        parts = (
            {"job_facets": {"documentation": facet}}
            if bag == "job"
            else {"outputs": [data("a", facets={"documentation": facet})]}
        )
        return at("RUNNING", second, **parts)

    gone, text = {"_deleted": True}, {"description": "text"}
    for events, left in (((stated(1, text), stated(2, gone)), "remove"), ((stated(1, gone), stated(2, text)), "add")):
        found = translate_events(*events)
        (operations,) = aspects(found, f"{entity}Info" if entity == "dataJob" else "datasetProperties")
        assert [o["op"] for o in operations if o["path"] == "/description"] == [left]


def test_absent_or_null_facet_removes_nothing():
    found = translate_events(
        at("START", 0, job_facets={"documentation": {"description": "text"}}),
        at("COMPLETE", 9, job_facets={"documentation": None}),
    )
    assert {"op": "add", "path": "/description", "value": "text"} in one(found, "dataJobInfo")


# -- edges ---------------------------------------------------------------------------------------------------------------


def test_edge_created_by_first_run_and_modified_by_ended_runs():
    found = translate_events(
        at("START", 1, run="r1", outputs=[data("a")]), at("COMPLETE", 2, run="r1"),
        at("START", 3, run="r2"), at("COMPLETE", 5, run="r2", outputs=[data("a")]),
        at("START", 8, run="r3", outputs=[data("a"), data("b")]),
    )  # fmt: skip
    found = edges(found, "output")
    base = 1795168800000
    assert [(found[A][key]["time"] - base) // 1000 for key in ("created", "lastModified")] == [1, 5]
    assert (found[B]["created"]["time"] - base, "lastModified" in found[B]) == (8000, False)


def test_edge_statistics_are_those_of_the_last_ended_run():
    def rows(count):
        return [data("a", outputFacets={"outputStatistics": {"rowCount": count}})]

    found = translate_events(
        at("START", 1, run="r1"), at("COMPLETE", 2, run="r1", outputs=rows(7)),
        at("START", 3, run="r2"), at("COMPLETE", 5, run="r2", outputs=rows(3)),
        at("START", 8, run="r3", outputs=rows(9)),
    )  # fmt: skip
    assert edges(found, "output")[A]["properties"] == {"openlineage.outputStatistics.rowCount": "3"}


def test_statistics_within_a_run_keep_the_maximum():
    def counted(second, kind, count):
        return at(kind, second, outputs=[data("a", outputFacets={"outputStatistics": {"rowCount": count}})])

    found = translate_events(counted(0, "START", 0), counted(9, "COMPLETE", 5), counted(5, "RUNNING", 8))
    assert one(found, "operation", A)["numAffectedRows"] == 8


# -- job and dataset events ----------------------------------------------------------------------------------------------


def test_job_event_writes_job_edges_and_datasets_but_no_run():
    found = translate_events(
        job_event(inputs=[data("a")], outputs=[data("b")], job_facets={"documentation": {"description": "text"}})
    )
    assert {p.entity_type for p in found.proposals} - {"dataPlatform"} == {"dataFlow", "dataJob", "dataset"}
    assert aspects(found, "operation") == []
    assert (set(edges(found, "input")), set(edges(found, "output"))) == ({A}, {B})
    own = properties(one(found, "dataJobInfo"))
    assert (own["producer"], own["job.name"]) == (SPARK, "etl.load")
    assert own["schemaURL"].endswith("JobEvent")


def test_later_job_event_determines_the_edge_properties():
    def designed(second, count):
        output = data("a", outputFacets={"outputStatistics": {"rowCount": count}})
        return job_event(f"2026-11-20T10:00:{second:02}Z", outputs=[output])

    for events in ((designed(1, 1), designed(2, 2)), (designed(2, 2), designed(1, 1))):
        assert edges(translate_events(*events), "output")[A]["properties"] == {
            "openlineage.outputStatistics.rowCount": "2"
        }


def test_dataset_event_writes_its_dataset_alone():
    facets = {
        "schema": {"fields": [{"name": "id", "type": "int"}]},
        "ownership": {"owners": [{"name": "team:data", "type": "OWNER"}]},
        "tags": {"tags": [{"key": "pii", "value": "true", "source": "s"}]},
        "lifecycleStateChange": {"lifecycleStateChange": "DROP"},
        "dataQualityMetrics": {"rowCount": 3},
    }
    found = translate_events(dataset_event(data("a", facets=facets)))
    assert {p.entity_type for p in found.proposals} == {"dataset", "tag"}
    assert {aspect for kind, aspect in names(found) if kind == "dataset"} == {
        "datasetProperties", "schemaMetadata", "ownership", "globalTags", "status", "datasetProfile",
    }  # fmt: skip
    assert properties(one(found, "datasetProperties"))["producer"] == SPARK
    assert one(found, "datasetProfile")["timestampMillis"] == 1795168800000


def test_column_lineage_of_a_dataset_event_is_upstream_lineage():
    lineage = {
        "columnLineage": {
            "fields": {"x": {"inputFields": [{"namespace": "postgres://db:5432", "name": "d.s.a", "field": "y"}]}}
        }
    }
    found = translate_events(dataset_event(data("b", facets=lineage)))
    operations = one(found, "upstreamLineage", B)
    assert [o["value"]["dataset"] for o in operations if o["path"].startswith("/upstreams/")] == [A]
    assert len([o for o in operations if o["path"].startswith("/fineGrainedLineages/")]) == 1


# -- filters -------------------------------------------------------------------------------------------------------------

FILTERS = {
    "job names": ({"jobs": ["!tmp*"]}, [event(job="tmp.x"), event(job="etl.x")], {"jobs: !tmp*": 1}),
    "jobs that no pattern allows": ({"jobs": ["etl*"]}, [event(job="tmp.x"), event()], {"jobs: no pattern matches": 1}),
    "job namespaces": ({"jobs": ["!dev/*"]}, [event(namespace="dev"), event()], {"jobs: !dev/*": 1}),
    "producers": ({"producers": ["!*airflow*"]}, [event(producer=AIRFLOW), event()], {"producers: !*airflow*": 1}),
    "types of events": ({"event_types": ["!RUNNING"]}, [event("running"), event()], {"event_types: !RUNNING": 1}),
    "dataset names": (
        {"datasets": ["!d.s.t*"]}, [event(inputs=[data("tmp"), data("a")])], {"datasets: !d.s.t*": 1},
    ),
    "dataset namespaces": (
        {"datasets": ["!s3://*"]},
        [event(inputs=[dataset("x", "s3://b"), data("a")])],
        {"datasets: !s3://*": 1},
    ),
    "facets": ({"facets": ["!spark*"]}, [event(run_facets={"sparky": {"a": 1}, "b": {}})], {"facets: !spark*": 1}),
}  # fmt: skip


@pytest.mark.parametrize("case", FILTERS)
def test_filter_drops_matching_names_and_counts_by_rule(case):
    filters, events, dropped = FILTERS[case]
    found = translate_events(*events, filters=filters)
    assert found.counts.filtered == dropped
    assert found.counts.events == len(events)
    text = repr(found.proposals)
    assert not any(word in text for word in ("tmp", "dev", "sparky", "s3"))
    assert found.proposals


def test_filter_of_jobs_leaves_dataset_events_alone():
    found = translate_events(dataset_event(data("a")), filters={"jobs": ["!*"], "event_types": ["!*"]})
    assert ("dataset", "datasetProperties") in names(found)


def through(*events):
    return translate_events(*events, temporary={"datasets": ["d.s.tmp*"]})


def test_temporary_dataset_is_collapsed_within_and_across_jobs():
    first = at("COMPLETE", 1, run="r1", job="etl.one", inputs=[data("a")], outputs=[data("tmp")])
    second = at("COMPLETE", 2, run="r2", job="etl.two", inputs=[data("tmp"), data("c")], outputs=[data("b")])
    for events in ((first, second), (second, first)):
        found = through(*events)
        assert set(edges(found, "input", job_of(found, "two"))) == {A, C}
        assert set(edges(found, "output", job_of(found, "two"))) == {B}
        assert (
            set(edges(found, "input", job_of(found, "one"))),
            set(edges(found, "output", job_of(found, "one"))),
        ) == ({A}, set())
        assert TMP not in repr(found.proposals)
        assert found.counts.filtered == {"temporary": 2}


def test_chain_and_cycle_of_temporary_datasets_are_collapsed():
    def step(number, reads, writes):
        return at(
            "COMPLETE", number, run=f"r{number}", job=f"etl.j{number}", inputs=[data(reads)], outputs=[data(writes)]
        )

    found = through(step(1, "a", "tmp1"), step(2, "tmp1", "tmp2"), step(3, "tmp2", "tmp1"), step(4, "tmp2", "b"))
    assert set(edges(found, "input", job_of(found, "j4"))) == {A}
    assert "d.s.tmp" not in repr(found.proposals)


def test_columns_of_temporary_datasets_are_forgotten():
    def lineage(source):
        return {
            "columnLineage": {
                "fields": {"x": {"inputFields": [{"namespace": "postgres://db:5432", "name": source, "field": "y"}]}}
            }
        }

    found = through(
        at("COMPLETE", 1, run="r1", inputs=[data("a")], outputs=[data("tmp", facets=lineage("d.s.a"))]),
        at("COMPLETE", 2, run="r2", inputs=[data("tmp")], outputs=[data("b", facets=lineage("d.s.tmp"))]),
    )
    assert "fineGrainedLineages" not in repr(found.proposals)
    assert set(edges(found, "output")) == {B}


# -- leniency inside facets ----------------------------------------------------------------------------------------------


def test_facet_of_the_right_kind_wins_over_a_misplaced_one():
    wrong = at("START", 0, run_facets={"sql": {"query": "select 1"}}, job_facets={"errorMessage": {"message": "boom"}})
    found = translate_events(wrong)
    assert properties(one(found, "dataJobInfo"))["sql.query"] == "select 1"
    assert one(found, "dataProcessInstanceProperties")["customProperties"]["openlineage.errorMessage.message"] == "boom"
    both = at("START", 0, run_facets={"sql": {"query": "select 1"}}, job_facets={"sql": {"query": "select 2"}})
    assert properties(one(translate_events(both), "dataJobInfo"))["sql.query"] == "select 2"


def test_input_facet_assertions_win_over_dataset_facets():
    """dbt-ol writes the same checks into both, and what it measured only here."""
    bare = {"assertion": "unique", "success": False, "column": "id", "name": "u", "severity": "error"}
    stated = data("a", facets={"dataQualityAssertions": {"assertions": [bare]}},
                inputFacets={"dataQualityAssertions": {"assertions": [{**bare, "actual": "3", "expected": "0"}]}})  # fmt: skip
    found = translate_events(at("START", 0), at("FAIL", 9, inputs=[stated]))
    assert one(found, "assertionRunEvent")["result"]["nativeResults"]["actual"] == "3"


@pytest.mark.parametrize("odd", ["text", 5, [], None, True, "<<non-serializable: x>>"])
def test_facet_that_is_no_object_is_absent_and_the_others_stay(odd):
    facets = {"schema": odd, "documentation": odd, "anything": odd, "storage": {"storageLayer": "delta"}}
    found = translate_events(
        at(
            "START",
            0,
            inputs=[data("a", facets=facets)],
            run_facets={"parent": odd, "tags": odd},
            job_facets={"sql": odd},
        )
    )
    assert properties(one(found, "datasetProperties"))["storage.storageLayer"] == "delta"
    assert aspects(found, "schemaMetadata") == []


def test_numbers_as_text_and_text_as_numbers_are_read():
    statistics = {"outputStatistics": {"rowCount": "42", "size": 7.0}}
    found = translate_events(at("START", 0), at("COMPLETE", 9, outputs=[data("a", outputFacets=statistics)]))
    assert one(found, "operation", A)["numAffectedRows"] == 42


def test_unknown_leaves_of_a_known_facet_are_kept():
    found = translate_events(
        at("START", 0, run_facets={"processing_engine": {"version": "3", "mood": {"now": "fine"}}})
    )
    own = one(found, "dataProcessInstanceProperties")["customProperties"]
    assert own["openlineage.processing_engine.mood"] == '{"now":"fine"}'


# -- points of one millisecond -------------------------------------------------------------------------------------------


def test_ends_in_one_millisecond_leave_one_operation_and_result():
    check = {"dataQualityAssertions": {"assertions": [{"assertion": "unique", "success": True, "column": "id"}]}}
    found = translate_events(
        event("START", "2026-11-20T10:00:00Z", inputs=[data("a", inputFacets=check)], outputs=[data("b")]),
        event("FAIL", "2026-11-20T10:00:01.0001Z"),
        event("COMPLETE", "2026-11-20T10:00:01.0002Z"),
        event("COMPLETE", "2026-11-20T10:00:02Z"),
    )
    base = 1795168800000
    for aspect in ("operation", "assertionRunEvent", "dataProcessInstanceRunEvent"):
        times = sorted(value["timestampMillis"] - base for value in aspects(found, aspect))
        assert times == ([0, 1000, 2000] if "RunEvent" in aspect and "assertion" not in aspect else [1000, 2000])


def test_run_in_two_spellings_of_its_id_is_one_run_with_one_id():
    found = translate_events(at("START", 0, run=RUN.upper()), at("COMPLETE", 9, run=f"{{{RUN}}}", outputs=[data("a")]))
    assert {p.entity_urn for p in found.proposals if p.entity_type == "dataProcessInstance"} == {DPI}
    assert one(found, "operation", A)["customProperties"]["openlineage.runId"] == RUN
    assert found.counts.runs == 1


@pytest.mark.parametrize(("heartbeat", "count"), [("hour", 3), ("day", 1), ("off", 0)])
def test_streaming_run_has_an_event_for_each_hour(heartbeat, count):
    facets = {"jobType": {"processingType": "STREAMING", "integration": "FLINK"}}
    stated = [
        event("RUNNING", f"2026-11-20T{hour}:{minute}:00Z", job_facets=facets)
        for hour in (10, 11, 12)
        for minute in (10, 50)
    ]
    found = translate_events(*stated, runs={"heartbeat": heartbeat})
    assert len(aspects(found, "dataProcessInstanceRunEvent")) == count


@pytest.mark.parametrize("listed", [False, True], ids=["only mentioned", "listed too"])
def test_filtered_dataset_is_also_left_out_of_column_lineage(listed):
    lineage = {
        "columnLineage": {
            "fields": {
                "x": {
                    "inputFields": [
                        {"namespace": "postgres://db:5432", "name": name, "field": "y"} for name in ("d.s.tmp", "d.s.a")
                    ]
                }
            },
            "dataset": [{"namespace": "postgres://db:5432", "name": "d.s.tmp", "field": "z"}],
        }
    }
    stated = at("COMPLETE", 9, inputs=[data("tmp")] if listed else [], outputs=[data("b", facets=lineage)])
    for asked in ({"filters": {"datasets": ["!d.s.tmp"]}}, {"temporary": {"datasets": ["d.s.tmp"]}}):
        found = translate_events(stated, **asked)
        assert "d.s.tmp" not in repr(found.proposals)
        assert set(edges(found, "input")) == {A}
        assert sum(found.counts.filtered.values()) == int(listed)


def test_facet_cache_is_separate_for_each_configuration():
    lineage = {
        "columnLineage": {
            "fields": {"x": {"inputFields": [{"namespace": "postgres://db:5432", "name": "d.s.a", "field": "y"}]}}
        }
    }
    stated = at("COMPLETE", 9, outputs=[data("b", facets=lineage)])
    assert set(edges(translate_events(stated), "input")) == {A}
    assert set(edges(translate_events(stated, filters={"datasets": ["!d.s.a"]}), "input")) == set()
    assert set(edges(translate_events(stated, naming={"env": "DEV"}), "input")) == {A.replace("PROD", "DEV")}
