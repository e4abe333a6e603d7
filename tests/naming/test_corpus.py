"""Dataset names of real events: every one is read in one way, and only toy namespaces are unknown."""

from __future__ import annotations

import pytest
from support.sample_events import SOURCES, documents

from dh_bridge.naming import Naming
from dh_bridge.settings.naming import NamingSettings

NAMING = Naming(NamingSettings())
EPHEMERAL = "__dbt__cte__"
"""Prefix of the models of dbt that are no tables; they are left out by `temporary.ephemeral`."""
TOYS = {
    "", "123", "any", "backyard", "cupboard", "food_delivery", "grandmas.kitchen", "input_namespace", "laurents-orchard",
    "my-dataset-namespace", "my-datasource-namespace", "openlineage", "output_namespace", "shop",
}  # fmt: skip


def _pairs(value, key=""):
    if isinstance(value, dict):
        pair = value.get("namespace"), value.get("name")
        if key in {"inputs", "outputs", "inputFields", "dataset"} and all(isinstance(text, str) for text in pair):
            yield pair
        for inner, child in value.items():
            yield from _pairs(child, inner)
    elif isinstance(value, list):
        for child in value:
            yield from _pairs(child, key)


def real_names(source) -> set[tuple[str, str]]:
    return {pair for event in documents(source) for pair in _pairs(event)}


@pytest.mark.parametrize("source", SOURCES)
def test_only_toy_namespaces_are_unknown(source, record_property):
    pairs = real_names(source)
    unknown = {pair for pair in pairs if NAMING(*pair).system is None}
    record_property("names", len(pairs))
    record_property("unknown", len(unknown))
    assert len(pairs) > 80
    assert {namespace for namespace, _ in unknown} <= TOYS
    assert not [pair for pair in pairs if "unread-name" in NAMING(*pair).notes and not pair[1].startswith(EPHEMERAL)]


@pytest.mark.parametrize("source", SOURCES)
def test_no_real_name_is_ambiguous(source):
    for namespace, name in real_names(source):
        matches = NAMING._parse_namespace(namespace, None).matches
        assert len({match.reader.id for match in matches if match.reader.read(name, match.parts)}) <= 1
