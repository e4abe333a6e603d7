"""Dataset names of real events: every one is read in one way, and only toy namespaces are unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dh_bridge.settings.naming import NamingSettings
from dh_bridge.translation.naming import Naming

CORPUS = Path(__file__).resolve().parents[3].parent / "shared" / "corpus"
NAMING = Naming(NamingSettings())
TOYS = {
    "123", "any", "backyard", "cupboard", "food_delivery", "grandmas.kitchen", "input_namespace", "laurents-orchard",
    "my-dataset-namespace", "my-datasource-namespace", "openlineage", "output_namespace",
}  # fmt: skip

needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason=f"the events are expected in {CORPUS}")


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


def corpus_pairs() -> set[tuple[str, str]]:
    return {pair for path in CORPUS.rglob("*.json") for pair in _pairs(json.loads(path.read_text(encoding="utf-8")))}


@needs_corpus
def test_only_toy_namespaces_are_unknown(record_property):
    pairs = corpus_pairs()
    unknown = {pair for pair in pairs if NAMING(*pair).system is None}
    record_property("names", len(pairs))
    record_property("unknown", len(unknown))
    assert len(pairs) > 100
    assert {namespace for namespace, _ in unknown} <= TOYS
    assert not [pair for pair in pairs if "unread-name" in NAMING(*pair).notes]


@needs_corpus
def test_no_real_name_is_ambiguous():
    for namespace, name in corpus_pairs():
        matches = NAMING._place(namespace, None).matches
        assert len({match.reader.id for match in matches if match.reader.read(name, match.parts)}) <= 1
