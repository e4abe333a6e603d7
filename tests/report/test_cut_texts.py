"""A text that is too long for the search index is cut, and the report, the counts and the commands say so."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from support.report_truth import bridge
from support.sample_events import dataset, event, one, packed

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import commands
from dh_bridge.datahub.proposal import create, ndjson_line, patch
from dh_bridge.datahub.search_texts import MAX_TERM_BYTES, cut_text, long_texts
from dh_bridge.ledger import Ledger
from dh_bridge.openlineage.read import events_of
from dh_bridge.options import Options
from dh_bridge.sinks.catalog import CatalogSink

LONG, OTHER = "€" * 40_000, "a text that fits"
COLUMNS = {
    "fields": [{"name": "a", "type": "int", "description": LONG}, {"name": "b", "type": "int", "description": OTHER}]
}
EVENT = event(
    "COMPLETE",
    job_facets={"documentation": {"description": LONG}},
    outputs=[
        dataset("shop.public.orders", facets={"schema": COLUMNS, "documentation": {"description": OTHER}}),
        dataset("shop.public.returns", facets={"documentation": {"description": LONG}}),
    ],
)


def reported(translation):
    return {line["path"]: (line["outcome"], line["target"], line["reason"]) for line in translation.report.lines()}


def test_cut_field_is_reported_as_cut_and_others_are_not():
    translation = bridge("1.7").translate(packed([EVENT]), report=True)
    lines = reported(translation)
    assert lines["$.job.facets.documentation.description"] == ("mapped", "dataJobInfo.description", "cut")
    columns = "$.outputs[0].facets.schema.fields"
    assert lines[f"{columns}[0].description"] == ("mapped", "schemaMetadata.fields[].description", "cut")
    assert lines[f"{columns}[1].description"] == ("mapped", "schemaMetadata.fields[].description", None)
    tables = "$.outputs[{}].facets.documentation.description"
    assert lines[tables.format(0)] == ("mapped", "datasetProperties.description", None)
    assert lines[tables.format(1)] == ("mapped", "datasetProperties.description", "cut")
    assert translation.counts.cut == 3


def test_size_in_the_mark_is_that_of_the_text_in_the_event():
    value = one(bridge("1.7").translate(packed([EVENT])), "schemaMetadata")
    assert value["fields"][0]["description"] == cut_text(LONG)
    assert value["fields"][0]["description"].endswith("… [cut, 120000 bytes]")


@pytest.mark.parametrize("again", range(4))
def test_long_job_text_is_cut_in_every_translation(again):
    used = Bridge(Settings(datahub_version="1.7"))
    for _ in range(again + 1):
        translation = used.translate(packed([EVENT]))
    assert translation.counts.cut == 3
    assert all(len(ndjson_line(proposal)) < 2 * MAX_TERM_BYTES for proposal in translation.proposals)


def test_ledger_counts_cut_texts_and_writes_them_cut(tmp_path):
    (tmp_path / "e.ndjson").write_text(json.dumps(EVENT))
    for _ in range(2):
        with Catalog(tmp_path / "shop.db") as file:
            ledger = Ledger(file, Options(Settings(datahub_version="1.7"), is_stateful=True), CatalogSink(file))
            ((translation, _),) = [ledger.process_and_deliver([*events_of(*packed([EVENT]), "event[0]")])]
            assert translation.counts.cut in (0, 3)
            (value,) = [file.aspect(urn, "dataJobInfo") for urn in file.entities() if ":dataJob:" in urn]
            assert value["description"] == cut_text(LONG)


def test_emit_counts_the_texts_that_were_cut(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.ndjson").write_text(json.dumps(EVENT) + "\n")
    result = CliRunner().invoke(commands, ["emit", "e.ndjson", "--to", "file:out.ndjson", "--datahub-version", "1.7"])
    assert result.exit_code == 0
    assert ["texts", "cut", "3"] in [line.split() for line in result.output.splitlines()]
    assert max(map(len, (tmp_path / "out.ndjson").read_bytes().splitlines())) < 2 * MAX_TERM_BYTES


def test_text_of_a_run_without_its_start_is_cut_too():
    url = "https://example.com/" + "x" * (2 * MAX_TERM_BYTES)
    created = create("dataProcessInstance", "urn:li:dataProcessInstance:a", "dataProcessInstanceProperties",
                     {"name": "n", "externalUrl": url, "created": {"time": 0, "actor": "urn:li:corpuser:a"}})  # fmt: skip
    assert [text.field for text in long_texts(created, "1.7")] == ["externalUrl"]


def test_explain_shows_the_cut(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "e.ndjson").write_text(json.dumps(EVENT))
    result = CliRunner().invoke(commands, ["explain", "e.ndjson", "--datahub-version", "1.7"])
    assert result.output.count("  (cut: the search index takes 32,766 bytes)") == 3


def test_validate_finds_long_texts_only_in_foreign_proposals(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    urn = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"
    long = patch("dataset", urn, "datasetProperties", [{"op": "add", "path": "/description", "value": LONG}])
    item = json.loads(ndjson_line(long))
    item["aspect"] = {"value": json.dumps(long.value), "contentType": "application/json-patch+json"}
    for written in (ndjson_line(long), json.dumps([item]).encode()):
        result = CliRunner().invoke(commands, ["check", "-"], input=written)
        assert result.exit_code == 1
        assert "dataset/datasetProperties description: the text of a search field has 120,000 bytes." in result.stdout
    written = b"".join(map(ndjson_line, bridge("1.7").translate(packed([EVENT])).proposals))
    result = CliRunner().invoke(commands, ["check", "-", "--datahub-version", "1.7"], input=written)
    assert result.exit_code == 0
