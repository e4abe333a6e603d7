"""docs/mapping.json: every facet is in it, by the name of its schema, and every leaf either mapped or knowingly not."""

from __future__ import annotations

import json
import re
from pathlib import Path

from support.public_data import SPEC, needs_spec

from dh_bridge.facets import specs

ROOT = Path(__file__).resolve().parents[2]
PAGE = json.loads((ROOT / "docs" / "mapping.json").read_text(encoding="utf-8"))
ENVELOPE = {"eventTime", "eventType", "producer", "schemaURL", "run.id", "job.name", "job.namespace"}
SIDES = {f"{side}.{leaf}" for side in ("input", "output", "dataset") for leaf in ("name", "namespace")}


def test_mapping_covers_the_full_envelope():
    assert set(PAGE["mapped"]["core"]) == ENVELOPE | SIDES
    assert PAGE["mapped"]["core"]["run.id"].startswith("dataProcessInstance")


def test_values_are_texts_and_lists_as_the_form_wants():
    for facet, leaves in PAGE["mapped"].items():
        assert leaves, facet
        assert all(isinstance(target, str) and target for target in leaves.values()), facet
    assert all(isinstance(leaves, list) and leaves for leaves in PAGE["knownUnmapped"].values())


def test_mapping_lists_each_facet_field_as_mapped_or_unmapped():
    both = [
        (facet, leaf)
        for facet, leaves in PAGE["knownUnmapped"].items()
        for leaf in leaves
        if leaf in PAGE["mapped"].get(facet, {})
    ]
    assert both == []
    rows = sum(len(spec.outcomes) for spec in specs())
    listed = sum(len(leaves) for name, leaves in PAGE["mapped"].items() if name != "core")
    assert listed + sum(len(leaves) for leaves in PAGE["knownUnmapped"].values()) >= rows * 0.9


@needs_spec
def test_mapping_uses_schema_names_of_specified_facets():
    documents = [
        json.loads(path.read_text(encoding="utf-8"))
        for path in [*SPEC.glob("facets/*.json"), *SPEC.glob("registry/**/facets/*.json")]
    ]
    schemas = {name for document in documents for name in document["$defs"] if name.endswith("Facet")}
    keys = {key.replace("_", "").lower() for document in documents for key in document.get("properties", ())}
    written = {*PAGE["mapped"], *PAGE["knownUnmapped"]} - {"core"}
    called = {name for name in written if name.endswith("Facet")}
    assert len(called & schemas) > 40
    unknown = {re.sub("(Run|Job|Dataset)Facet$", "", name).lower() for name in called - schemas}
    assert unknown & keys == set()  # the others are facets of users, such as that of CONTRIBUTING.md
    own = {spec.keys[0] for spec in specs() if spec.producer}
    assert {name for name in written if not name.endswith("Facet")} <= own
