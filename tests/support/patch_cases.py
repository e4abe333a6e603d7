"""Patches with what the server makes of them, or why it refuses them."""

from __future__ import annotations

from dh_bridge.catalog.patching import AspectDraft
from dh_bridge.catalog.templates import AUDIT_STAMP

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
S3 = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/raw~v1/orders,PROD)"
JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,shop,prod),shop.load)"
ID, TOTAL = f"urn:li:schemaField:({ORDERS},id)", f"urn:li:schemaField:({ORDERS},total)"
RAW_ID, RAW_SUM = f"urn:li:schemaField:({S3},id)", f"urn:li:schemaField:({S3},sum)"
ANN, BOB = "urn:li:corpuser:ann", "urn:li:corpuser:bob"


def esc(segment):
    return segment.replace("~", "~0").replace("/", "~1")


def add(*segments, value):
    return {"op": "add", "path": "/" + "/".join(map(esc, segments)), "value": value}


def remove(*segments):
    return {"op": "remove", "path": "/" + "/".join(map(esc, segments))}


def patched(aspect, start, *patches):
    draft = AspectDraft(aspect, start)
    for patch in patches:
        draft.apply(patch)
    return draft.value()


def fine(upstreams, downstream, operation="NONE", score=1.0, query=None):
    entry = {
        "upstreamType": "FIELD_SET",
        "upstreams": upstreams,
        "downstreamType": "FIELD",
        "downstreams": [downstream],
        "transformOperation": operation,
        "confidenceScore": score,
    }
    return entry | ({"query": query} if query else {})


def column(up, down, operation="NONE", query="NONE", score=1.0):
    return add("fineGrainedLineages", operation, down, query, up, value={"confidenceScore": score})


CASES = {
    "tags are keyed by tag": (
        "globalTags",
        {"tags": [{"tag": "urn:li:tag:a"}]},
        [
            add("tags", "urn:li:tag:b", value={"tag": "urn:li:tag:b"}),
            add("tags", "urn:li:tag:a", value={"tag": "urn:li:tag:a", "context": "x"}),
        ],
        {"tags": [{"tag": "urn:li:tag:a", "context": "x"}, {"tag": "urn:li:tag:b"}]},
    ),
    "an owner may have two types": (
        "ownership",
        {"owners": [{"owner": ANN, "type": "DATAOWNER"}], "lastModified": AUDIT_STAMP, "ownerTypes": {}},
        [add("owners", ANN, "TECHNICAL_OWNER", value={"owner": ANN, "type": "TECHNICAL_OWNER"})],
        {
            "owners": [{"owner": ANN, "type": "DATAOWNER"}, {"owner": ANN, "type": "TECHNICAL_OWNER"}],
            "lastModified": AUDIT_STAMP,
            "ownerTypes": {},
        },
    ),
    "the same owner and type replaces": (
        "ownership",
        {
            "owners": [{"owner": ANN, "type": "CUSTOM", "typeUrn": "urn:li:ownershipType:x"}],
            "lastModified": AUDIT_STAMP,
        },
        [add("owners", ANN, "CUSTOM", value={"owner": ANN, "type": "CUSTOM", "typeUrn": "urn:li:ownershipType:y"})],
        {
            "owners": [{"owner": ANN, "type": "CUSTOM", "typeUrn": "urn:li:ownershipType:y"}],
            "lastModified": AUDIT_STAMP,
            "ownerTypes": {},
        },
    ),
    "removing an owner removes all its types": (
        "ownership",
        {
            "owners": [
                {"owner": ANN, "type": "DATAOWNER"},
                {"owner": ANN, "type": "PRODUCER"},
                {"owner": BOB, "type": "PRODUCER"},
            ],
            "lastModified": AUDIT_STAMP,
        },
        [remove("owners", ANN)],
        {"owners": [{"owner": BOB, "type": "PRODUCER"}], "lastModified": AUDIT_STAMP, "ownerTypes": {}},
    ),
    "edges are keyed by destination, slashes and tildes escaped": (
        "dataJobInputOutput",
        None,
        [
            add("inputDatasetEdges", S3, value={"destinationUrn": S3}),
            add("outputDatasetEdges", ORDERS, value={"destinationUrn": ORDERS}),
            add("inputDatasetEdges", S3, value={"destinationUrn": S3, "properties": {"a": "b"}}),
            add("inputDatajobEdges", JOB, value={"destinationUrn": JOB}),
        ],
        {
            "inputDatasets": [],
            "outputDatasets": [],
            "inputDatasetEdges": [{"destinationUrn": S3, "properties": {"a": "b"}}],
            "outputDatasetEdges": [{"destinationUrn": ORDERS}],
            "inputDatajobEdges": [{"destinationUrn": JOB}],
        },
    ),
    "a value deep in an edge can be patched": (
        "dataJobInputOutput",
        None,
        [
            add("inputDatasetEdges", S3, value={"destinationUrn": S3}),
            add("inputDatasetEdges", S3, "properties", "a", value="b"),
        ],
        {
            "inputDatasets": [],
            "outputDatasets": [],
            "inputDatasetEdges": [{"destinationUrn": S3, "properties": {"a": "b"}}],
        },
    ),
    "fields are words": (
        "dataJobInputOutput",
        {"inputDatasets": [], "outputDatasets": [], "inputDatasetFields": [ID]},
        [
            add("inputDatasetFields", TOTAL, value=TOTAL),
            add("outputDatasetFields", ID, value=ID),
            remove("inputDatasetFields", ID),
        ],
        {"inputDatasets": [], "outputDatasets": [], "inputDatasetFields": [TOTAL], "outputDatasetFields": [ID]},
    ),
    "columns of one downstream become one entry": (
        "dataJobInputOutput",
        None,
        [column(RAW_ID, ID), column(RAW_SUM, TOTAL), column(RAW_ID, TOTAL, score=0.5)],
        {
            "inputDatasets": [],
            "outputDatasets": [],
            "fineGrainedLineages": [fine([RAW_ID], ID), fine([RAW_SUM, RAW_ID], TOTAL, score=0.5)],
        },
    ),
    "an entry without types": (
        "upstreamLineage",
        {
            "upstreams": [],
            "fineGrainedLineages": [
                {"upstreams": [RAW_ID], "downstreams": [ID]},
                {"upstreams": [S3], "downstreams": [TOTAL]},
            ],
        },
        [column(RAW_SUM, ID)],
        {
            "upstreams": [],
            "fineGrainedLineages": [fine([RAW_ID, RAW_SUM], ID), fine([S3], TOTAL) | {"upstreamType": "DATASET"}],
        },
    ),
    "the confidence alone": (
        "upstreamLineage",
        {"upstreams": [], "fineGrainedLineages": [fine([RAW_ID], ID)]},
        [add("fineGrainedLineages", "NONE", ID, "NONE", RAW_ID, "confidenceScore", value=0.25)],
        {"upstreams": [], "fineGrainedLineages": [fine([RAW_ID], ID, score=0.25)]},
    ),
    "elements of one key are one, the later over the earlier": (
        "globalTags",
        {"tags": [{"tag": "urn:li:tag:a", "context": "1"}, {"tag": "urn:li:tag:a", "context": "2"}]},
        [add("tags", "urn:li:tag:b", value={"tag": "urn:li:tag:b"})],
        {"tags": [{"tag": "urn:li:tag:a", "context": "2"}, {"tag": "urn:li:tag:b"}]},
    ),
    "operation and query keep entries apart": (
        "upstreamLineage",
        {"upstreams": [], "fineGrainedLineages": [fine([RAW_ID], ID)]},
        [column(RAW_ID, ID, "SUM"), column(RAW_ID, ID, query="urn:li:query:q")],
        {
            "upstreams": [],
            "fineGrainedLineages": [
                fine([RAW_ID], ID),
                fine([RAW_ID], ID, query="urn:li:query:q"),
                fine([RAW_ID], ID, "SUM"),
            ],
        },
    ),
    "an entry without upstreams goes": (
        "upstreamLineage",
        {"upstreams": [], "fineGrainedLineages": [fine([RAW_ID, RAW_SUM], TOTAL), fine([RAW_ID], ID)]},
        [
            remove("fineGrainedLineages", "NONE", ID, "NONE", RAW_ID),
            remove("fineGrainedLineages", "NONE", TOTAL, "NONE", RAW_ID),
        ],
        {"upstreams": [], "fineGrainedLineages": [fine([RAW_SUM], TOTAL)]},
    ),
    "upstreams are keyed by dataset": (
        "upstreamLineage",
        None,
        [add("upstreams", S3, value={"dataset": S3, "type": "TRANSFORMED", "auditStamp": AUDIT_STAMP})],
        {"upstreams": [{"dataset": S3, "type": "TRANSFORMED", "auditStamp": AUDIT_STAMP}]},
    ),
    "a tag on a column that has none yet": (
        "editableSchemaMetadata",
        None,
        [
            add("editableSchemaFieldInfo", "id", "fieldPath", value="id"),
            add(
                "editableSchemaFieldInfo", "id", "globalTags", "tags", "urn:li:tag:pii", value={"tag": "urn:li:tag:pii"}
            ),
        ],
        {
            "created": AUDIT_STAMP,
            "lastModified": AUDIT_STAMP,
            "editableSchemaFieldInfo": [{"fieldPath": "id", "globalTags": {"tags": [{"tag": "urn:li:tag:pii"}]}}],
        },
    ),
    "a tag on a column in the form of servers after 1.5.0": (
        "editableSchemaMetadata",
        {"editableSchemaFieldInfo": [{"fieldPath": "id", "globalTags": {"tags": [{"tag": "urn:li:tag:a"}]}}]},
        [
            add(
                "editableSchemaFieldInfo", "id", "globalTags", "tags", "urn:li:tag:b", "", value={"tag": "urn:li:tag:b"}
            ),
        ],
        {
            "created": AUDIT_STAMP,
            "lastModified": AUDIT_STAMP,
            "editableSchemaFieldInfo": [
                {"fieldPath": "id", "globalTags": {"tags": [{"tag": "urn:li:tag:a"}, {"tag": "urn:li:tag:b"}]}}
            ],
        },
    ),
    "a column whose path is only in the path": (
        "editableSchemaMetadata",
        None,
        [add("editableSchemaFieldInfo", "a/b~c", "globalTags", "tags", "urn:li:tag:x", value={"tag": "urn:li:tag:x"})],
        {
            "created": AUDIT_STAMP,
            "lastModified": AUDIT_STAMP,
            "editableSchemaFieldInfo": [{"fieldPath": "a/b~c", "globalTags": {"tags": [{"tag": "urn:li:tag:x"}]}}],
        },
    ),
    "a whole column, its tags an array": (
        "editableSchemaMetadata",
        None,
        [
            add(
                "editableSchemaFieldInfo",
                "id",
                value={"fieldPath": "id", "globalTags": {"tags": [{"tag": "urn:li:tag:x"}]}},
            ),
            add("editableSchemaFieldInfo", "id", "globalTags", "tags", "urn:li:tag:y", value={"tag": "urn:li:tag:y"}),
        ],
        {
            "created": AUDIT_STAMP,
            "lastModified": AUDIT_STAMP,
            "editableSchemaFieldInfo": [
                {"fieldPath": "id", "globalTags": {"tags": [{"tag": "urn:li:tag:x"}, {"tag": "urn:li:tag:y"}]}}
            ],
        },
    ),
    "properties one by one": (
        "datasetProperties",
        {"customProperties": {"theirs": "1", "ours": "1"}, "tags": [], "name": "x"},
        [
            add("customProperties", "ours", value="2"),
            add("customProperties", "a/b", value="3"),
            remove("customProperties", "gone"),
            add("description", value="text"),
        ],
        {
            "customProperties": {"theirs": "1", "ours": "2", "a/b": "3"},
            "tags": [],
            "name": "x",
            "description": "text",
        },
    ),
    "a whole map replaces, and can be added to": (
        "datasetProperties",
        {"customProperties": {"old": "1"}, "tags": []},
        [add("customProperties", value={"new": "1"}), add("customProperties", "b", value="2")],
        {"customProperties": {"new": "1", "b": "2"}, "tags": []},
    ),
    "a map that is removed is empty": (
        "datasetProperties",
        {"customProperties": {"old": "1"}, "tags": ["a"]},
        [remove("customProperties"), remove("tags")],
        {"customProperties": {}, "tags": []},
    ),
    "a whole array replaces": (
        "globalTags",
        {"tags": [{"tag": "urn:li:tag:a"}]},
        [add("tags", value=[{"tag": "urn:li:tag:b"}]), add("tags", "urn:li:tag:c", value={"tag": "urn:li:tag:c"})],
        {"tags": [{"tag": "urn:li:tag:b"}, {"tag": "urn:li:tag:c"}]},
    ),
    "replace of what is there": (
        "dataFlowInfo",
        {"customProperties": {}, "name": "a"},
        [{"op": "replace", "path": "/name", "value": "b"}],
        {"customProperties": {}, "name": "b"},
    ),
    "a first patch of a job": (
        "dataJobInfo",
        None,
        [
            add("name", value="load"),
            add("type", value={"string": "COMMAND"}),
            add("customProperties", "openlineage.k", value="v"),
        ],
        {"customProperties": {"openlineage.k": "v"}, "name": "load", "type": {"string": "COMMAND"}},
    ),
    "nulls that another writer stored": (
        "editableSchemaMetadata",
        {
            "created": AUDIT_STAMP,
            "lastModified": AUDIT_STAMP,
            "deleted": None,
            "editableSchemaFieldInfo": [{"fieldPath": "id", "globalTags": None, "description": "x"}],
        },
        [
            remove("deleted", "time"),
            add("editableSchemaFieldInfo", "id", "globalTags", "tags", "urn:li:tag:x", value={"tag": "urn:li:tag:x"}),
        ],
        {
            "created": AUDIT_STAMP,
            "lastModified": AUDIT_STAMP,
            "editableSchemaFieldInfo": [
                {"fieldPath": "id", "description": "x", "globalTags": {"tags": [{"tag": "urn:li:tag:x"}]}}
            ],
        },
    ),
    "siblings": (
        "siblings",
        None,
        [add("siblings", S3, value=S3), add("primary", value=True)],
        {"siblings": [S3], "primary": True},
    ),
    "inputs of a run": (
        "dataProcessInstanceInput",
        {"inputs": [S3]},
        [add("inputs", ORDERS, value=ORDERS)],
        {"inputs": [S3, ORDERS]},
    ),
    "terms": (
        "glossaryTerms",
        None,
        [add("terms", "urn:li:glossaryTerm:t", value={"urn": "urn:li:glossaryTerm:t"})],
        {"terms": [{"urn": "urn:li:glossaryTerm:t"}], "auditStamp": AUDIT_STAMP},
    ),
}


REFUSED = {
    "no list": ("globalTags", {"op": "add"}, "list of operations"),
    "no operation": ("globalTags", ["add"], "expected an object with op, path and value"),
    "unknown op": ("globalTags", [{"op": "move", "path": "/a", "from": "/b"}], "expected add, remove or replace"),
    "no op": ("globalTags", [{"path": "/a", "value": 1}], "expected add, remove or replace"),
    "no path": ("globalTags", [{"op": "add", "value": 1}], "does not start with a slash"),
    "path without slash": ("globalTags", [{"op": "add", "path": "tags/a", "value": {}}], "does not start with a slash"),
    "no value": ("globalTags", [{"op": "add", "path": "/tags/a"}], "requires a value"),
    "element is no object": ("globalTags", [add("tags", "a", value="a")], "expected an object, got str"),
    "array of no objects": ("globalTags", [add("tags", value=["a"])], "got str"),
    "word is no string": ("siblings", [add("siblings", "a", value=["a"])], "expected a string"),
    "words are no array": ("siblings", [add("siblings", value="a")], "array of strings"),
    "below a leaf": ("dataFlowInfo", [add("name", value="a"), add("name", "b", value="c")], "is not an object"),
    "replace of nothing": (
        "dataFlowInfo",
        [{"op": "replace", "path": "/name", "value": "b"}],
        "cannot replace a value that does not exist",
    ),
    "a flow without name": (
        "dataFlowInfo",
        [add("customProperties", "a", value="b")],
        "has no name, which is required",
    ),
    "a job without type": ("dataJobInfo", [add("name", value="b")], "has no type, which is required"),
    "a job without name and type": (
        "dataJobInfo",
        [add("description", value="b")],
        "has no name and type, which is required",
    ),
    "no template": ("schemaMetadata", [add("schemaName", value="b")], "does not support PATCH for schemaMetadata"),
    "column lineage above its keys": (
        "upstreamLineage",
        [add("fineGrainedLineages", "NONE", ID, value=[fine([RAW_ID], ID)])],
        "expected the path /fineGrainedLineages",
    ),
    "two downstreams": (
        "upstreamLineage",
        [add("fineGrainedLineages", value=[fine([RAW_ID], ID) | {"downstreams": [ID, TOTAL]}])],
        "requires exactly one downstream",
    ),
    "column value is no object": (
        "upstreamLineage",
        [add("fineGrainedLineages", "NONE", ID, "NONE", RAW_ID, value=1.0)],
        "expected an object",
    ),
    "keys that are none": ("globalTags", {"arrayPrimaryKeys": ["tags"], "patch": []}, "arrayPrimaryKeys must map"),
}
