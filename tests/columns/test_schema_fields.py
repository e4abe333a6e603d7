"""Schema fields: paths, nesting, wrappers, nullability, recursion, caps."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from dh_bridge.columns import SchemaFacetField, schema_fields, schema_metadata

decode = msgspec.json.Decoder(list[SchemaFacetField]).decode


def columns(*fields: dict[str, Any]) -> list[SchemaFacetField]:
    return decode(json.dumps(fields))


def f(name: str, kind: str | None = None, *inside: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "fields": list(inside), **({"type": kind} if kind is not None else {}), **more}


def left_out(fields: list[SchemaFacetField], **options: Any) -> dict[str, list[str]]:
    """Return the leaves that are left out, by reason."""
    left: list[tuple[str, str]] = []
    schema_fields(fields, platform="x", notes=left, **options)
    return {reason: [leaf for leaf, why in left if why == reason] for reason in dict(map(reversed, left))}


def paths(fields: list[SchemaFacetField], **options: Any) -> list[str]:
    return [field["fieldPath"] for field in schema_fields(fields, platform="hive", **options).fields]


SPEC = columns(
    f("user_id", "int64", ordinal_position=1),
    f("phones", "array", f("_element", "string"), ordinal_position=2),
    f("addresses", "struct", f("type", "string"), f("zip", "string"), ordinal_position=3),
    f("custom", "map", f("key", "string"), f("value", "struct", f("id", "long")), ordinal_position=4),
)


def test_flat_column_has_every_default_of_the_wire_in_avro_order():
    (field,) = schema_fields(columns(f("id", "BIGINT")), platform="postgres").fields
    assert list(field.items()) == [
        ("fieldPath", "id"),
        ("nullable", True),
        ("type", {"type": {"com.linkedin.schema.NumberType": {}}}),
        ("nativeDataType", "BIGINT"),
        ("recursive", False),
        ("isPartOfKey", False),
    ]


def test_wrappers_are_no_fields():
    assert paths(SPEC) == ["user_id", "phones", "addresses", "addresses.type", "addresses.zip", "custom", "custom.id"]


def test_other_style_spells_the_types_into_the_path():
    assert paths(SPEC, paths="v2") == [
        "[version=2.0].[type=int64].user_id",
        "[version=2.0].[type=struct].[type=array].[type=string].phones",
        "[version=2.0].[type=struct].[type=struct].addresses",
        "[version=2.0].[type=struct].[type=struct].addresses.[type=string].type",
        "[version=2.0].[type=struct].[type=struct].addresses.[type=string].zip",
        "[version=2.0].[type=struct].[type=map].[type=struct].custom",
        "[version=2.0].[type=struct].[type=map].[type=struct].custom.[type=long].id",
    ]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # nested arrays collapse
        ([f("aa", "array", f("_element", "array", f("_element", "struct", f("x", "int"))))], ["aa", "aa.x"]),
        # a map of arrays of records
        ([f("m", "map", f("key", "string"), f("value", "array", f("_element", "struct", f("x"))))], ["m", "m.x"]),
        # a struct may really have columns of those names
        ([f("s", "struct", f("key", "int"), f("value", "int"), f("_element", "int"))], ["s", "s.key", "s.value", "s._element"]),
        # members without their wrapper
        ([f("a", "array", f("x", "int"))], ["a", "a.x"]),
        ([f("m", "map", f("key", "string"), f("x", "int"))], ["m", "m.x"]),
        # a dotted message name with children is a record, whatever the table says
        ([f("e", "io.x.Event", f("x", "int"))], ["e", "e.x"]),
        # names are kept as they are
        ([f("a.b c", "int"), f("Ünï", "int")], ["a.b c", "Ünï"]),
        # what the text holds
        ([f("t", "array<struct<a:int,B:map<string,struct<c:int>>>>")], ["t", "t.a", "t.B", "t.B.c"]),
        ([f("t", "ROW(a int, b ROW(c varchar(10)))")], ["t", "t.a", "t.b", "t.b.c"]),
        ([f("t", 'struct<`a:b`:int, "c,d":string>')], ["t", "t.a:b", "t.c,d"]),
        ([f("t", "row(int, varchar)")], ["t"]),
        ([f("t", "row(double precision, time with time zone)")], ["t"]),
        ([f("t", "struct<1: id: required int>")], ["t"]),
        ([f("t", "Nested(a String, b Int8)")], ["t", "t.a", "t.b"]),
        # children that were sent win over the text
        ([f("t", "struct<a:int>", f("b", "int"))], ["t", "t.b"]),
        ([f("u", "union", f("_0", "null"), f("_1", "struct", f("x", "int")))], ["u", "u.x"]),
    ],
)  # fmt: skip
def test_children_hang_on_the_path_of_their_column(fields, expected):
    assert paths(columns(*fields)) == expected


def test_nested_texts_stay_text_when_asked():
    assert paths(columns(f("t", "struct<a:int>"), f("u", "array<struct<a:int>>")), expand=False) == ["t", "u"]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            [f("u", "union", f("_0", "string"), f("_1", "int64")), f("x", "int")],
            [
                "[version=2.0].[type=struct].[type=union].u",
                "[version=2.0].[type=struct].[type=union].[type=string].u",
                "[version=2.0].[type=struct].[type=union].[type=int64].u",
                "[version=2.0].[type=int].x",
            ],
        ),
        (
            [f("u", "union", f("_0", "struct", f("x", "int")), f("_1", "struct", f("x", "int")))],
            [
                "[version=2.0].[type=struct].[type=union].u",
                "[version=2.0].[type=struct].[type=union].[type=struct].u",
                "[version=2.0].[type=struct].[type=union].[type=struct].u.[type=int].x",
                "[version=2.0].[type=struct].[type=union].[type=struct_1].u",
                "[version=2.0].[type=struct].[type=union].[type=struct_1].u.[type=int].x",
            ],
        ),
        (
            [f("a.b", "int"), f("a", "struct", f("b", "int"))],
            [
                "[version=2.0].[type=int].a.b",
                "[version=2.0].[type=struct].[type=struct].a",
                "[version=2.0].[type=struct].[type=struct].a.[type=int].b",
            ],
        ),
        ([f("id", "int"), f("id", "text")], ["[version=2.0].[type=int].id", "[version=2.0].[type=text].id"]),
        ([f("p", "double precision"), f("p", "a.b[c]")], ["[version=2.0].[type=double_precision].p", "[version=2.0].[type=a_b].p"]),
    ],
)  # fmt: skip
def test_v2_paths_are_used_if_v1_paths_are_ambiguous(fields, expected):
    assert paths(columns(*fields)) == expected


def test_v1_paths_on_request_count_ambiguous_fields_as_dropped():
    found = schema_fields(
        columns(f("id", "int"), f("id", "text"), f("u", "union", f("_0", "int"), f("_1", "text"))),
        platform="x",
        paths="v1",
    )
    assert [field["fieldPath"] for field in found.fields] == ["id", "u"]
    assert found.dropped_count == 1


def test_same_column_twice_is_one_column():
    found = schema_fields(
        columns(f("id", "int"), f("id", "int"), f("s", "struct", f("a")), f("s", "struct", f("a"))), platform="x"
    )
    assert [field["fieldPath"] for field in found.fields] == ["id", "s", "s.a"]
    assert found.dropped_count == 3


def test_ordinal_positions_order_siblings_only_when_all_have_one():
    assert paths(columns(f("b", "int", ordinal_position=2), f("a", "int", ordinal_position=1))) == ["a", "b"]
    assert paths(columns(f("b", "int", ordinal_position=2), f("a", "int"))) == ["b", "a"]
    same = columns(f("b", "int", ordinal_position=1), f("a", "int", ordinal_position=1))
    assert paths(same) == ["b", "a"]


def test_columns_are_spelt_as_the_system_spells_them():
    found = schema_fields(
        columns(f("ID", "int"), f("S", "struct", f("Aa", "int"))), platform="x", spell_column=str.lower
    )
    assert [field["fieldPath"] for field in found.fields] == ["id", "s", "s.aa"]
    assert found.columns == {"ID": "id", "S": "s"}


def test_column_is_nullable_unless_its_type_is_not_null():
    found = schema_fields(columns(f("a", "int"), f("b", "int NOT NULL")), platform="x").fields
    assert [field["nullable"] for field in found] == [True, False]


def test_descriptions_are_written_when_there_are_any():
    found = schema_fields(columns(f("a", "int", description="key"), f("b", "int", description="")), platform="x").fields
    assert [field.get("description") for field in found] == ["key", None]
    (long,) = schema_fields(columns(f("a", "int", description="x" * 70_000)), platform="x").fields
    assert long["description"] == "x" * 70_000  # whatever is too long for the search index is cut later


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (f("a", "array", f("_element", "int", description="one"), description="many"), "many\n_element: one"),
        (f("a", "array", f("_element", "int", description="one")), "_element: one"),
        (
            f(
                "m",
                "map",
                f("key", "string", description="k"),
                f("value", "array", f("_element", "int", description="v")),
            ),
            "key: k\n_element: v",
        ),
        (f("u", "union", f("_0", "null"), f("_1", "int", description="i"), description="d"), "d\n_1: i"),
    ],
)
def test_container_element_description_moves_to_its_column(field, expected):
    (found,) = schema_fields(columns(field), platform="x", paths="v1").fields
    assert found["description"] == expected
    lost = [leaf for leaves in left_out(columns(field), paths="v1").values() for leaf in leaves]
    assert not [leaf for leaf in lost if "description" in leaf]


def test_record_field_named_key_in_an_array_is_no_wrapper():
    bare, wrapped = f("a", "array", f("key", "int", description="k")), f("a", "array", f("_element", "int"), f("key"))
    own, key = schema_fields(columns(bare), platform="x").fields
    assert "description" not in own
    assert (key["fieldPath"], key["description"]) == ("a.key", "k")
    assert left_out(columns(wrapped)) == {"malformed": ["fields[0].fields[1].name"]}


def test_element_description_in_a_union_branch_is_dropped():
    inner = f("_0", "array", f("_element", "int", description="lost"))
    field = f("u", "union", inner, f("_1", "array", f("x", "int", description="kept")))
    found = schema_fields(columns(field), platform="x", paths="v1").fields
    lost = left_out(columns(field), paths="v1")
    assert lost["no-field:inside a container"] == ["fields[0].fields[0].fields[0].description"]
    assert {one["fieldPath"]: one.get("description") for one in found} == {"u": None, "u.x": "kept"}


INSIDE = {
    "the members of a key": (
        f("m", "map", f("key", "struct", f("k", "int", description="d")), f("value", "int")),
        ["fields[0].fields[0].fields[0]." + leaf for leaf in ("name", "type", "description")],
    ),
    "where key and value stand": (
        f("m", "map", f("key", "string", ordinal_position=1), f("value", "int", ordinal_position=2)),
        ["fields[0].fields[0].ordinal_position", "fields[0].fields[1].ordinal_position"],
    ),
}


@pytest.mark.parametrize(("field", "lost"), INSIDE.values(), ids=INSIDE)
def test_container_element_details_are_reported_as_dropped(field, lost):
    assert left_out(columns(field)) == {"no-field:inside a container": lost}


def test_union_branch_names_are_dropped_except_described_ones():
    field = f("u", "union", f("_0", "null", description="d"), f("_1", "int"), f("_2", "string"))
    ((reason, lost),) = left_out(columns(field)).items()
    assert reason == "no-field:branches of a union have no names and no order"
    assert lost == ["fields[0].fields[1].name", "fields[0].fields[2].name"]


def test_positions_that_not_every_column_has_order_nothing():
    fields = columns(f("b", "int", ordinal_position=2), f("a", "int", ordinal_position=1), f("c", "int"))
    assert paths(fields) == ["b", "a", "c"]
    lost = ["fields[0].ordinal_position", "fields[1].ordinal_position"]
    assert left_out(fields) == {"no-field:not set for every column": lost}


def test_nested_union_in_a_container_has_branches_but_no_columns():
    inner = f("_element", "union", f("_0", "int"), f("_1", "string"))
    union = "[version=2.0].[type=struct].[type=union]"
    assert paths(columns(f("u", "union", f("_0", "null"), f("_1", "array", inner)))) == [
        f"{union}.u",
        f"{union}.[type=array].[type=union].[type=int].u",
        f"{union}.[type=array].[type=union].[type=string].u",
    ]


def test_union_branches_count_towards_the_field_limit():
    union = columns(f("u", "union", *[f(f"_{number}", f"kind_{number}") for number in range(3100)]))
    found = schema_fields(union, platform="x")
    assert (len(found.fields), found.dropped_count, found.total) == (3000, 101, 3101)
    (lost,) = [leaves for reason, leaves in left_out(union).items() if reason == "too-large"]
    assert lost[-1] == "fields[0].fields[3099].type"


def test_description_of_a_nested_column_stays_as_it_is():
    assert (
        schema_fields(columns(f("s", "struct", f("x"), description="\n d")), platform="x").fields[0]["description"]
        == "\n d"
    )


def test_type_that_names_an_ancestor_ends_there():
    node = columns(
        f(
            "n",
            "io.x.Node",
            f("id", "int"),
            f("next", "io.x.Node", f("id", "int")),
            f("all", "array", f("_element", "io.x.Node")),
        )
    )
    found = schema_fields(node, platform="kafka").fields
    assert [(field["fieldPath"], field["recursive"]) for field in found] == [
        ("n", False), ("n.id", False), ("n.next", True), ("n.all", True),
    ]  # fmt: skip
    assert found[2]["type"] == {"type": {"com.linkedin.schema.RecordType": {}}}
    output = left_out(node)["no-field:inside a recursive type"]
    assert output == ["fields[0].fields[1].fields[0].name", "fields[0].fields[1].fields[0].type"]


def test_avro_json_type_is_expanded_into_columns():
    text = json.dumps(
        [
            "null",
            {
                "type": "record", "name": "Node", "namespace": "io.x",
                "fields": [
                    {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}, "doc": "when"},
                    {"name": "next", "type": ["null", "io.x.Node"]},
                    {"name": "bag", "type": {"type": "map", "values": {"type": "fixed", "name": "h", "size": 4}}},
                ],
            },
        ]
    )  # fmt: skip
    found = schema_fields(columns(f("v", text)), platform="kafka").fields
    assert [(field["fieldPath"], next(iter(field["type"]["type"])).split(".")[-1]) for field in found] == [
        ("v", "RecordType"), ("v.at", "TimeType"), ("v.next", "RecordType"), ("v.bag", "MapType"),
    ]  # fmt: skip
    assert found[1]["description"] == "when"
    assert found[2]["recursive"] is True


def test_schema_without_any_type_is_no_schema_but_has_names():
    found = schema_fields(columns(f("a"), f("b", ""), f("c", None, f("d"))), platform="trino")
    assert (found.fields, found.has_types) == ([], False)
    assert found.columns == {"a": "a", "b": "b", "c": "c"}


def test_column_without_a_type_among_typed_ones_is_unknown():
    found = schema_fields(columns(f("a"), f("b", "int")), platform="trino").fields
    assert [field["nativeDataType"] for field in found] == ["unknown", "int"]


def test_schema_has_at_most_3000_fields():
    found = schema_fields(columns(*[f(f"c{i}", "int") for i in range(3010)], f("s", "struct", f("a"))), platform="x")
    assert (len(found.fields), found.dropped_count) == (3000, 12)


def test_schema_has_at_most_15_levels():
    deep = f("leaf", "int")
    for level in range(20, 0, -1):
        deep = f(f"l{level}", "struct", deep)
    found = schema_fields(columns(deep), platform="x")
    assert (len(found.fields), found.dropped_count) == (15, 6)
    text = "int"
    for _ in range(20):
        text = f"struct<a:{text}>"
    assert len(schema_fields(columns(f("t", text)), platform="x").fields) == 15


def test_dropped_fields_beyond_the_limits_are_listed_by_path():
    rows = f(
        "rows", "array", f("_element", "struct", f("a", "int"), f("b", "map", f("key", "string"), f("value", "int")))
    )
    many = columns(*[f(f"c{i}", "int") for i in range(2999)], rows, f("last", "int"))
    found = schema_fields(many, platform="x")
    inside = "fields[2999].fields[0].fields"
    assert left_out(many) == {
        "too-large": [
            *("fields[3000].name", "fields[3000].type"),
            *(f"{inside}[0].name", f"{inside}[0].type", f"{inside}[1].name", f"{inside}[1].type"),
            *(f"{inside}[1].fields[{at}].{leaf}" for at in range(2) for leaf in ("name", "type")),
        ]
    }
    assert (len(found.fields), found.total) == (3000, 3003)
    few = columns(f("id", "int"), f("", "int"), f("id", "int"))
    assert schema_fields(few, platform="x").total == 0
    assert left_out(few) == {
        "malformed": ["fields[1].name", "fields[1].type"],
        "duplicate-of:id": ["fields[2].name", "fields[2].type"],
    }


def test_wrapper_fields_beyond_the_limits_are_not_counted():
    rows = f("rows", "array", f("_element", "struct", f("m", "map", f("key", "string"), f("value", "int"))))
    many = [f(f"c{i}", "int") for i in range(3000)]
    opened = f("o", "struct<p:int,q:array<struct<r:int>>>")
    assert schema_fields(columns(*many, rows, opened), platform="hive").total == 3006
    assert schema_fields(columns(*many, rows, opened), platform="hive", expand=False).total == 3003


def test_columns_inside_too_many_wrappers_are_counted():
    deep = f("_element", "struct", f("x", "int"))
    for _ in range(70):
        deep = f("_element", "array", deep)
    over = "fields[0]" + ".fields[0]" * 65
    assert left_out(columns(f("a", "array", deep)))["too-large"][:2] == [f"{over}.name", f"{over}.type"]
    assert schema_fields(columns(f("a", "array", deep)), platform="x").total > 1


def test_endless_wrappers_end():
    deep = f("_element", "int")
    for _ in range(100):
        deep = f("_element", "array", deep)
    assert paths(columns(f("a", "array", deep))) == ["a"]
    assert paths(columns(f("a", "array<" * 500 + "int" + ">" * 500))) == ["a"]


def test_nameless_columns_and_stray_wrappers_are_counted():
    found = schema_fields(columns(f("", "int"), f("a", "array", f("_element", "int"), f("x", "int"))), platform="x")
    assert ([field["fieldPath"] for field in found.fields], found.dropped_count) == (["a"], 2)


def test_aspect_is_the_same_for_the_same_columns():
    fields = schema_fields(SPEC, platform="hive").fields
    assert schema_metadata("db.t", "hive", fields) == schema_metadata("db.t", "urn:li:dataPlatform:hive", fields)
