"""Small inputs of public bug reports, whose datasets went wrong; `tests/cases` has them."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

from dh_bridge import Bridge
from dh_bridge.checking import check_events
from dh_bridge.openlineage.parsing import parse_event
from dh_bridge.settings import Settings

CASES = Path(__file__).parent / "cases"


def raws(name):
    text = (CASES / name).read_text(encoding="utf-8")
    if name.endswith(".ndjson"):
        return [line.encode() for line in text.splitlines() if line.strip()]
    events = json.loads(text)
    return [json.dumps(event).encode() for event in (events if isinstance(events, list) else [events])]


def datasets(events, **settings):
    found = Bridge(Settings(**settings)).translate(events)
    urns = {proposal.entity_urn for proposal in found.proposals if proposal.entity_type == "dataset"}
    return {urn.removeprefix("urn:li:dataset:(urn:li:dataPlatform:").removesuffix(",PROD)") for urn in urns}


WRITTEN = [
    ("07_glue_trailing_slash.json", {"glue,db1.orders"}),
    ("11_untyped_schema.json", {"unknown,shop/in.orders", "unknown,shop/out.orders"}),
    ("20-iceberg-jdbc-catalog.ndjson", {"iceberg,sales.orders", "iceberg,sales.agg"}),
]


@pytest.mark.parametrize(("file", "expected"), WRITTEN)
def test_datasets_of_a_case(file, expected):
    for order in permutations(raws(file)):
        assert datasets(list(order)) == expected


def test_columns_without_types_have_no_type_where_no_connector_owns_the_schema():
    found = Bridge(Settings()).translate(raws("11_untyped_schema.json"))
    schemas = [proposal for proposal in found.proposals if proposal.aspect_name == "schemaMetadata"]
    assert len(schemas) == 2
    types = {next(iter(field["type"]["type"])) for schema in schemas for field in schema.value["fields"]}
    assert {name.rpartition(".")[2] for name in types} == {"NullType"}


DOUBLES = [
    (
        "05-delta-two-names.ndjson",
        4,
        3,
    ),  # two paths with one symlink: two tables of that name in turn, or one that was moved
    ("21-iceberg-glue-path-symlink.ndjson", 4, 3),
]


@pytest.mark.parametrize(("file", "without_rule", "with_rule"), DOUBLES)
def test_double_that_single_events_do_not_prove_is_a_finding_with_a_rule_that_works(file, without_rule, with_rule):
    events = raws(file)
    for order in permutations(events):
        findings = check_events([parse_event(raw, "here") for raw in order], Settings()).findings()
        (finding,) = [found for found in findings if found.kind == "double-name"]
        assert len(datasets(list(order))) == without_rule
        assert len(datasets(list(order), naming={"rules": [finding.value]})) == with_rule
