"""What DataHub's own patch builders write is understood, the form that names its keys included."""

from __future__ import annotations

import json

from datahub.metadata.schema_classes import (
    EdgeClass,
    FineGrainedLineageClass,
    FineGrainedLineageDownstreamTypeClass,
    FineGrainedLineageUpstreamTypeClass,
    OwnerClass,
    TagAssociationClass,
    UpstreamClass,
)
from datahub.specific.datajob import DataJobPatchBuilder
from datahub.specific.dataset import DatasetPatchBuilder
from support.patch_cases import ANN, JOB, ORDERS, RAW_ID, RAW_SUM, S3, TOTAL, add, fine, patched, remove

from dh_bridge.catalog.patching import AspectDraft
from dh_bridge.catalog.templates import AUDIT_STAMP


def built(builder):
    return [(mcp.aspectName, json.loads(mcp.aspect.value)) for mcp in builder.build()]


def after(builder, aspect, start=None):
    """Apply what DataHub's own patch builder made for an aspect."""
    return patched(aspect, start, *(payload for name, payload in built(builder) if name == aspect))


def test_datahub_s_job_builder_is_understood():
    builder = DataJobPatchBuilder(JOB)
    builder.add_input_dataset(EdgeClass(S3)).add_output_dataset(EdgeClass(ORDERS)).add_input_dataset_field(RAW_ID)
    builder.add_fine_grained_lineage(
        FineGrainedLineageClass(
            FineGrainedLineageUpstreamTypeClass.FIELD_SET,
            FineGrainedLineageDownstreamTypeClass.FIELD,
            upstreams=[RAW_ID, RAW_SUM],
            downstreams=[TOTAL],
            transformOperation="SUM",
            confidenceScore=0.9,
        )
    )
    assert after(builder, "dataJobInputOutput") == {
        "inputDatasets": [],
        "outputDatasets": [],
        "inputDatasetEdges": [{"destinationUrn": S3}],
        "outputDatasetEdges": [{"destinationUrn": ORDERS}],
        "inputDatasetFields": [RAW_ID],
        "fineGrainedLineages": [fine([RAW_ID, RAW_SUM], TOTAL, "SUM", 0.9)],
    }


def test_datahub_s_dataset_builder_is_understood():
    builder = DatasetPatchBuilder(ORDERS)
    builder.add_upstream_lineage(UpstreamClass(S3, "TRANSFORMED")).add_custom_property("a/b", "c")
    builder.for_field("total").add_tag(TagAssociationClass("urn:li:tag:money"))
    assert [one["dataset"] for one in after(builder, "upstreamLineage")["upstreams"]] == [S3]
    assert after(builder, "datasetProperties")["customProperties"] == {"a/b": "c"}
    assert after(builder, "editableSchemaMetadata")["editableSchemaFieldInfo"] == [
        {"fieldPath": "total", "globalTags": {"tags": [{"tag": "urn:li:tag:money"}]}}
    ]


def test_patches_that_name_their_keys_are_understood():
    builder = DatasetPatchBuilder(ORDERS)
    builder.add_tag(TagAssociationClass("urn:li:tag:a")).add_owner(OwnerClass(ANN, "DATAOWNER"))
    assert all("arrayPrimaryKeys" in payload for _, payload in built(builder))
    tags = after(builder, "globalTags", {"tags": [{"tag": "urn:li:tag:b"}]})
    assert tags == {"tags": [{"tag": "urn:li:tag:b"}, {"tag": "urn:li:tag:a"}]}
    assert after(builder, "ownership") == {
        "owners": [{"owner": ANN, "type": "DATAOWNER"}],
        "ownerTypes": {},
        "lastModified": AUDIT_STAMP,
    }
    other = DatasetPatchBuilder(ORDERS).remove_tag("urn:li:tag:a").remove_owner(ANN, "DATAOWNER")
    assert after(other, "globalTags", tags) == {"tags": [{"tag": "urn:li:tag:b"}]}
    assert (
        after(other, "ownership", {"owners": [{"owner": ANN, "type": "DATAOWNER"}], "lastModified": AUDIT_STAMP})[
            "owners"
        ]
        == []
    )


def test_nested_primary_keys_and_changed_array_keys_are_patched():
    source = {"time": 1, "actor": ANN, "source": "urn:li:dataHubAction:x"}
    patch = {
        "arrayPrimaryKeys": {"tags": ["attribution\u241fsource", "tag"], "more": []},
        "patch": [
            add("tags", source["source"], "urn:li:tag:a", value={"tag": "urn:li:tag:a", "attribution": source}),
            add("more", "x", value="x"),
        ],
    }
    assert patched("globalTags", {"tags": [{"tag": "urn:li:tag:b"}]}, patch) == {
        "tags": [{"tag": "urn:li:tag:b"}, {"tag": "urn:li:tag:a", "attribution": source}],
        "more": ["x"],
    }
    unchanged = AspectDraft("globalTags", None)
    unchanged.apply({"arrayPrimaryKeys": {}, "patch": [remove("tags", "urn:li:tag:no")]})
    assert not unchanged.is_changed
