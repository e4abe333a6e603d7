"""Our names are the names that DataHub's own connectors wrote on real systems."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import yaml

from dh_bridge.naming import Naming
from dh_bridge.settings.naming import NamingRule, NamingSettings

VECTORS = yaml.load((Path(__file__).parent / "join_vectors.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)[
    "vectors"
]
SELECT = {"iceberg_rest": "iceberg", "delta_lake": "delta"}


@cache
def naming_of(env: str, instance: str | None) -> Naming:
    rules = (NamingRule(namespace="{*any}", platform_instance=instance),) if instance else ()
    return Naming(NamingSettings(env=env, rules=rules))


def _cases():
    for vector in VECTORS:
        settings = vector["settings"]
        for pair in [vector["openlineage"], *vector.get("other_forms", [])]:
            label = f"{vector['system']}-{settings.get('platform_instance', 'none')}-{pair['namespace']}-{pair['name']}"
            yield pytest.param(vector, pair, id=label)


def test_vectors_are_all_there():
    assert len(VECTORS) == 251
    assert sum(len(vector.get("other_forms", [])) for vector in VECTORS) > 50


@pytest.mark.parametrize(("vector", "pair"), list(_cases()))
def test_name_joins_what_the_connector_wrote(vector, pair):
    naming = naming_of(vector["settings"]["env"], vector["settings"].get("platform_instance"))
    name = naming(pair["namespace"], pair["name"], select=SELECT.get(vector["system"]))
    assert name.endpoint == name.urn == vector["expected_urn"]
    assert name.level == "table"
    if pair["namespace"].split(":")[0] == vector["openlineage"]["namespace"].split(":")[0]:
        assert name.system == vector["system"]
    assert list(name.containers) == vector["container_urns"]
