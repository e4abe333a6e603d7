"""Which property holds a field, and which fields and properties a proposal writes."""

from __future__ import annotations

import pytest

from dh_bridge.datahub.proposal import patch, upsert
from dh_bridge.report.properties import fields_of, properties_of
from dh_bridge.report.resolve import property_name

NAMES = {"parent.job", "own.a", "own.a.b", "errorMessage.message", "facet.other", "root.job", "own.origin.name"}


@pytest.mark.parametrize(
    ("keys", "path", "expected"),
    [
        (["own"], "a.b", "own.a.b"),
        (["own"], "a.c", "own.a"),
        (["alias", "own"], "a", "own.a"),
        (["parent"], "root.job.name", "root.job"),
        (["parent"], "job.name", "parent.job"),
        (["spark.exception"], "message", "errorMessage.message"),
        (["other"], "x.y", "facet.other"),
        (["own"], "name", None),
        (["own"], "z", None),
    ],
)
def test_property_is_named_by_the_path_of_the_field_or_parent(keys, path, expected):
    assert property_name(NAMES, keys, path.split(".")) == expected


EDGES = patch(
    "dataJob", "urn:j", "dataJobInputOutput",
    [
        {"op": "add", "path": "/inputDatasetEdges/urn:a~1b", "value": {"properties": {"ol.x": "1"}}},
        {"op": "remove", "path": "/outputDatasetEdges/urn:c"},
    ],
)  # fmt: skip
PROPERTY = patch(
    "dataset", "urn:a", "datasetProperties", [{"op": "add", "path": "/customProperties/ol.y~1z", "value": "1"}]
)
WHOLE = upsert(
    "dataFlow", "urn:f", "dataFlowInfo", {"name": "n", "customProperties": {"ol.x": "1"}, "externalUrl": None}
)


def test_edge_properties_are_found_by_edge_and_by_urn():
    assert list(properties_of(EDGES)) == [
        "dataJobInputOutput.inputDatasetEdges[].properties[ol.x]",
        "dataJobInputOutput.inputDatasetEdges[urn:a/b].properties[ol.x]",
    ]


def test_properties_are_found_in_patches_and_full_aspects():
    assert list(properties_of(PROPERTY)) == ["datasetProperties.customProperties[ol.y/z]"]
    assert list(properties_of(WHOLE)) == ["dataFlowInfo.customProperties[ol.x]"]


def test_field_without_a_value_is_not_written():
    assert set(fields_of(WHOLE)) == {"dataFlowInfo.urn", "dataFlowInfo.name", "dataFlowInfo.customProperties"}
    assert set(fields_of(PROPERTY)) == {"datasetProperties.urn", "datasetProperties.customProperties"}
