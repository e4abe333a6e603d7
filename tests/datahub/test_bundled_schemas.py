"""avro_schemas/ holds what the published wheels say, once, and nothing else."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import sys
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest

from dh_bridge.bundled import AVRO_SCHEMAS
from dh_bridge.datahub import avro_types, schemas
from dh_bridge.datahub.search_texts import TERM_TYPES

ROOT = Path(__file__).parents[2]
INSTALLED = importlib.metadata.version("acryl-datahub")


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("bundle_schemas", ROOT / "tools" / "bundle_schemas.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def indexed_files():
    indexes = [schemas.load_index(version) for version in schemas.profile_versions()]
    return {file for index in indexes for file in (index.envelope, *index.aspects.values())}


def test_every_minor_version_since_0_15_is_there_oldest_first():
    assert schemas.profile_versions() == ("0.15.0", "0.15.0.5", "1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6", "1.7")


def test_indexes_name_every_file_and_only_files_that_exist():
    assert indexed_files() == {str(path.relative_to(AVRO_SCHEMAS)) for path in AVRO_SCHEMAS.rglob("*.avsc")}


def test_unchanged_schema_is_stored_once():
    for aspect in schemas.load_index("1.7").aspects:
        files = [schemas.load_index(version).aspects.get(aspect) for version in schemas.profile_versions()]
        for before, after in pairwise(files):
            assert before is None or (before == after) == (schemas.load_schema(before) == schemas.load_schema(after))


def test_bundled_schemas_are_small_and_without_docs():
    text = "".join((AVRO_SCHEMAS / file).read_text(encoding="utf-8") for file in indexed_files())
    assert not any(f'"{word}":' in text for word in ("doc", "symbolDocs", "fieldName", "TimeseriesField", "java"))
    kinds = {
        kind for annotation in re.findall(r'"Searchable": (\{[^}]*\})', text) for kind in json.loads(annotation).items()
    }
    assert kinds == {("fieldType", kind) for kind in TERM_TYPES}
    assert sum(path.stat().st_size for path in AVRO_SCHEMAS.rglob("*") if path.is_file()) < 512 * 1024


@pytest.mark.parametrize("file", sorted(indexed_files()))
def test_every_bundled_aspect_compiles(file):
    if "Aspect" in schemas.load_schema(file):
        assert avro_types.aspect_type(file).__name__ == schemas.load_schema(file)["name"]
    else:
        assert file.endswith("MetadataChangeProposal.avsc")


def test_source_names_each_wheel_with_its_sha256_and_the_license(tool):
    source = (AVRO_SCHEMAS / "SOURCE.md").read_text(encoding="utf-8")
    for name, (version, sha256) in tool.PINNED.items():
        assert f"| {name} | acryl-datahub {version} | `{sha256}` |" in source
        assert schemas.load_index(name).wheel == f"acryl-datahub {version}"
    assert "Apache License, Version 2.0" in source


def test_wheel_with_another_sha256_is_refused(tool, tmp_path):
    (tmp_path / "acryl_datahub-1.7.0.17-py3-none-any.whl").write_bytes(b"not it")
    with pytest.raises(SystemExit, match=r"sha256 is \w+, pinned is abc"):
        tool.wheel("1.7.0.17", "abc", tmp_path)


@pytest.mark.skipif(
    INSTALLED != "1.7.0.17", reason="needs acryl-datahub 1.7.0.17 installed, the wheel of the profile 1.7"
)
def test_schema_tool_reproduces_the_installed_schemas(tool, tmp_path):
    package = Path(importlib.util.find_spec("datahub.metadata").submodule_search_locations[0])
    path = tmp_path / "wheel.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in (package / "schemas").glob("*.avsc"):
            archive.write(file, f"datahub/metadata/schemas/{file.name}")
    found = {aspect: json.loads(tool.rendered(schema)) for aspect, (_, schema) in tool.schemas(path).items()}
    index = schemas.load_index("1.7")
    assert found.pop("") == schemas.load_schema(index.envelope)
    assert found == {aspect: schemas.load_schema(file) for aspect, file in index.aspects.items()}


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("fields", True),
        ("fields.type.type", True),
        ("fields.globalTags.tags.tag", True),
        ("platformSchema.rawSchema", True),
        ("foreignKeysSpecs.foreignKey.parentField", True),
        ("fields.nothing", False),
        ("hash.deeper", False),
        ("fields.type.type.keyType.deeper", False),
    ],
)
def test_dotted_path_descends_into_lists_maps_unions_and_types(path, there):
    assert (schemas.descend(schemas.aspect_schema("0.15.0", "schemaMetadata"), path) is not None) is there


def test_aspect_that_a_profile_lacks_has_no_schema():
    assert schemas.aspect_schema("0.15.0", "dataTransformLogic") is None
    assert schemas.aspect_schema("0.15.0.5", "dataTransformLogic")["name"] == "DataTransformLogic"
