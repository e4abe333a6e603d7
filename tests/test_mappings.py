"""Every file of mappings/ keeps a schema of its own, and the tables say what the schemas cannot."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml
from support.value_tables import TABLES, document

from dh_bridge.bundled import AVRO_SCHEMAS, MAPPINGS, load_yaml

FILES = sorted(path for path in MAPPINGS.rglob("*") if path.is_file() and path.parent.name != "schema")
SCHEMAS = sorted((MAPPINGS / "schema").iterdir())


def schema_of(path):
    stem = path.stem if path.parent.name == "tables" else path.parent.name
    return MAPPINGS / "schema" / f"{stem}.schema.json"


def ids(path):
    return str(path.relative_to(MAPPINGS))


def read(path):
    return load_yaml(path.read_text(encoding="utf-8"), str(path))


@pytest.mark.parametrize("path", FILES, ids=ids)
def test_file_keeps_the_schema_of_its_folder_or_document(path):
    assert path.suffix == ".yaml"
    schema = json.loads(schema_of(path).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(read(path))


@pytest.mark.parametrize("path", FILES, ids=ids)
def test_file_is_the_same_where_pyyaml_has_no_c_loader(path):
    assert yaml.safe_load(path.read_text(encoding="utf-8")) == read(path)


@pytest.mark.parametrize("path", SCHEMAS, ids=ids)
def test_schema_is_one_is_strict_and_is_used(path):
    schema = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert path in {schema_of(file) for file in FILES}


@pytest.mark.parametrize("path", SCHEMAS, ids=ids)
def test_misspelt_key_is_refused(path):
    schema = json.loads(path.read_text(encoding="utf-8"))
    file = next(file for file in FILES if schema_of(file) == path)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate({**read(file), "mispelt": 1})


def test_owner_and_operation_values_map_to_one_type():
    words = [word.lower() for row in document("owner_types")["types"] for word in row["words"]]
    assert len(words) == len(set(words))
    words = [word for row in document("operation_types")["words"] for word in row["words"]]
    assert len(words) == len(set(words))


@pytest.mark.parametrize(
    ("name", "aspect", "enum"),
    [("owner_types", "Ownership", "OwnershipType"), ("operation_types", "Operation", "OperationType")],
)
def test_every_type_is_one_that_the_oldest_server_knows(name, aspect, enum):
    schema = json.loads((AVRO_SCHEMAS / "0.15.0" / f"{aspect}.avsc").read_text(encoding="utf-8"))
    rows = [row for part in document(name).values() for row in part]
    assert {row["type"] for row in rows} <= set(symbols(schema, enum))


def symbols(node, enum):
    """Return the symbols of the Avro enum of that name, wherever it stands."""
    if isinstance(node, dict):
        if node.get("name") == enum:
            return node["symbols"]
        node = list(node.values())
    members = node if isinstance(node, list) else []
    return next((found for member in members if (found := symbols(member, enum))), [])


@pytest.mark.parametrize(
    ("word", "kind"),
    [(word, row["type"]) for row in document("operation_types")["words"] for word in row["words"]]
    + [(row["prefix"] + "_X", row["type"]) for row in document("operation_types")["prefixes"]]
    + [("nothing", None), (" create ", "CREATE"), ("", None)],
)
def test_word_is_the_operation_of_its_row(word, kind):
    assert TABLES.operation_types.find_by_word(word) == kind
    assert TABLES.operation_types.find_by_word(word.lower()) == kind


@pytest.mark.parametrize(
    ("word", "kind"), [(word, row["type"]) for row in document("owner_types")["types"] for word in row["words"]]
)
def test_word_is_the_owner_type_of_its_row(word, kind):
    assert TABLES.owner_types(word) == (kind, True)
    assert TABLES.owner_types(f" {word.upper()} ") == (kind, True)


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("select 1", None),
        ("", None),
        ("'insert'", None),
        ("x" * 5000 + " insert", None),
        ("alter table x drop column y", "ALTER"),
    ],
)
def test_sql_without_an_operation_has_no_type(sql, kind):
    assert TABLES.operation_types.find_by_sql(sql) == kind


def test_symlink_preferences_name_known_systems():
    stems = {path.stem for path in (MAPPINGS / "naming").glob("*.yaml")}
    row = document("symlinks")
    assert {*row["preferred"], *row["over"]} <= stems
    assert not set(row["preferred"]) & set(row["over"])
