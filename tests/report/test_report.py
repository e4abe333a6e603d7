"""The field report has every field once, and is true."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from support.report_truth import OUTCOMES, bridge, reported
from support.sample_events import corpus, dataset, dataset_event, event, examples, job_event, packed

from dh_bridge import Bridge, Settings
from dh_bridge.model.trace import Trace
from dh_bridge.openlineage.read import events_of
from dh_bridge.report.reasons import find_reason
from dh_bridge.report.report import Report

# -- each leaf once ----------------------------------------------------------------------------------------------------


def walked(value):
    """Count the leaves of a JSON value, by another walk than the report's."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(walked, members)) if members else 1


@pytest.mark.parametrize("profile", ["0.15.0", "1.7"])
def test_every_field_of_a_real_event_is_reported_once(profile):
    events = (*examples(), *corpus())
    translation = bridge(profile).translate(list(events), report=True)
    lines = list(translation.report.lines())
    places = Counter((line["event"], line["path"]) for line in lines)
    assert [place for place, count in places.items() if count > 1] == []
    expected = Counter()
    for one in events:
        expected[one.location] += walked(json.loads(one.raw))
    assert Counter(line["event"] for line in lines) == expected
    assert {line["outcome"] for line in lines} == OUTCOMES
    reasons = {line["reason"] for line in lines if line["outcome"] == "dropped"}
    assert {reason for reason in reasons if find_reason(reason) is None} == set()
    assert all(line["target"] and line["reason"] is None for line in lines if line["outcome"] != "dropped")
    assert all(line["reason"] and line["target"] is None for line in lines if line["outcome"] == "dropped")


def test_counts_are_those_of_the_lines():
    translation = bridge().translate(list(examples()), report=True)
    counts = Counter(line["outcome"] for line in translation.report.lines())
    output, report = translation.counts, translation.report
    assert (output.mapped, output.properties, output.dropped) == (
        counts["mapped"],
        counts["property"],
        counts["dropped"],
    )
    assert (report.mapped, report.properties, report.dropped) == (output.mapped, output.properties, output.dropped)
    assert list(Report().lines()) == []


ODD_LEAVES = {"a.b": 1, "c[0]": {"x": []}, 'd"': None, "": {}, "e f": [[], [[]], {"": "g"}]}


def test_leaf_is_not_compared_with_every_note():
    """Tens of thousands of leaves that end somewhere, as in a column lineage of columns that are not there."""

    class Counted(str):
        __slots__ = ()
        compared = 0

        def __eq__(self, other):
            Counted.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    one = next(events_of(*packed([event(run_facets={"a": {"x": list(range(2_000))}})]), "here"))
    report, trace = Report(), Trace()
    trace.notes += [(Counted(f"$.run.facets.a.x[{number}]"), "secret") for number in range(2_000)]
    report.add(one, trace, None)
    assert report.counts["dropped"] >= 2_000
    assert Counted.compared < 20_000


def test_fields_with_odd_names_or_no_value_are_reported():
    facets = {"odd": ODD_LEAVES, "empty": {}, "text": "t", "null": None}
    stated = event(run_facets=facets, extra={"x": 1}, inputs=[], outputs=None)
    lines = reported([stated])
    assert len(lines) == walked(stated)
    assert '$.run.facets.odd["a.b"]' in lines
    assert {path: lines[path]["reason"] for path in ("$.inputs", "$.outputs", "$.extra.x", "$.run.facets.text")} == {
        "$.inputs": "empty",
        "$.outputs": "empty:null",
        "$.extra.x": "no-field:not part of OpenLineage's envelope",
        "$.run.facets.text": "malformed",
    }


# -- what the table says -------------------------------------------------------------------------------------------------

COMPLETE = event("COMPLETE", "2026-11-20T10:01:00Z")
NOMINAL = {"nominalTime": {"nominalStartTime": "2026-11-20T00:00:00Z", "nominalEndTime": "2026-11-20T00:00:00Z"}}
FIELDS = {"schema": {"fields": [{"name": "id", "type": "int"}, {"name": "x", "type": "int"}]}}
COUNTED = dataset("d.s.t", outputFacets={"outputStatistics": {"fileCount": 4}})
FILES = "$.outputs[0].outputFacets.outputStatistics.fileCount"

TOLD = {
    "a run facet in a call with the START": (event(run_facets=NOMINAL), "$.run.facets.nominalTime.nominalStartTime", "property"),
    "the same without one": (
        event("COMPLETE", run_facets=NOMINAL), "$.run.facets.nominalTime.nominalStartTime", "property",
    ),
    "an end that repeats the start": (
        event(run_facets=NOMINAL), "$.run.facets.nominalTime.nominalEndTime", "duplicate-of:nominalStartTime",
    ),
    "provenance": (event(run_facets={"a": {"_producer": "p", "x": 1}}), "$.run.facets.a._producer", "envelope"),
    "a facet nobody knows": (event(run_facets={"a": {"x": 1}}), "$.run.facets.a.x", "property"),
    "one that is no object": (event(run_facets={"a": "x"}), "$.run.facets.a", "malformed"),
    "one that was not serialized": (event(run_facets={"a": "<<non-serializable: object>>"}), "$.run.facets.a", "non-serializable"),
    "a logical plan": (event(run_facets={"spark_unknown": {"plan": [1]}}), "$.run.facets.spark_unknown.plan[0]", "plan"),
    "what a run that starts did to an output": (event(outputs=[COUNTED]), FILES, "property"),
    "what a run that starts has of its own to say of an output": (
        event(outputs=[dataset("d.s.t", outputFacets={"own": {"x": 4}})]), "$.outputs[0].outputFacets.own.x", "property",
    ),
    "a facet whose name goes on where that of a malformed one ends": (
        event(run_facets={"a": "x", "a.b": {"x": 1}}), '$.run.facets["a.b"].x', "property",
    ),
    "what a run that only runs did to an output": (event("RUNNING", outputs=[COUNTED]), FILES, "property"),
    "a type of a column": (
        event(inputs=[dataset("d.s.t", facets=FIELDS)]), "$.inputs[0].facets.schema.fields[0].type", "mapped",
    ),
    "a placeholder job": (event(job="unknown"), "$.job.name", "no-field:placeholder job"),
    "a run facet of a job event": (
        job_event(job_facets=NOMINAL), "$.job.facets.nominalTime.nominalStartTime", "no-field:no run",
    ),
    "a tombstone": (event(job_facets={"documentation": {"_deleted": True}}), "$.job.facets.documentation._deleted", "mapped"),
    "the producer without a START": (COMPLETE, "$.producer", "property"),
    "the producer of a job event": (job_event(), "$.producer", "property"),
    "the producer of a dataset event": (dataset_event(dataset("d.s.t")), "$.producer", "property"),
    "the run id of a run that only runs": (event("RUNNING"), "$.run.runId", "mapped"),
    "an unreadable leaf of a good facet": (
        event(run_facets={"tags": {"tags": [{"key": {"a": 1}}]}}), "$.run.facets.tags.tags[0].key.a", "malformed",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TOLD)
def test_field_is_reported_with_its_outcome(case):
    stated, path, expected = TOLD[case]
    line = reported([stated])[path]
    assert expected in (line["outcome"], line["reason"])


def test_run_id_maps_to_the_platform_instance_without_creates():
    for version, stated in (
        ("1.7", ("mapped", "dataPlatformInstance.urn", None)),
        ("0.15.0", ("dropped", None, "pending-terminal")),
    ):
        bridge = Bridge(Settings(datahub_version=version))
        bridge.options.can_create = False
        line = reported([event("RUNNING")], bridge)["$.run.runId"]
        assert (line["outcome"], line["target"], line["reason"]) == stated


def test_namespace_of_a_collapsed_operation_maps_to_the_flow():
    settings = Settings(identity={"granularity": "application"})
    line = reported([event(job="app.append_data.orders")], Bridge(settings))["$.job.namespace"]
    assert (line["outcome"], line["target"]) == ("mapped", "dataFlowInfo.project")


def test_dbt_node_fields_map_to_the_operation_in_dbt_mode():
    stated = next(
        json.loads(one.raw)
        for one in examples()
        if "dbt_node" in one.job_facets and one.outputs and one.type == "COMPLETE"
    )
    lines = reported([stated], Bridge(Settings(identity={"mode": "datahub-dbt-source"})))
    found = {path: lines[f"$.{path}"]["target"] for path in ("eventTime", "eventType", "job.namespace", "job.name")}
    named = "operation.customProperties[openlineage.job]"
    assert found == {
        "eventTime": "operation.timestampMillis", "eventType": "operation.operationType",
        "job.namespace": named, "job.name": named,
    }  # fmt: skip


@pytest.mark.parametrize("rule", [{"datasets": ["!d.s.*"]}, {"facets": ["!schema"]}])
def test_filtered_field_is_reported_with_its_rule(rule):
    lines = reported([event(inputs=[dataset("d.s.t", facets=FIELDS)])], Bridge(Settings(filters=rule)))
    assert lines["$.inputs[0].facets.schema.fields[0].name"]["reason"].startswith("filtered:")
    assert lines["$.job.name"]["outcome"] == "mapped"


def test_what_a_pattern_of_temporary_datasets_leaves_out_is_told():
    using = Bridge(Settings(temporary={"datasets": ["d.s.*"]}))
    lines = reported([event(inputs=[dataset("d.s.t", facets=FIELDS)])], using)
    assert lines["$.inputs[0].facets.schema.fields[0].name"]["reason"] == "policy:temporary"
    assert lines["$.job.name"]["outcome"] == "mapped"


def test_fields_of_a_filtered_event_are_reported_with_the_rule():
    using = Bridge(Settings(filters={"jobs": ["!tmp_*"]}))
    stated = [event(job="tmp_x"), event(job="etl")]
    lines = list(using.translate(packed(stated), report=True).report.lines())
    assert {line["reason"] for line in lines if line["event"] == "event[0]"} == {"filtered:jobs: !tmp_*"}
    assert [line for line in lines if line["event"] == "event[1]" and "filtered" in (line["reason"] or "")] == []


def test_fields_dropped_by_version_or_settings_are_reported():
    sql = event(job_facets={"sql": {"query": "select 1"}})
    assert reported([sql], bridge("1.7"))["$.job.facets.sql.query"]["target"] == "dataTransformLogic.transforms"
    assert reported([sql])["$.job.facets.sql.query"]["target"] == "dataJobInfo.customProperties[openlineage.sql.query]"
    using = Bridge(Settings(schema={"write": "outputs"}))
    lines = reported([event(inputs=[dataset("d.s.t", facets=FIELDS)])], using)
    assert lines["$.inputs[0].facets.schema.fields[0].type"]["reason"] == "policy:schema.write"
