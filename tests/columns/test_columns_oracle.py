"""DataHub's own SDK agrees: our JSON is what its classes write, and its path reduction gives our dotted paths."""

from __future__ import annotations

import json
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.sample_events import SOURCES, documents

from dh_bridge.columns import SchemaFacetField, schema_fields, schema_metadata
from dh_bridge.facet_support.repair import UNUSABLE, Repairs, repair

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    sdk = pytest.importorskip("datahub.metadata.schema_classes", reason="needs acryl-datahub (extra: dev)")
    from datahub.emitter.serialization_helper import post_json_transform, pre_json_transform
    from datahub.utilities.hive_schema_to_avro import get_schema_fields_for_hive_column
    from datahub.utilities.urns.field_paths import get_simple_field_path_from_v2_field_path as simple

HIVE = [
    "int", "bigint", "string", "array<struct<id:int,s:string>>", "array<array<int>>", "map<string,int>",
    "map<string,struct<a:int>>", "struct<a:int,b:struct<c:bigint>>", "map<string,array<struct<a:int>>>",
]  # fmt: skip


def round_trip(aspect: dict[str, Any]) -> dict[str, Any]:
    read = sdk.SchemaMetadataClass.from_obj(post_json_transform(json.loads(json.dumps(aspect))))
    assert read.validate()
    return json.loads(json.dumps(pre_json_transform(read.to_obj())))


def assert_equal_to_the_sdk(fields: list[SchemaFacetField], platform: str = "postgres") -> None:
    for paths in ("auto", "v1", "v2"):
        rendered = schema_fields(fields, platform=platform, paths=paths).fields
        aspect = schema_metadata("shop.public.orders", platform, rendered)
        again = round_trip(aspect)
        assert again == aspect
        assert list(again) == list(aspect)
        assert [list(field) for field in again["fields"]] == [list(field) for field in rendered]
        found = [field["fieldPath"] for field in rendered]
        assert len(found) == len(set(found))


names = st.sampled_from(["a", "b", "_element", "key", "value", "_0", "_1", "x y", "Ünï"])
texts = st.sampled_from(
    [None, "", "int", "varchar(10)", "array", "map", "union", "struct", "io.x.Node", "array<struct<a:int,b:string>>",
     "map<string,int>", "uniontype<int,struct<a:int>>", "row(a int, b varchar)", "decimal(10, 2) not null", '["null","int"]']
)  # fmt: skip
trees = st.recursive(
    st.builds(SchemaFacetField, name=names, type=texts, description=st.none() | st.just("d")),
    lambda inner: st.builds(SchemaFacetField, name=names, type=texts, fields=st.lists(inner, max_size=3)),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(trees, max_size=4))
def test_any_tree_of_columns_is_what_the_sdk_would_write(fields):
    assert_equal_to_the_sdk(fields)


@settings(max_examples=150, deadline=None)
@given(st.lists(trees, min_size=1, max_size=4))
def test_sdk_reduces_our_v2_paths_to_our_v1_paths(fields):
    v1 = schema_fields(fields, platform="hive", paths="v1").fields
    v2 = schema_fields(fields, platform="hive", paths="v2").fields
    assert {simple(field["fieldPath"]) for field in v2} == {field["fieldPath"] for field in v1}


@pytest.mark.parametrize("text", HIVE)
def test_our_v2_paths_are_those_of_datahubs_hive_connector(text):
    theirs = [field.fieldPath for field in get_schema_fields_for_hive_column("col", text, default_nullable=True)]
    ours = schema_fields([SchemaFacetField("col", text)], platform="hive", paths="v2").fields
    assert [field["fieldPath"] for field in ours] == theirs


@pytest.mark.parametrize("source", SOURCES)
def test_every_schema_of_real_events_is_what_the_sdk_would_write(source):
    seen = 0
    for document in documents(source):
        for facet in _schemas(json.dumps(document)):
            # as the facet is read: what a column does not know (tags, comment) is left out
            columns = [repair(column, SchemaFacetField, Repairs()) for column in facet]
            assert_equal_to_the_sdk([column for column in columns if column is not UNUSABLE])
            seen += 1
    assert seen > 20


def _schemas(text: str) -> list[Any]:
    found: list[Any] = []

    def look(value: Any) -> None:
        if isinstance(value, dict):
            schema = value.get("schema")
            if isinstance(schema, dict) and isinstance(schema.get("fields"), list):
                found.append(schema["fields"])
            for member in value.values():
                look(member)
        elif isinstance(value, list):
            for member in value:
                look(member)

    for part in [text, *text.splitlines()]:
        try:
            look(json.loads(part))
        except ValueError:
            continue
        if part is text:
            break
    return found
