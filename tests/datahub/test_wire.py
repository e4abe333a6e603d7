"""Aspects as DataHub's doors take them; patches with keys are compared with what acryl-datahub's own builders make."""

from __future__ import annotations

import json

import pytest
from datahub.metadata.schema_classes import GlossaryTermAssociationClass, OwnerClass, TagAssociationClass
from datahub.specific.datajob import DataJobPatchBuilder

from dh_bridge.datahub.generic_aspect import (
    JSON,
    JSON_PATCH,
    PatchForms,
    ascii_json,
    aspect_text,
    keyed_patches,
    patch_value,
    plain_operations,
)
from dh_bridge.datahub.proposal import patch, upsert

JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,shop,prod),load)"
ANN = "urn:li:corpuser:ann"
TAG = "urn:li:tag:a/b"
TERM = "urn:li:glossaryTerm:t"
TYPE = "urn:li:ownershipType:lead"


def built(ask):
    """Return what acryl-datahub's builder makes of one statement."""
    builder = DataJobPatchBuilder(JOB)
    ask(builder)
    return json.loads(builder.build()[0].aspect.value)


@pytest.mark.parametrize(
    ("aspect", "operation", "ask"),
    [
        (
            "globalTags",
            {"op": "add", "path": "/tags/urn:li:tag:a~1b", "value": {"tag": TAG}},
            lambda builder: builder.add_tag(TagAssociationClass(TAG)),
        ),
        (
            "glossaryTerms",
            {"op": "add", "path": f"/terms/{TERM}", "value": {"urn": TERM}},
            lambda builder: builder.add_term(GlossaryTermAssociationClass(TERM)),
        ),
        (
            "ownership",
            {"op": "add", "path": f"/owners/{ANN}/DATAOWNER", "value": {"owner": ANN, "type": "DATAOWNER"}},
            lambda builder: builder.add_owner(OwnerClass(ANN, "DATAOWNER")),
        ),
        (
            "ownership",
            {"op": "add", "path": f"/owners/{ANN}/CUSTOM", "value": {"owner": ANN, "type": "CUSTOM", "typeUrn": TYPE}},
            lambda builder: builder.add_owner(OwnerClass(ANN, "CUSTOM", typeUrn=TYPE)),
        ),
    ],
)
def test_patches_with_keys_are_those_of_datahubs_own_builders(aspect, operation, ask):
    assert patch_value(aspect, [operation], keyed=True) == built(ask)
    assert patch_value(aspect, [operation], keyed=False) == [operation]
    assert plain_operations(aspect, patch_value(aspect, [operation], keyed=True)) == [operation]
    assert plain_operations(aspect, [operation]) == [operation]


def test_keyed_removal_targets_only_unattributed_entries():
    operation = {"op": "remove", "path": f"/owners/{ANN}/DATAOWNER"}
    body = patch_value("ownership", [operation], keyed=True)
    assert body["patch"] == [{"op": "remove", "path": f"/owners/{ANN}/DATAOWNER//"}]


@pytest.mark.parametrize("path", ["/tags", "/other/urn:li:tag:x", "/tags/a/b"])
def test_other_paths_stay_as_they_are(path):
    body = patch_value("globalTags", [{"op": "remove", "path": path}], keyed=True)
    assert body["patch"][0]["path"] == path
    if path != "/tags/a/b":  # nobody knows whether it was ours
        assert plain_operations("globalTags", body)[0]["path"] == path


COLUMN = "/editableSchemaFieldInfo/[version=2.0].a~1b"


def test_tag_of_a_column_ends_in_an_empty_attribution():
    tag = {"op": "add", "path": f"{COLUMN}/globalTags/tags/urn:li:tag:a~1b", "value": {"tag": TAG}}
    key = {"op": "add", "path": f"{COLUMN}/fieldPath", "value": "[version=2.0].a/b"}
    term = {"op": "add", "path": f"{COLUMN}/glossaryTerms/terms/{TERM}", "value": {"urn": TERM}}
    body = patch_value("editableSchemaMetadata", [key, tag, term], keyed=True)
    assert body == [key, {**tag, "path": tag["path"] + "/"}, term]
    assert plain_operations("editableSchemaMetadata", body) == [key, tag, term]
    assert patch_value("editableSchemaMetadata", [key, tag, term], keyed=False) == [key, tag, term]


@pytest.mark.parametrize("aspect", ["dataJobInfo", "editableSchemaMetadata", "upstreamLineage"])
def test_other_aspects_are_patched_without_keys(aspect):
    assert patch_value(aspect, [{"op": "remove", "path": "/x"}], keyed=True) == [{"op": "remove", "path": "/x"}]
    assert plain_operations(aspect, [{"op": "remove", "path": "/x"}]) == [{"op": "remove", "path": "/x"}]


@pytest.mark.parametrize(
    ("version", "keyed"),
    [
        (None, True),
        ("0.15.0", False),
        ("1.4.0.9", False),
        ("1.4", False),
        ("1.5.0", False),
        ("v1.5.0.4", False),
        ("1.5.0.5", True),
        ("1.5", True),
        ("1.5.1", True),
        ("1.7.0.1", True),
    ],
)
def test_patches_are_keyed_after_1_5_0(version, keyed):
    assert keyed_patches(version) is keyed


def test_patch_forms_follow_the_version_unless_observed():
    forms = PatchForms("1.5", {"ownership": False})
    assert [forms.is_keyed("ownership"), forms.is_keyed("globalTags")] == [False, True]


def test_aspect_text_is_ascii_with_the_same_value():
    value = {"name": 'café ☃ 𝄞 " \\ \n', "n": 1.5, "big": 2**53}
    text, kind = aspect_text(upsert("dataset", "urn:li:dataset:x", "datasetProperties", value), keyed=False)
    assert (text.isascii(), json.loads(text), kind) == (True, value, JSON)
    text, kind = aspect_text(
        patch("dataset", "urn:li:dataset:x", "datasetProperties", [{"op": "remove", "path": "/é"}]), keyed=False
    )
    assert (text, kind) == (b'[{"op":"remove","path":"/\\u00e9"}]', JSON_PATCH)


@pytest.mark.parametrize("value", [{"a": "\ud800"}, {"a": object()}])
def test_non_json_values_are_an_error(value):
    with pytest.raises((TypeError, ValueError)):
        ascii_json(value)
