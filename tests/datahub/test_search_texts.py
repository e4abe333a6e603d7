"""Texts that the search index refuses are cut: at its limit, between characters, where they are and nowhere else."""

from __future__ import annotations

import pytest

from dh_bridge.closing import valid_proposals
from dh_bridge.columns import SchemaFacetField, schema_fields, schema_metadata
from dh_bridge.datahub import schemas
from dh_bridge.datahub.patch_paths import TEMPLATES
from dh_bridge.datahub.profiles import known_profiles, profile
from dh_bridge.datahub.proposal import ndjson_line, patch, upsert
from dh_bridge.datahub.search_texts import (
    MAX_TERM_BYTES,
    cut_fields,
    cut_long_texts,
    cut_text,
    is_text,
    is_too_long,
    long_texts,
)
from dh_bridge.datahub.validation import Validator

TABLE = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
RUN = "urn:li:dataProcessInstance:0123456789abcdef0123456789abcdef"
FITS, LONG = "x" * MAX_TERM_BYTES, "x" * (MAX_TERM_BYTES + 1)


def add(path, value):
    return {"op": "add", "path": path, "value": value}


def properties(**texts):
    return patch("dataset", TABLE, "datasetProperties", [add(f"/{field}", text) for field, text in texts.items()])


def written(proposal, version="1.7"):
    rejected = []
    (found,) = valid_proposals([proposal], Validator(profile(version)), rejected)
    assert rejected == []
    return found


@pytest.mark.parametrize("sign", ["x", "é", "€", "😀", "\ud800"])
@pytest.mark.parametrize("more", range(1, 9))
def test_truncated_text_ends_with_its_size_and_fits_the_limit(sign, more):
    text = "ab"[: more % 3] + sign * (MAX_TERM_BYTES // len(sign.encode("utf-8", "surrogatepass")) + more)
    found = cut_text(text)
    size = len(text.encode("utf-8", "surrogatepass"))
    beginning, mark = found.rsplit("…", 1)
    assert mark == f" [cut, {size} bytes]"
    assert text.startswith(beginning)
    assert MAX_TERM_BYTES - 3 <= len(found.encode()) <= MAX_TERM_BYTES or sign == "\ud800"
    assert not is_too_long(found)


def test_text_of_the_maximum_term_size_is_not_truncated():
    assert not is_too_long(FITS)
    assert is_too_long(LONG)
    fitting = properties(description=FITS)
    assert written(fitting) == fitting
    assert not cut_fields(written(fitting))


def test_patch_of_a_description_is_cut_and_the_rest_of_it_is_not():
    found = written(properties(description=LONG, externalUrl="http://x"))
    assert found == properties(description=cut_text(LONG), externalUrl="http://x")
    assert cut_fields(found) == ("description",)


@pytest.mark.parametrize("field", ["description", "externalUrl", "name", "qualifiedName"])
@pytest.mark.parametrize("version", known_profiles())
def test_each_search_field_of_a_dataset_is_cut_in_each_version(field, version):
    assert written(properties(**{field: LONG}), version) == properties(**{field: cut_text(LONG)})


def test_custom_property_is_never_cut():
    operations = [add("/customProperties/key", LONG), add("/description", "short")]
    assert written(patch("dataset", TABLE, "datasetProperties", operations)).value[0]["value"] == LONG


def test_sql_is_no_search_text():
    logic = {"transforms": [{"queryStatement": {"value": LONG, "language": "SQL"}}]}
    job = "urn:li:dataJob:(urn:li:dataFlow:(airflow,orders,prod),load)"
    assert written(upsert("dataJob", job, "dataTransformLogic", logic)).value == logic


def test_long_texts_of_upserts_are_cut_at_any_depth():
    subtypes = written(upsert("dataset", TABLE, "subTypes", {"typeNames": ["table", LONG]}))
    assert subtypes.value == {"typeNames": ["table", cut_text(LONG)]}
    assert cut_fields(subtypes) == ("typeNames[]",)
    instance = {"name": LONG, "created": {"time": 0, "actor": "urn:li:corpuser:etl"}, "customProperties": {"a": LONG}}
    found = written(upsert("dataProcessInstance", RUN, "dataProcessInstanceProperties", instance))
    assert found.value == {**instance, "name": cut_text(LONG)}


@pytest.mark.parametrize("kind", ["int", "struct<x:int>"])
def test_column_description_is_truncated_and_others_are_kept(kind):
    stated = [SchemaFacetField("a", kind, LONG), SchemaFacetField("b", "int", "short"), SchemaFacetField("c", "int")]
    whole = schema_fields(stated, platform="hive").fields
    proposal = upsert("dataset", TABLE, "schemaMetadata", schema_metadata("shop.public.orders", "hive", whole))
    validator = Validator(profile("1.7"))
    for _ in range(3):
        (found,) = valid_proposals([proposal], validator, [])
        texts = [field.get("description") for field in found.value["fields"] if "." not in field["fieldPath"]]
        assert texts == [cut_text(LONG), "short", None]
        assert cut_fields(found) == ("fields[].description",)
    assert LONG.encode() not in ndjson_line(found)


def test_name_of_a_column_is_cut():
    whole = schema_fields([SchemaFacetField("c" * 40_000, "int")], platform="hive").fields
    proposal = upsert("dataset", TABLE, "schemaMetadata", schema_metadata("shop.public.orders", "hive", whole))
    assert written(proposal).value["fields"][0]["fieldPath"] == cut_text("c" * 40_000)


def test_description_of_a_column_that_people_edit_is_found():
    info = {"editableSchemaFieldInfo": [{"fieldPath": "a", "description": LONG}]}
    (text,) = long_texts(upsert("dataset", TABLE, "editableSchemaMetadata", info), "1.4")
    assert text == ("editableSchemaFieldInfo[].description", MAX_TERM_BYTES + 1)


def test_proposal_that_fits_is_the_same_object():
    for one in (properties(description=FITS), upsert("dataset", TABLE, "status", {"removed": True})):
        assert cut_long_texts(one, "1.7") is one
        assert written(one) is one


def test_proposal_is_refused_for_another_reason_all_the_same():
    rejected = []
    wrong = upsert("dataset", TABLE, "subTypes", {"typeNames": [LONG], "extra": 1})
    assert valid_proposals([wrong, properties(description=LONG)], Validator(profile("1.7")), rejected) == [
        properties(description=cut_text(LONG))
    ]
    assert "extra" in rejected[0].reason


def test_long_texts_are_valid_singly_but_not_in_accepts_all():
    validator = Validator(profile("1.7"))
    for one in (properties(description=LONG), upsert("dataset", TABLE, "subTypes", {"typeNames": [LONG]})):
        assert validator.refusal(one) is None
        assert not validator.accepts_all([one])


def _texts_within(node, types):
    """Return the names of the search texts at or below a type, read without the module under test."""
    found = []
    for branch in schemas.branches(node):
        inner = types.get(branch) if isinstance(branch, str) else branch
        for field in (inner or {}).get("fields", ()) if isinstance(inner, dict) else ():
            found += [field["name"]] if "Searchable" in field else []
            found += _texts_within(field["type"], types)
        if isinstance(inner, dict) and "items" in inner:
            found += _texts_within(inner["items"], types)
    return found


@pytest.mark.parametrize("version", known_profiles())
def test_patch_values_contain_no_nested_search_texts(version):
    for aspect, templates in TEMPLATES.items():
        schema = schemas.aspect_schema(version, aspect)
        types = schemas.named_types(schema)
        named = {template.partition("/")[0]: template for template in templates}
        for field in schema["fields"]:
            if field["name"] in named and not is_text(field) and aspect != "editableSchemaMetadata":
                assert _texts_within(field["type"], types) == []
