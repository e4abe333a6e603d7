"""The edges of an aspect are those that DataHub's graph index would draw."""

from __future__ import annotations

import pytest

from dh_bridge.datahub.relationships import relationships


@pytest.mark.parametrize(
    ("aspect", "value", "edges"),
    [
        (
            "dataJobInputOutput",
            {
                "inputDatasets": ["d0"],
                "outputDatasets": [],
                "inputDatasetEdges": [{"destinationUrn": "d1"}, {"destinationUrn": "d2"}],
                "outputDatasetEdges": [{"destinationUrn": "d3"}],
                "inputDatajobEdges": [{"destinationUrn": "j"}],
                "fineGrainedLineages": [{"upstreams": ["f1"], "downstreams": ["f2"]}],
            },
            [
                ("Consumes", "d0", "$.inputDatasets[0]"),
                ("Consumes", "d1", "$.inputDatasetEdges[0].destinationUrn"),
                ("Consumes", "d2", "$.inputDatasetEdges[1].destinationUrn"),
                ("Produces", "d3", "$.outputDatasetEdges[0].destinationUrn"),
                ("DownstreamOf", "j", "$.inputDatajobEdges[0].destinationUrn"),
            ],
        ),
        (
            "upstreamLineage",
            {
                "upstreams": [{"dataset": "d"}],
                "fineGrainedLineages": [{"upstreams": ["f1", "f2"], "downstreams": ["f3"]}],
            },
            [
                ("DownstreamOf", "d", "$.upstreams[0].dataset"),
                ("DownstreamOf", "f1", "$.fineGrainedLineages[0].upstreams[0]"),
                ("DownstreamOf", "f2", "$.fineGrainedLineages[0].upstreams[1]"),
            ],
        ),
        (
            "dataProcessInstanceRelationships",
            {"parentTemplate": "t", "parentInstance": "p", "upstreamInstances": ["u"]},
            [
                ("InstanceOf", "t", "$.parentTemplate"),
                ("ChildOf", "p", "$.parentInstance"),
                ("UpstreamOf", "u", "$.upstreamInstances[0]"),
            ],
        ),
        (
            "assertionInfo",
            {"type": "DATASET", "datasetAssertion": {"dataset": "d", "fields": ["f"]}},
            [("Asserts", "d", "$.datasetAssertion.dataset"), ("Asserts", "f", "$.datasetAssertion.fields[0]")],
        ),
        ("globalTags", {"tags": [{"tag": "t"}]}, [("TaggedWith", "t", "$.tags[0].tag")]),
        (
            "ownership",
            {"owners": [{"owner": "o", "type": "NONE", "typeUrn": "y"}]},
            [("OwnedBy", "o", "$.owners[0].owner"), ("ownershipType", "y", "$.owners[0].typeUrn")],
        ),
        ("dataJobKey", {"flow": "f", "jobId": "x"}, [("IsPartOf", "f", "$.flow")]),
        ("container", {"container": "c"}, [("IsPartOf", "c", "$.container")]),
        ("status", {"removed": True}, []),
        ("noSuchAspect", {"a": "urn:li:tag:x"}, []),
    ],
)
def test_relationships_are_extracted_from_an_aspect(aspect, value, edges):
    assert sorted(relationships(aspect, value)) == sorted(edges)


def test_columns_tag_is_the_columns_not_the_tables():
    fields = [{"fieldPath": "a", "globalTags": {"tags": [{"tag": "t"}]}, "glossaryTerms": {"terms": [{"urn": "g"}]}}]
    assert list(relationships("schemaMetadata", {"fields": fields})) == [
        ("SchemaFieldTaggedWith", "t", "$.fields[0].globalTags.tags[0].tag"),
        ("SchemaFieldWithGlossaryTerm", "g", "$.fields[0].glossaryTerms.terms[0].urn"),
    ]


def test_relationships_skip_values_that_are_no_urns():
    assert list(relationships("container", {"container": None})) == []
    assert list(relationships("globalTags", {"tags": {"x": "y"}})) == []
