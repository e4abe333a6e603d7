"""Fields that are alike: their kinds are checked, each once, and nothing is taken on trust once they have travelled."""

import copy
import pickle

import pytest

from dh_bridge.columns import SchemaFacetField, SchemaFields, schema_fields, schema_metadata
from dh_bridge.datahub.profiles import profile
from dh_bridge.datahub.proposal import ndjson_line, upsert
from dh_bridge.datahub.schema_fastpath import AlikeFields, AlikeSchema, SchemaEnvelope
from dh_bridge.datahub.validation import Validator
from dh_bridge.state_codec.codec import decode_object, encode_object

TABLE = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"


@pytest.fixture
def validator():
    return Validator(profile("1.7"))


def of(fields):
    return upsert("dataset", TABLE, "schemaMetadata", schema_metadata("shop.public.orders", "postgres", fields))


def columns(*types):
    stated = [SchemaFacetField(f"c{at}", kind, f"Column {at}" if at % 2 else None) for at, kind in enumerate(types)]
    return schema_fields(stated, platform="postgres").fields


def test_plain_columns_share_kinds_and_keep_their_own_values():
    fields = columns("int", "int", "text")
    assert type(fields) is AlikeFields
    assert [field["fieldPath"] for field in fields] == ["c0", "c1", "c2"]
    assert [field.get("description") for field in fields] == [None, "Column 1", None]
    assert len(fields.kinds) == 4  # of two types, without and with a description
    assert all(set(field) in [set(kind) for kind in fields.kinds] for field in fields)


def test_columns_with_others_inside_are_not():
    nested = [SchemaFacetField("a", "struct<x:int>"), SchemaFacetField("b", "int")]
    assert type(schema_fields(nested, platform="hive").fields) is list


def test_alike_fields_are_valid(validator):
    for _ in range(2):  # the second time their kinds are known
        assert validator.refusal(of(columns("int", "text"))) is None


@pytest.mark.parametrize(
    "wrong", [{"nullable": "yes"}, {"type": {"type": {"com.linkedin.schema.NoType": {}}}}, {"extra": 1}]
)
def test_kind_that_is_refused_refuses_them_again_and_again(validator, wrong):
    sound = columns("int")
    kinds = [*sound.kinds, {**sound.kinds[0], **wrong}]
    for _ in range(2):
        assert validator.refusal(of(AlikeFields(sound, kinds))) is not None
    assert validator.refusal(of(sound)) is None


def test_alike_fields_decode_as_a_list_that_is_validated_again(validator):
    fields = columns("int", "text")
    back = decode_object(encode_object(SchemaFields(fields, has_types=True, dropped_count=0, columns={}))).fields
    assert type(back) is list
    assert back == fields
    back[1]["nullable"] = "yes"
    assert "nullable" in str(validator.refusal(of(back)))


@pytest.mark.parametrize("name", ["shop.public.orders", 'a "quoted" \\ name', "größe\n"])
def test_schema_of_them_is_an_object_like_any_other(name):
    fields = columns("int", "text", "int")
    schema = schema_metadata(name, "postgres", fields)
    plain = schema_metadata(name, "postgres", list(fields))
    assert (type(schema), type(plain)) == (AlikeSchema, dict)
    assert schema == plain
    assert list(schema) == list(plain)
    assert {type(made) for made in (copy.copy(schema), copy.deepcopy(schema), pickle.loads(pickle.dumps(schema)))} == {  # noqa: S301 - our own
        dict
    }
    lines = [ndjson_line(upsert("dataset", TABLE, "schemaMetadata", value)) for value in (schema, schema, plain)]
    assert lines == [lines[2]] * 3


def test_schema_envelope_is_validated_for_each_platform(validator):
    fields = columns("int")
    sound = schema_metadata("t", "postgres", fields)
    assert validator.refusal(upsert("dataset", TABLE, "schemaMetadata", sound)) is None
    wrong = AlikeSchema(SchemaEnvelope({**sound.envelope.value, "platform": "no URN"}), "t", fields)
    for _ in range(2):
        assert "platform" in str(validator.refusal(upsert("dataset", TABLE, "schemaMetadata", wrong)))
    assert validator.refusal(upsert("dataset", TABLE, "schemaMetadata", sound)) is None


def test_dict_with_valid_alike_fields_is_validated_each_time(validator):
    fields = columns("int")
    sound = dict(schema_metadata("t", "postgres", fields))
    for value, refused in ((sound, False), ({**sound, "platform": "no URN"}, True), (sound, False)):
        assert (validator.refusal(upsert("dataset", TABLE, "schemaMetadata", value)) is not None) is refused
