"""A PATCH adds and removes only what the server's templates know, with values that the schema takes."""

from __future__ import annotations

import pytest
from support.oracles import judged

from dh_bridge.datahub import patch_paths, patches, schemas
from dh_bridge.datahub.patch_paths import TEMPLATES
from dh_bridge.datahub.profiles import known_profiles, profile
from dh_bridge.datahub.proposal import patch

S3 = "urn:li:dataset:(urn:li:dataPlatform:s3,bucket/orders,PROD)"
TABLE = "urn:li:dataset:(urn:li:dataPlatform:postgres,db.public.orders,PROD)"
FLOW = "urn:li:dataFlow:(airflow,orders,prod)"
JOB = f"urn:li:dataJob:({FLOW},load)"
URNS = {"dataset": TABLE, "dataJob": JOB, "dataFlow": FLOW}
TAG, TERM, USER = "urn:li:tag:a/b", "urn:li:glossaryTerm:money", "urn:li:corpuser:jo"
DOWN, UP = f"urn:li:schemaField:({TABLE},id)", f"urn:li:schemaField:({S3},id)"
STAMP = {"time": 1, "actor": USER}


def quoted(step):
    return step.replace("~", "~0").replace("/", "~1")


def add(value, *steps):
    return {"op": "add", "path": "".join(f"/{quoted(step)}" for step in steps), "value": value}


def remove(*steps):
    return {"op": "remove", "path": "".join(f"/{quoted(step)}" for step in steps)}


NAME, TYPE = add("load", "name"), add({"string": "COMMAND"}, "type")
FIELD = add("a/b", "editableSchemaFieldInfo", "a/b", "fieldPath")


def finding(entity, aspect, operations, name="0.15.0"):
    return judged(patch(entity, URNS[entity], aspect, operations), profile(name))


SOUND = [
    (
        "dataFlow",
        "dataFlowInfo",
        [NAME, add("d", "description"), add("ns", "project"), add("PROD", "env"), add("v", "customProperties", "a/~b")],
    ),
    (
        "dataJob",
        "dataJobInfo",
        [NAME, TYPE, add(FLOW, "flowUrn"), add("http://x", "externalUrl"), add({"time": 1}, "created")],
    ),
    ("dataJob", "dataJobInfo", [remove("description"), remove("customProperties", "openlineage.old")]),
    (
        "dataJob",
        "dataJobInputOutput",
        [
            add(
                {"destinationUrn": S3, "created": STAMP, "lastModified": STAMP, "properties": {"a": "b"}},
                "inputDatasetEdges",
                S3,
            ),
            add({"destinationUrn": TABLE}, "outputDatasetEdges", TABLE),
            add({"destinationUrn": JOB}, "inputDatajobEdges", JOB),
            add(UP, "inputDatasetFields", UP),
            add(DOWN, "outputDatasetFields", DOWN),
            add({"confidenceScore": 1.0}, "fineGrainedLineages", "DIRECT:IDENTITY", DOWN, "NONE", UP),
            add({"confidenceScore": 1}, "fineGrainedLineages", "NONE", DOWN, "urn:li:query:q", S3),
            remove("fineGrainedLineages", "NONE", DOWN, "NONE", UP),
            remove("inputDatasetEdges", S3),
        ],
    ),
    (
        "dataset",
        "datasetProperties",
        [
            add("orders", "name"),
            add("d", "description"),
            add({"time": 1}, "lastModified"),
            add("v", "customProperties", "k"),
        ],
    ),
    ("dataset", "globalTags", [add({"tag": TAG}, "tags", TAG), remove("tags", "urn:li:tag:old")]),
    ("dataset", "glossaryTerms", [add({"urn": TERM}, "terms", TERM)]),
    ("dataset", "ownership", [add({"owner": USER, "type": "DEVELOPER"}, "owners", USER, "DEVELOPER")]),
    (
        "dataset",
        "upstreamLineage",
        [
            add({"dataset": S3, "type": "TRANSFORMED", "auditStamp": STAMP}, "upstreams", S3),
            add({"confidenceScore": 0.5}, "fineGrainedLineages", "NONE", DOWN, "NONE", UP),
        ],
    ),
    (
        "dataset",
        "editableSchemaMetadata",
        [
            FIELD,
            add({"tag": TAG}, "editableSchemaFieldInfo", "a/b", "globalTags", "tags", TAG),
            add({"urn": TERM}, "editableSchemaFieldInfo", "a/b", "glossaryTerms", "terms", TERM),
        ],
    ),
    ("dataset", "siblings", [add(S3, "siblings", S3), {"op": "add", "path": "/primary", "value": True}]),
    ("dataset", "domains", [add("urn:li:domain:sales", "domains", "urn:li:domain:sales")]),
    (
        "dataset",
        "structuredProperties",
        [
            add(
                {"propertyUrn": "urn:li:structuredProperty:x", "values": [{"string": "a"}]},
                "properties",
                "urn:li:structuredProperty:x",
            )
        ],
    ),
]


@pytest.mark.parametrize(("entity", "aspect", "operations"), SOUND)
@pytest.mark.parametrize("name", known_profiles())
def test_template_shapes_are_accepted_in_every_version(entity, aspect, operations, name):
    assert finding(entity, aspect, operations, name) is None


def test_templates_all_have_a_valid_example():
    assert {aspect for _, aspect, _ in SOUND} == set(TEMPLATES)
    for aspect, shapes in TEMPLATES.items():
        check = patches.PatchCheck(aspect, schemas.aspect_schema("0.15.0", aspect))
        assert sum(map(len, check._paths._shapes.values())) == len(shapes)


def test_no_template_belongs_to_a_timeseries():
    assert not [aspect for aspect in TEMPLATES for name in known_profiles() if profile(name).is_timeseries(aspect)]


DEFECTS = [
    ("dataset", "globalTags", [], "$", "length >= 1"),
    ("dataset", "globalTags", {}, "$", "Expected `array`"),
    ("dataset", "globalTags", ["x"], "$[0]", "Expected `object`"),
    ("dataset", "globalTags", [{"op": "replace", "path": "/x"}], "$[0].op", "'replace'"),
    ("dataset", "globalTags", [{"op": "add"}], "$[0]", "`path`"),
    ("dataset", "globalTags", [{**remove("x"), "from": "/y"}], "$[0]", "unknown field `from`"),
    (
        "dataset",
        "globalTags",
        [{**remove("tags", TAG), "value": {}}],
        "$[0]",
        "an operation with op remove must not have a value",
    ),
    (
        "dataset",
        "globalTags",
        [{"op": "add", "path": "/tags/urn:li:tag:x"}],
        "$[0]",
        "an operation with op add requires a value",
    ),
    ("dataset", "globalTags", [remove("tags")], "$[0]", "has no such path"),
    ("dataset", "globalTags", [remove("tags", "")], "$[0]", "has no such path"),
    ("dataset", "globalTags", [{"op": "remove", "path": "tags/x"}], "$[0]", "no"),
    ("dataset", "globalTags", [{"op": "remove", "path": "/tags/urn:li:tag:a~b"}], "$[0]", "not a JSON pointer"),
    ("dataset", "globalTags", [remove("tags", TERM)], "$[0]", "is not a URN of tag"),
    ("dataset", "globalTags", [remove("tags", TAG), remove("tags", "pii")], "$[1]", "'pii' is not a URN of tag"),
    (
        "dataset",
        "globalTags",
        [add({"tag": "urn:li:tag:x"}, "tags", TAG)],
        "$[0]",
        "expected 'urn:li:tag:a/b', as in the path, for the value's tag",
    ),
    ("dataset", "globalTags", [add({"tag": TAG, "x": 1}, "tags", TAG)], "$[0].value", "unknown field `x`"),
    (
        "dataset",
        "globalTags",
        [add({"tag": TAG}, "tags", TAG), add({"tag": 1}, "tags", TAG)],
        "$[1].value.tag",
        "Expected a URN",
    ),
    ("dataset", "ownership", [add({"owner": USER, "type": "NONE"}, "owners", USER, "BOSS")], "$[0]", "'BOSS'"),
    (
        "dataset",
        "ownership",
        [add({"owner": USER, "type": "NONE"}, "owners", USER, "DEVELOPER")],
        "$[0]",
        "as in the path, for the value's type",
    ),
    ("dataset", "ownership", [add({"owner": USER, "type": "NONE"}, "owners", USER)], "$[0]", "has no such path"),
    ("dataset", "siblings", [add({}, "siblings", S3)], "$[0].value", "Expected a URN"),
    ("dataset", "siblings", [add(TABLE, "siblings", S3)], "$[0]", "as in the path, for the value's text"),
    ("dataset", "datasetProperties", [add({"k": "v"}, "customProperties")], "$[0]", "has no such path"),
    ("dataset", "datasetProperties", [add(7, "customProperties", "k")], "$[0].value", "Expected `str`, got `int`"),
    ("dataset", "datasetProperties", [add("a", "customProperties", "k", "l")], "$[0]", "has no such path"),
    ("dataset", "datasetProperties", [add({"time": "x"}, "created")], "$[0].value.time", "Expected `int`"),
    ("dataJob", "dataJobInputOutput", [add({}, "inputDatasetFields", UP)], "$[0].value", "Expected a URN"),
    (
        "dataJob",
        "dataJobInputOutput",
        [add({}, "fineGrainedLineages", "NONE", TABLE, "NONE", UP)],
        "$[0]",
        "is not a URN of schemaField",
    ),
    (
        "dataJob",
        "dataJobInputOutput",
        [add({}, "fineGrainedLineages", "NONE", DOWN, "q", UP)],
        "$[0]",
        "'q' is not a URN of query",
    ),
    (
        "dataJob",
        "dataJobInputOutput",
        [add({}, "fineGrainedLineages", "NONE", DOWN, "NONE", JOB)],
        "$[0]",
        "URN of dataset or schemaField",
    ),
    (
        "dataJob",
        "dataJobInputOutput",
        [add(1.0, "fineGrainedLineages", "NONE", DOWN, "NONE", UP)],
        "$[0].value",
        "Expected `object`",
    ),
    (
        "dataJob",
        "dataJobInputOutput",
        [add({"confidenceScore": float("nan")}, "fineGrainedLineages", "X", DOWN, "NONE", UP)],
        "$[0].value.confidenceScore",
        "Expected `float`",
    ),
    ("dataJob", "dataJobInfo", [TYPE, add("d", "description")], "$", "must also add /name"),
    ("dataJob", "dataJobInfo", [NAME, add("d", "description")], "$", "must also add /type"),
    ("dataJob", "dataJobInfo", [remove("name"), TYPE, add("d", "description")], "$", "must also add /name"),
    ("dataJob", "dataJobInfo", [NAME, add("COMMAND", "type")], "$[1].value", "an object with one key"),
    ("dataFlow", "dataFlowInfo", [add("d", "description")], "$", "must also add /name"),
    ("dataFlow", "dataFlowInfo", [NAME, add("prod", "env")], "$[1].value", "'prod'"),
    (
        "dataset",
        "editableSchemaMetadata",
        [add({"tag": TAG}, "editableSchemaFieldInfo", "a/b", "globalTags", "tags", TAG)],
        "$",
        "must also add /editableSchemaFieldInfo/a~1b/fieldPath",
    ),
    (
        "dataset",
        "editableSchemaMetadata",
        [add("b", "editableSchemaFieldInfo", "a/b", "fieldPath")],
        "$[0]",
        "expected 'a/b', as in the path, for the value's text",
    ),
]


@pytest.mark.parametrize(("entity", "aspect", "operations", "where", "what"), DEFECTS)
def test_defect_is_named_with_its_operation(entity, aspect, operations, where, what):
    found = finding(entity, aspect, operations)
    assert found.startswith(f"{entity}/{aspect} {where}: ")
    assert what in found


@pytest.mark.parametrize(
    "aspect", ["subTypes", "schemaMetadata", "status", "institutionalMemory", "operation", "datasetKey"]
)
def test_aspect_without_a_template_rejects_patches(aspect):
    assert "does not support PATCH" in finding("dataset", aspect, [remove("x")])


def test_removals_alone_need_no_name_and_no_key():
    assert finding("dataFlow", "dataFlowInfo", [remove("description")]) is None
    path = ("editableSchemaFieldInfo", "a", "globalTags", "tags", TAG)
    assert finding("dataset", "editableSchemaMetadata", [remove(*path)]) is None


def test_cache_size_is_bounded(monkeypatch):
    monkeypatch.setattr(patch_paths, "_MAX_CACHED_PATHS", 5)
    check = patches.PatchCheck("globalTags", schemas.aspect_schema("1.7", "globalTags"))
    check([remove("tags", f"urn:li:tag:{at}") for at in range(20)])
    assert len(check._paths) <= 5


def test_field_that_a_version_lacks_has_no_shape_there():
    bare = {"type": "record", "name": "Bare", "namespace": "x", "fields": [{"name": "name", "type": "string"}]}
    check = patches.PatchCheck("datasetProperties", bare)
    check([add("orders", "name")])
    with pytest.raises(ValueError, match="has no such path"):
        check([add("d", "description")])
    with pytest.raises(ValueError, match="has no such path"):
        patches.PatchCheck("upstreamLineage", bare)([remove("fineGrainedLineages", "NONE", DOWN, "NONE", UP)])
