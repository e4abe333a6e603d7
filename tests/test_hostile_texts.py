"""Texts that are made to be read again and again: a reader that goes back at each place would take hours over a megabyte."""

from __future__ import annotations

import json

import pytest
from support.sample_events import event

from dh_bridge import translate
from dh_bridge.columns import SchemaFacetField, schema_fields
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.naming import Naming
from dh_bridge.redaction import REDACTED, redact
from dh_bridge.settings.naming import NamingSettings

LONG = 1_000_000
SECRET = "hunter2hunter2"  # noqa: S105 - what the tests look for
JWT = f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{SECRET}.c2ln"


@pytest.mark.parametrize(
    ("before", "behind"),
    [
        (f"https://ann:{SECRET}@h ", "a" * LONG),
        ("https://h user@x " + "a" * LONG, f" https://ann:{SECRET}@h"),
        ("https://h user@x " + "a.b+c-" * (LONG // 6), f"://ann:{SECRET}@h"),
        ("eyJ-" * (LONG // 4), f" {JWT}"),
        (f"{JWT} ", "eyJabcdefgh-" * (LONG // 12) + "."),
        ("eyJabcdefgh." * (LONG // 12), f" {JWT}"),
        (f"?token={SECRET} ?", "key" * (LONG // 3)),
        ("-----BEGIN " * (LONG // 11), f"-----BEGIN PRIVATE KEY-----{SECRET}"),
    ],
    ids=["user", "word", "scheme", "heads", "one head", "tails", "query", "keys"],
)
def test_secret_is_found_behind_a_similar_text(before, behind):
    found = redact(before + behind)
    assert SECRET not in found
    assert "***" in found or REDACTED in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (JWT, REDACTED),
        (f"a.{JWT}-x, {JWT}", f"a.{REDACTED}, {REDACTED}"),
        ("eyJhbGci.eyJzdWIi.c2ln", "eyJhbGci.eyJzdWIi.c2ln"),
        ("eyJ-" + JWT, REDACTED),
        (f"eyJshort.{JWT}", f"eyJshort.{REDACTED}"),
        ("eyJabcdefghijkl.short.x", "eyJabcdefghijkl.short.x"),
    ],
)
def test_token_is_known_by_its_first_two_parts(text, expected):
    assert redact(text) == expected


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("gs://b", "a/" * (LONG // 2)),
        ("s3://b", "a/" * (LONG // 2) + "f.parquet"),
        ("postgres://h:1", "a." * (LONG // 2)),
        ("x://h=?" + "key" * (LONG // 3), "a"),
        ("x://h?" + "key=&" * (LONG // 5), "a"),
        ("a:" * (LONG // 2), "a"),
    ],
    ids=["folders", "files", "dots", "query", "queries", "colons"],
)
def test_name_without_end_is_a_dataset_all_the_same(namespace, name):
    found = translate([event(inputs=[{"namespace": namespace, "name": name}])])
    assert found.rejected == []
    assert any(one.entity_type == "dataset" for one in found.proposals)


def test_folders_of_a_name_have_containers_down_to_the_64th():
    naming = Naming(NamingSettings())
    few, many = ("/".join(f"f{number}" for number in range(count)) + "/x.csv" for count in (64, 100))
    assert naming("s3://bucket", few).containers == naming("s3://bucket", many).containers
    assert len(naming("s3://bucket", few).containers) == 65


@pytest.mark.parametrize(
    "text",
    [
        "array<" * 9_000 + "int" + ">" * 9_000,
        "struct<a:" * 6_000 + "int" + ">" * 6_000,
        "int" + "[]" * 8_000,
        "array of " * 2_000 + "int",
        '{"type":"array","items":' * 2_000 + '"int"' + "}" * 2_000,
        "map<string," * 5_000 + "int" + ">" * 5_000,
    ],
    ids=["array", "struct", "brackets", "of", "avro", "map"],
)
def test_deeply_nested_type_is_one_bounded_column(text):
    found = schema_fields([SchemaFacetField("a", text)], platform="hive")
    assert found.fields[0]["fieldPath"] == "a"
    assert len(found.fields) <= 15


def test_types_are_opened_sixty_levels_deep_and_no_deeper():
    def paths(levels):
        text = "struct<" + "x:int," * 200 + "a:" + "array<" * levels + "struct<b:int>" + ">" * levels + ">"
        return {one["fieldPath"] for one in schema_fields([SchemaFacetField("t", text)], platform="hive").fields}

    assert "t.a.b" in paths(60)
    assert paths(70) == {"t"}


def test_no_leaf_of_a_hostile_event_is_lost():
    stated = event(run_facets={"acme": {"x": "https://h user@x " + "a" * LONG}})
    found = translate([stated], report=True)
    assert "acme" in json.dumps([json.loads(ndjson_line(one)) for one in found.proposals])
    assert {line["outcome"] for line in found.report.lines() if ".acme." in line["path"]} == {"property"}
