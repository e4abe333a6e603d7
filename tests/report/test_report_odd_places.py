"""Facets in locations that they are not made for: the report states where their fields really went."""

from __future__ import annotations

import pytest
from support.report_truth import call, golden, lies, reported, shown
from support.sample_events import dataset, event, job_event

FIELD = {"type": "compare", "left": {"type": "field", "field": "day"}, "right": {"type": "literal", "value": "x"},
         "comparison": "EQUAL"}  # fmt: skip
SCAN = {"snapshotId": 1, "schemaId": 2, "filterDescription": "f", "projectedFieldNames": ["id", "amount"],
        "scanMetrics": {"resultDataFiles": 3, "skippedDataFiles": 4}, "metadata": {"k": "v"}}  # fmt: skip
SUBSETS = {"inputs": {"subset": {"outputCondition": FIELD}}, "outputs": {"subset": {"inputCondition": FIELD}}}
OPAQUE = {"kafkaTopic": {"partitions": 6, "isInternal": False}, "mystery": {"x": "y"}}


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("bag", ["facets", "inputFacets", "outputFacets"])
@pytest.mark.parametrize("side", ["inputs", "outputs"])
@pytest.mark.parametrize("facets", ["scan", "subset", "opaque"])
def test_facet_on_the_wrong_side_is_reported_truthfully(facets, side, bag, whole):
    stated = {"scan": {"icebergScanReport": SCAN}, "subset": SUBSETS[side], "opaque": OPAQUE}[facets]
    for document in (event("COMPLETE", **{side: [dataset("d.s.t", **{bag: stated})]}),
                     job_event(**{side: [dataset("d.s.t", **{bag: stated})]})):  # fmt: skip
        found, tried = lies([(facets, document)], 1, lambda path: "producer" not in path[0], whole=whole, profile="1.7")
        assert found == []
        assert tried["property"] + tried["mapped"] > 2


def test_projected_fields_of_an_output_scan_are_properties():
    output = reported(
        [event("START"), event("COMPLETE", outputs=[dataset("d.s.t", facets={"icebergScanReport": SCAN})])]
    )
    line = output["$.outputs[0].facets.icebergScanReport.projectedFieldNames[0]"]
    assert (line["outcome"], line["target"]) == (
        "property",
        "dataProcessInstanceProperties.customProperties[openlineage.outputs.icebergScanReport]",
    )


@pytest.mark.parametrize("field", [{}, {"field": "x"}])
def test_source_with_dropped_transformations_stays_a_source(field, monkeypatch):
    from dh_bridge import Bridge, Settings  # noqa: PLC0415 - of this test alone

    dropping = Bridge(Settings(column_lineage={"indirect": "drop", "target": "both"}, datahub_version="1.7"))
    monkeypatch.setattr("support.report_truth.bridge", lambda _profile: dropping)
    source = {**dataset("d.s.a"), **field, "type": "DATASET",
              "transformations": [{"type": "INDIRECT", "subtype": "FILTER", "description": "d"}]}  # fmt: skip
    stated = event("COMPLETE", outputs=[dataset("d.s.t", facets={"lineage": {"inputs": [source]}})])
    found, tried = lies([("here", stated)], 1, lambda path: "lineage" in path, whole=True, profile="1.7")
    assert found == []
    assert (tried["mapped"] > 1, tried["dropped"] > 1, tried["property"]) == (True, True, 1 + len(field))


def test_composer_operator_is_kept_as_subtype_or_property():
    stated = event("COMPLETE", job_facets={"gcp_composer_job": {"operator": "BashOperator"}},
                 outputs=[dataset("d.s.t", facets={"datasetType": {"datasetType": "TABLE"}})])  # fmt: skip
    assert lies([("here", stated)], 1, lambda path: "operator" in path, whole=True, profile="1.7")[0] == []


def test_lineage_of_an_unnamed_job_is_reported_on_its_run():
    column = {"type": "JOB", "namespace": "ns", "name": "app.other"}
    table = {**dataset("d.s.a"), "type": "DATASET"}
    stated = event("COMPLETE", job="unknown", outputs=[dataset("d.s.t", facets={"lineage": {"fields": {"a": {"inputs": [column]}}}})],
                 job_facets={"lineage": {"entries": [{"type": "JOB", "inputs": [table]}]}})  # fmt: skip
    found, tried = lies([("here", stated)], 1, lambda path: "inputs" in path, whole=True, profile="1.7")
    assert found == []
    assert (tried["mapped"], tried["property"], tried["dropped"]) == (3, 3, 0)


def spoilt(value, moved, old=(), new=(), *, facets=False):
    """Return an event with an unusable entry before those of each list in its facets; ``moved``: its leaves' old and new paths."""
    if isinstance(value, dict) and value:
        bags = ("facets", "inputFacets", "outputFacets")
        return {
            key: spoilt(one, moved, (*old, key), (*new, key), facets=facets or key in bags)
            for key, one in value.items()
        }
    if isinstance(value, list) and value:
        front = [None] if facets and all(isinstance(one, dict) for one in value) else []
        places = enumerate(value, len(front))
        rest = [spoilt(one, moved, (*old, at - len(front)), (*new, at), facets=facets) for at, one in places]
        return front + rest
    moved[shown(old)] = shown(new)
    return value


def test_unusable_entry_does_not_change_later_report_lines():
    tried = 0
    for name, document in golden():
        moved = {}
        other = spoilt(document, moved)
        before, after = reported(call(document, whole=True)), reported(call(other, whole=True))
        for path, now in moved.items() if other != document else ():
            assert {**after[now], "path": path} == before[path], name
            tried += path != now
    assert tried > 500
