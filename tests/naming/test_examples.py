"""Every example of every naming system holds, and the sheets are as their schema says."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from dh_bridge.bundled import MAPPINGS
from dh_bridge.datahub.urns import is_urn
from dh_bridge.naming import Naming
from dh_bridge.naming.patterns import parts_of, tokenize
from dh_bridge.settings.naming import NamingSettings

FILES = sorted((MAPPINGS / "naming").glob("*.yaml"))
SHEETS: dict[str, Any] = {
    path.stem: yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader) for path in FILES
}
SCHEMA = json.loads((MAPPINGS / "schema" / "naming.schema.json").read_text(encoding="utf-8"))
EXAMPLES = [
    pytest.param(stem, example, id=f"{stem}-{example['namespace']}-{example['name']}")
    for stem, sheet in SHEETS.items()
    for example in sheet["examples"]
]
NAMING = Naming(NamingSettings())


@pytest.mark.parametrize(("stem", "example"), EXAMPLES)
def test_example_gets_its_urn_level_endpoint_and_fqn(stem, example):
    name = NAMING(example["namespace"], example["name"], select=example.get("select"))
    assert name.urn == example["urn"]
    assert name.endpoint == example.get("endpoint", example["urn"])
    assert name.fqn == example["fqn"]
    assert name.level == example["level"]
    assert name.system == stem
    assert name.rule.startswith(f"{stem}: ")
    assert (name.skip is None) == (name.urn is not None)
    assert list(name.containers) == example.get("containers", list(name.containers))


@pytest.mark.parametrize("stem", SHEETS)
def test_mapping_file_matches_its_schema(stem):
    jsonschema.validate(SHEETS[stem], SCHEMA)


def test_schema_of_mappings_is_valid_and_closed():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["additionalProperties"] is False
    assert "examples" in SCHEMA["required"]


@pytest.mark.parametrize("stem", SHEETS)
def test_mapping_keys_are_in_order_with_examples_last(stem):
    keys = list(SHEETS[stem])
    order = list(SCHEMA["properties"])
    assert keys == sorted(keys, key=order.index)
    assert keys[-1] == "examples"


@pytest.mark.parametrize("stem", SHEETS)
def test_templates_use_only_parts_of_some_pattern(stem):
    sheet = SHEETS[stem]
    given = {"authority", "hostport", "host", "port"}
    for row in [*sheet["namespaces"], *sheet["names"]]:
        given |= {part.name for part in parts_of(tokenize(row["pattern"], stem))}
    asked = [sheet["dataset"] or "", *(row["dataset"] for row in sheet["names"] if "dataset" in row)]
    asked += list(sheet["fqn"].values()) if isinstance(sheet["fqn"], dict) else []
    asked += [text for row in sheet["containers"] for text in row["fields"].values()]
    asked += [variant["dataset"] for variant in sheet.get("variants", {}).values() if "dataset" in variant]
    asked.append("" if sheet.get("instance", "never") == "never" else sheet["instance"])
    wanted = {part.name for text in asked for part in parts_of(tokenize(text, stem))}
    assert wanted - given <= {"folders"}


def test_every_urn_of_the_examples_is_valid():
    urns = [example.values[1]["urn"] for example in EXAMPLES] + [
        example.values[1].get("endpoint") for example in EXAMPLES
    ]
    assert all(is_urn(urn) for urn in urns if urn is not None)


def test_systems_are_listed_by_the_names_of_their_files():
    assert [system.id for system in NAMING.systems()] == list(SHEETS)
    assert all(system.notes is None or system.notes.endswith(".") for system in NAMING.systems())


def test_no_platform_is_both_registered_and_not():
    stated: dict[str | None, set[bool]] = {}
    for sheet in SHEETS.values():
        stated.setdefault(sheet["platform"], set()).add(sheet["registered"])
    assert {platform for platform, words in stated.items() if len(words) > 1} == set()
