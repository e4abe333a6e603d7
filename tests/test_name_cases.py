"""Small inputs of public bug reports, whose datasets went wrong; `tests/cases` has them."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from textwrap import dedent

import pytest
import yaml
from click.testing import CliRunner

from dh_bridge import Bridge
from dh_bridge.cli import commands
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
    # two paths with one symlink: two tables of that name in turn, or one that was moved
    (
        "05-delta-two-names.ndjson",
        {"dbfs,/mnt/bronze/po_header", "dbfs,/mnt/lake/mart/po"},
        "dbfs,/mnt/lake/poc/test_temp",
        "dbfs,/mnt/lake/poc/gold/temp/test",
    ),
    (
        "21-iceberg-glue-path-symlink.ndjson",
        {"s3,landing/buyers", "s3,acme-lake/gold/x"},
        "glue,silver.buying_group",
        "s3,acme-lake/iceberg_warehouse/silver/buying_group",
    ),
]


@pytest.mark.parametrize(("file", "others", "preferred", "double"), DOUBLES)
def test_double_that_single_events_do_not_prove_is_a_finding_with_a_rule_that_works(
    file, others, preferred, double, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    # The rule is taken from the report as a user copies it, and given to the next command. Each order runs two commands, so every
    # fifth order is tried.
    for order in list(permutations([*raws(file), *_again(file)]))[::5]:
        Path("day.ndjson").write_bytes(b"\n".join(order))
        checked = CliRunner().invoke(commands, ["check", "day.ndjson"])
        assert checked.exit_code == 1
        report = checked.stdout.splitlines()
        assert [line for line in report if line[:1].isdigit()] == [
            "1. Tables under several names [double-name: 1 finding]"
        ]
        (start,) = [number for number, line in enumerate(report, 1) if "Rule to complete or to decide" in line]
        Path("rules.yml").write_text(dedent("\n".join(report[start:])), encoding="utf-8")
        assert datasets(list(order)) == {*others, preferred, double}
        assert datasets(list(order), **yaml.safe_load(Path("rules.yml").read_text())) == {*others, preferred}
        checked = CliRunner().invoke(commands, ["check", "day.ndjson", "-c", "rules.yml"])
        assert (checked.exit_code, checked.stdout) == (0, "")


def _again(file):
    """Return the first event once more, of the next day."""
    event = json.loads(raws(file)[0])
    event["eventTime"] = "2026-11-07T01:00:00Z"
    event["run"]["runId"] = "0193022e-4500-7000-8000-000000000001"
    return [json.dumps(event).encode()]
