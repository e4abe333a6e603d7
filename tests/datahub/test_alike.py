"""Fields that are alike: their kinds are checked, each once, and nothing is taken on trust once they have travelled."""

import pytest

from dh_bridge.datahub.alike import AlikeFields
from dh_bridge.datahub.profiles import profile
from dh_bridge.datahub.proposal import upsert
from dh_bridge.datahub.validation import Validator
from dh_bridge.translation.columns import Field, schema_fields, schema_metadata
from dh_bridge.translation.packing import packed, unpacked

TABLE = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"


@pytest.fixture
def validator():
    return Validator(profile("1.7"))


def of(fields):
    return upsert("dataset", TABLE, "schemaMetadata", schema_metadata("shop.public.orders", "postgres", fields))


def columns(*types):
    said = [Field(f"c{at}", kind, f"Column {at}" if at % 2 else None) for at, kind in enumerate(types)]
    return schema_fields(said, platform="postgres").fields


def test_plain_columns_are_alike_and_each_says_its_own():
    fields = columns("int", "int", "text")
    assert type(fields) is AlikeFields
    assert [field["fieldPath"] for field in fields] == ["c0", "c1", "c2"]
    assert [field.get("description") for field in fields] == [None, "Column 1", None]
    assert len(fields.kinds) == 4  # of two types, without and with a description
    assert all(set(field) in [set(kind) for kind in fields.kinds] for field in fields)


def test_columns_with_others_inside_are_not():
    nested = [Field("a", "struct<x:int>"), Field("b", "int")]
    assert type(schema_fields(nested, platform="hive").fields) is list


def test_they_are_sound(validator):
    for _ in range(2):  # the second time their kinds are known
        assert validator.refusal(of(columns("int", "text"))) is None


@pytest.mark.parametrize(
    "wrong", [{"nullable": "yes"}, {"type": {"type": {"com.linkedin.schema.NoType": {}}}}, {"extra": 1}]
)
def test_a_kind_that_is_refused_refuses_them_again_and_again(validator, wrong):
    sound = columns("int")
    kinds = [*sound.kinds, {**sound.kinds[0], **wrong}]
    for _ in range(2):
        assert validator.refusal(of(AlikeFields(sound, kinds))) is not None
    assert validator.refusal(of(sound)) is None


def test_what_has_travelled_is_a_list_that_is_looked_at_anew(validator):
    fields = columns("int", "text")
    back = unpacked(packed(fields))
    assert type(back) is list
    assert back == fields
    back[1]["nullable"] = "yes"
    assert "nullable" in str(validator.refusal(of(back)))
