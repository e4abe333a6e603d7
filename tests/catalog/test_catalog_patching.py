"""PATCH as DataHub's server applies it; the aspects that result are judged by acryl-datahub's own classes."""

from __future__ import annotations

import json

import pytest
from datahub.emitter.serialization_helper import post_json_transform, pre_json_transform
from datahub.metadata.schema_classes import ASPECT_NAME_MAP
from hypothesis import given
from hypothesis import strategies as st
from support.patch_cases import CASES, ID, ORDERS, RAW_ID, REFUSED, S3, TOTAL, add, column, fine, patched, remove

from dh_bridge.catalog.dump import canonical_aspect
from dh_bridge.catalog.patch_layout import PatchError
from dh_bridge.catalog.patching import AspectDraft
from dh_bridge.catalog.templates import TEMPLATES


@pytest.mark.parametrize(("aspect", "start", "patch", "expected"), CASES.values(), ids=CASES)
def test_patch_result_equals_the_server_result(aspect, start, patch, expected):
    assert patched(aspect, start, patch) == expected


@pytest.mark.parametrize(("aspect", "start", "patch", "expected"), CASES.values(), ids=CASES)
def test_patched_aspect_is_valid_for_datahub_classes(aspect, start, patch, expected):
    stored = patched(aspect, start, patch)
    read = ASPECT_NAME_MAP[aspect].from_obj(post_json_transform(stored))
    assert read.validate()
    assert pre_json_transform(read.to_obj()) == stored == expected


@pytest.mark.parametrize(("aspect", "start", "patch", "expected"), CASES.values(), ids=CASES)
def test_patch_is_idempotent_and_may_be_split_into_operations(aspect, start, patch, expected):
    if aspect == "dataJobInfo":
        patch = [*patch[:2], *patch]  # alone, a first operation cannot give both name and type
        first, *rest = [patch[:2], *([operation] for operation in patch[2:])]
        assert patched(aspect, start, first, *rest) == expected
    else:
        assert patched(aspect, start, *([operation] for operation in patch)) == expected
    again = patched(aspect, expected, patch)
    assert canonical_aspect(aspect, again) == canonical_aspect(aspect, expected)


@pytest.mark.parametrize("aspect", [name for name, template in TEMPLATES.items() if not template.required])
def test_empty_aspect_without_required_fields_is_valid(aspect):
    stored = AspectDraft(aspect, None).value()
    read = ASPECT_NAME_MAP[aspect].from_obj(post_json_transform(stored))
    assert read.validate()
    assert pre_json_transform(read.to_obj()) == stored
    assert canonical_aspect(aspect, stored) is None


@pytest.mark.parametrize(("aspect", "patch", "reason"), REFUSED.values(), ids=REFUSED)
def test_malformed_patch_is_refused_with_its_reason(aspect, patch, reason):
    with pytest.raises(PatchError, match=reason):
        patched(aspect, None, patch)


def test_refused_patch_leaves_nothing_behind():
    draft = AspectDraft("datasetProperties", {"customProperties": {"a": "1"}, "tags": ["x"], "name": "n"})
    before = draft.value()
    with pytest.raises(PatchError):
        draft.apply(
            [
                add("customProperties", "b", value="2"),
                add("customProperties", "a", value="3"),
                remove("tags", "x"),
                add("created", "time", value=1),
                remove("name"),
                {"op": "add", "path": "broken"},
            ]
        )
    assert draft.value() == before
    assert not draft.is_changed


def test_stored_entry_with_two_downstreams_refuses_every_patch():
    stored = {"upstreams": [], "fineGrainedLineages": [fine([RAW_ID], ID) | {"downstreams": [ID, TOTAL]}]}
    with pytest.raises(PatchError, match="requires exactly one downstream"):
        AspectDraft("upstreamLineage", stored)


@pytest.mark.parametrize(
    ("aspect", "paths"),
    [
        ("globalTags", [("tags", "urn:li:tag:no"), ("nothing",), ("tags", "urn:li:tag:no", "deeper", "still")]),
        ("dataJobInputOutput", [("inputDatasetEdges", S3), ("fineGrainedLineages", "NONE", ID, "NONE", RAW_ID)]),
        ("editableSchemaMetadata", [("editableSchemaFieldInfo", "id", "globalTags", "tags", "urn:li:tag:no")]),
        ("dataJobInfo", [("customProperties", "openlineage.k"), ("description",)]),
    ],
)
def test_removing_what_is_absent_changes_nothing(aspect, paths):
    for start in (None, AspectDraft(aspect, None).value()):
        draft = AspectDraft(aspect, start)
        draft.apply([remove(*path) for path in paths])
        assert not draft.is_changed
        assert draft.value() == AspectDraft(aspect, None).value()


def test_inserted_values_are_copied_from_the_patch():
    value = {"destinationUrn": S3, "properties": {"a": "1"}}
    patch = [
        add("inputDatasetEdges", S3, value=value),
        add("inputDatasetEdges", S3, "properties", "b", value="2"),
        add("customThings", value=[{"a": 1}]),
    ]
    before = json.dumps(patch)
    patched("dataJobInputOutput", None, patch, patch)
    assert json.dumps(patch) == before


FIELDS = st.sampled_from([ID, TOTAL, RAW_ID])
OPERATIONS = st.one_of(
    st.builds(column, FIELDS, FIELDS, st.sampled_from("ab")),
    st.builds(lambda urn: add("inputDatasetEdges", urn, value={"destinationUrn": urn}), st.sampled_from([S3, ORDERS])),
    st.builds(lambda word: add("inputDatasetFields", word, value=word), FIELDS),
)


@given(st.lists(OPERATIONS, max_size=8), st.randoms())
def test_patch_additions_commute(operations, random):
    aspect = "dataJobInputOutput"
    shuffled = random.sample(operations, len(operations))
    one = patched(aspect, None, operations)
    assert canonical_aspect(aspect, patched(aspect, None, *([item] for item in shuffled))) == canonical_aspect(
        aspect, one
    )
    assert patched(aspect, one, operations) == one
