"""The table of types: every example of the YAML file is what its row says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import jsonschema
import msgspec
import pytest
from support.value_tables import document

from dh_bridge.bundled import MAPPINGS
from dh_bridge.columns import TypeTable, column_types, data_type
from dh_bridge.errors import MappingError

if TYPE_CHECKING:
    from pathlib import Path

TABLE = document("column_types")
SCHEMA = json.loads((MAPPINGS / "schema" / "column_types.schema.json").read_text(encoding="utf-8"))

BY_TYPE = [(text, kind) for kind, row in TABLE["types"].items() for text in row["examples"]]
BY_PLATFORM = [
    (platform, text, kind) for platform, row in TABLE["platforms"].items() for text, kind in row["examples"].items()
]


def kind_of(text: str | None, platform: str = "postgres") -> str:
    (name,) = data_type(text, platform)["type"]
    return name.removeprefix("com.linkedin.schema.")


def test_table_keeps_its_own_schema():
    jsonschema.validate(TABLE, SCHEMA)


@pytest.mark.parametrize(("text", "kind"), BY_TYPE)
def test_example_is_of_the_type_of_its_row(text, kind):
    assert kind_of(text) == kind


@pytest.mark.parametrize(("platform", "text", "kind"), BY_PLATFORM)
def test_platform_may_mean_something_else_by_a_name(platform, text, kind):
    assert kind_of(text, platform) == kind


@pytest.mark.parametrize(
    "name", [name for row in TABLE["types"].values() for name in row["names"] if name.replace(" ", "").isidentifier()]
)
def test_case_and_blanks_never_matter(name):
    assert kind_of(f"  {name.upper().replace(' ', '   ')} NOT NULL ") == kind_of(name)


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("array<string>", {"nestedType": ["string"]}),
        ("ARRAY<DECIMAL(10, 2)>", {"nestedType": ["decimal(10,2)"]}),
        ("array<struct<a:int>>", {"nestedType": ["struct"]}),
        ("integer[][]", {"nestedType": ["array"]}),
        ("vector(3)", {}),
        ("map<string, array<int>>", {"keyType": "string", "valueType": "array"}),
        ("map", {}),
        ("uniontype<int,string>", {"nestedTypes": ["int", "string"]}),
        ('["null", "int", {"type": "array", "items": "string"}]', {"nestedTypes": ["int", "array"]}),
        ("Nested(a String)", {"nestedType": ["tuple"]}),
    ],
)
def test_container_type_has_its_inner_type(text, inside):
    assert list(data_type(text, "hive")["type"].values()) == [inside]


def test_missing_text_is_an_unknown_null_type():
    for text in (None, "", "  ", "<<non-serializable: VarChar>>"):
        found = column_types().read(text, "postgres")
        assert (found.kind, found.native, found.is_missing) == ("NullType", "unknown", True)


@pytest.mark.parametrize(
    ("text", "required"),
    [
        ("int NOT NULL", True),
        ("varchar(10) not null default 'x'", True),
        ("int default 0 not null", True),
        ("bigint PRIMARY KEY", True),
        ("Nullable(String)", False),
        ("int null", False),
        ("varchar(20) comment 'is NOT NULL'", False),
        ("enum('not null', 'primary key')", False),
        ("ROW<a INT NOT NULL>", False),
        ("ARRAY<INT NOT NULL> NOT NULL", True),
    ],
)
def test_required_is_read_from_the_outer_constraint_only(text, required):
    assert column_types().read(text, "mysql").required is required


def test_type_override_wins_over_the_table():
    table = column_types().override({"JSONB": "BytesType", "my type": "DateType"})
    assert table.read("jsonb", "postgres").kind == "BytesType"
    assert table.read("My  Type", "postgres").kind == "DateType"
    assert table.read("json", "postgres").kind == "RecordType"


def test_users_folder_shadows_the_table(tmp_path: Path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "column_types.yaml").write_text("types: {DateType: {names: [day], examples: [day]}}")
    table = column_types(tmp_path)
    assert table.read("day", "x").kind == "DateType"
    assert table.read("int", "x").kind == "NullType"


@pytest.mark.parametrize(
    "document",
    [
        {"types": {"WordType": {"names": ["x"]}}},
        {"types": {"DateType": {"names": ["x"]}, "TimeType": {"names": ["x"]}}},
        {"types": {}, "platforms": {"p": {"names": {"x": "WordType"}}}},
    ],
)
def test_table_that_contradicts_itself_is_refused(document):
    with pytest.raises(MappingError, match="tables"):
        TypeTable(document, location="tables/column_types.yaml")


def test_override_to_no_type_is_refused():
    with pytest.raises(MappingError, match=r"schema\.types"):
        column_types().override({"x": "WordType"})


@pytest.mark.parametrize(
    "text",
    [
        "<" * 60_000,
        "array<" * 20_000 + "int" + ">" * 20_000,
        "nullable(" * 9_000 + "int" + ")" * 9_000,
        "'" * 60_001,
        "'\\" * 30_000,
        " " * 60_000 + "int" + " " * 60_000 + "null",
        "int" + " not null" * 8_000,
        "[" * 60_000,
        "[ " * 30_000 + "]",
        "[]" * 30_000,
        '{"type":' * 5_000 + '"int"' + "}" * 5_000,
        '["null",' * 3_000 + '"int"' + "]" * 3_000,
        '{"a": ["null"]}',
        '{"type": ["null"]}',
        "struct<" + ",".join(f"a{i}:int" for i in range(20_000)) + ">",
        "row(" + "a, " * 20_000 + "b)",
        "of " * 20_000,
        "x of y of ",
        "\ud800 int",
        "\x00",
        "🦆<🦆>",
        "decimal(10,2))",
        "map<string>",
        "map<>",
        "struct<:int>",
        "struct<a:>",
        "struct<1: id: required int>",
        "fixed[",
        "?",
        "nullable()",
        "()",
    ],
)
def test_no_text_breaks_or_stalls_the_reading(text):
    found = column_types().read(text, "postgres")
    assert len(found.native) <= 1000
    assert msgspec.json.encode(found.wire).startswith(b'{"type":{"com.linkedin.schema.')
