"""``check``: a report, YAML and JSON about events; one finding for each problem of events and proposals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from dh_bridge.checking.kinds import KINDS
from dh_bridge.datahub.proposal import ndjson_line, patch, upsert
from dh_bridge.openlineage.events import DeadLetter

AIRFLOW = "https://github.com/apache/airflow/tree/x"
NAMES = {
    "eventTime": "2026-01-01T00:00:00Z", "eventType": "START", "producer": AIRFLOW,
    "run": {"runId": "018cc251-f400-7026-81fb-56cf8ce05681"}, "job": {"namespace": "ns", "name": "dag.task"},
    "outputs": [{"namespace": "postgres://db", "name": "a.b.c"}, {"namespace": "postgres://db:5432", "name": "a.b.c"}],
}  # fmt: skip
URN = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/a,PROD)"
JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,shop,default),load)"
GOOD = upsert("dataset", URN, "status", {"removed": True})
BAD = upsert("dataset", URN, "status", {"removed": "yes"})
PATCHED = patch("dataset", URN, "datasetProperties", [{"op": "add", "path": "/customProperties/a", "value": "1"}])
EVENT = {
    "eventTime": "2024-05-01T10:00:00Z",
    "producer": AIRFLOW,
    "run": {"runId": "r"},
    "job": {"namespace": "n", "name": "j"},
}


# -- names of events ------------------------------------------------------------------------------------------------


def test_report_has_a_block_with_harm_evidence_rule_and_effect(run):
    result = run("check", "-", stdin=json.dumps(NAMES) + "\n")
    assert (result.exit_code, result.stderr) == (1, "1 event checked: 1 finding\n")
    assert result.stdout.splitlines() == [
        "1. Dataset namespaces that are one server [one-location: 1 finding]",
        "   Rules for one address do not apply to the other one. Datasets of unknown systems exist twice.",
        "   - 2 x the same host, with and without its port: 1 dataset seen under several of these names (a.b.c)",
        "     Rule: no URN changes",
        "       naming:",
        "         locations:",
        "           postgres://db:5432: [postgres://db]",
        "",
    ]


def test_rules_are_settings_that_leave_nothing_to_find(run, tmp_path):
    stdin = json.dumps(NAMES) + "\n"
    page = run("check", "-", "--rules", "-", stdin=stdin).stdout
    assert yaml.safe_load(page) == {"naming": {"locations": {"postgres://db:5432": ["postgres://db"]}}}
    report = run("check", "-", "--rules", "proposed.yml", stdin=stdin)
    assert report.stdout.startswith("1. Dataset namespaces")
    assert (tmp_path / "proposed.yml").read_text() == page
    again = run("check", "-", "-c", "proposed.yml", stdin=stdin)
    assert (again.exit_code, again.stdout, again.stderr) == (0, "", "1 event checked: 0 findings\n")
    assert (
        run("check", "-", "-c", "proposed.yml", "--rules", "-", stdin=stdin).stdout
        == "# 1 event: 0 suggestions, 0 warnings\n"
    )


def test_json_has_one_row_for_each_finding(run):
    result = run("check", "-", "--json", stdin=json.dumps(NAMES) + "\n")
    (row,) = [json.loads(line) for line in result.stdout.splitlines()]
    assert (row["kind"], row["path"], row["count"], row["sure"]) == ("one-location", ["naming", "locations"], 2, True)
    assert row["effect"] == "no URN changes"


def test_ignored_kinds_are_neither_shown_nor_counted(run):
    result = run("check", "-", "--ignore", "one-location", stdin=json.dumps(NAMES) + "\n{}\n")
    assert result.stdout.startswith("1. Invalid events [invalid-event: 1 finding]")
    assert "one-location" not in result.stdout
    result = run(
        "check", "-", "--ignore", "one-location", "--ignore", "invalid-event", stdin=json.dumps(NAMES) + "\n{}\n"
    )
    assert (result.exit_code, result.stdout) == (0, "")
    assert run("check", "-", "--ignore", "quack", stdin="").exit_code == 2


def test_ignored_kind_has_no_rule(run):
    result = run("check", "-", "--ignore", "one-location", "--rules", "-", stdin=json.dumps(NAMES) + "\n")
    assert yaml.safe_load(result.stdout) is None


def test_rules_file_is_no_catalogue(run):
    assert run("demo", "--to", "catalog:shop.db").exit_code == 0
    before = Path("shop.db").read_bytes()
    result = run("check", "-", "--rules", "shop.db", stdin=json.dumps(NAMES))
    assert (result.exit_code, Path("shop.db").read_bytes()) == (2, before)


def test_most_harmful_kind_comes_first(run):
    shown = run("check", "-", stdin=json.dumps({**NAMES, "producer": "https://acme.example/etl"}) + "\n{}\n").stdout
    titles = [line.partition("[")[2].partition(":")[0] for line in shown.splitlines() if line[:1].isdigit()]
    assert titles == ["invalid-event", "one-location", "unknown-producer"]
    assert titles == sorted(titles, key=list(KINDS).index)


# -- single events and proposals ------------------------------------------------------------------------------------


def rows(result):
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_valid_proposals_have_no_findings(run, scripted):
    scripted()
    result = run("check", "-", stdin=ndjson_line(GOOD) + ndjson_line(PATCHED))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "2 proposals checked: 0 findings\n")


def test_array_of_datahubs_file_source_is_read_too(run, scripted):
    scripted()
    item = json.loads(ndjson_line(PATCHED))
    item["aspect"] = {"value": json.dumps(PATCHED.value), "contentType": "application/json-patch+json"}
    result = run("check", "-", stdin=json.dumps([item]))
    assert (result.exit_code, result.stdout) == (0, "")
    item["aspect"]["value"] = "[not json"
    result = run("check", "-", "--json", stdin=json.dumps([item]))
    assert result.exit_code == 1
    (row,) = rows(result)
    assert (row["kind"], row["location"]) == ("invalid-proposal", "stdin:1[0]")
    assert row["text"].startswith("no proposal: ")


@pytest.mark.parametrize(
    ("line", "kind", "reason"),
    [
        (ndjson_line(BAD), "invalid-proposal", "dataset/status $.removed: "),
        (b'{"aspectName": "status"}', "invalid-proposal", "no proposal: "),
        (b'{"hello": 1}', "invalid-event", "not an OpenLineage event"),
        (b"[[", "invalid-event", "not a JSON array of events"),
        (b"no json", "invalid-event", "not JSON"),
    ],
)
def test_invalid_lines_are_findings_with_their_location(line, kind, reason, run, scripted):
    scripted()
    result = run("check", "-", "--json", stdin=ndjson_line(GOOD) + line)
    assert result.exit_code == 1
    (row,) = rows(result)
    assert (row["kind"], row["location"]) == (kind, "stdin:2")
    assert row["text"].removeprefix("stdin:2").lstrip(": ").startswith(reason)
    assert result.stderr.endswith("checked: 1 finding\n")
    assert "stdin:2" in run("check", "-", stdin=ndjson_line(GOOD) + line).stdout


def test_proposals_of_another_version_are_findings_of_that_version(run, scripted):
    scripted()
    line = ndjson_line(upsert("dataJob", JOB, "dataTransformLogic", {"transforms": []}))
    result = run("check", "-", "--datahub-version", "0.15.0", stdin=line)
    text = "stdin:1: dataJob/dataTransformLogic $: DataHub 0.15.0 has no aspect dataTransformLogic on dataJob"
    assert text in result.stdout.splitlines()[3]
    assert run("check", "-", "--datahub-version", "1.4", stdin=line).exit_code == 0


def test_events_are_checked_by_their_fields_and_by_their_proposals(run, scripted):
    lines = [
        {"path": "$.run.facets.x", "outcome": "dropped", "target": None, "reason": "malformed"},
        {"path": "$.run.facets.y", "outcome": "dropped", "target": None, "reason": "plan"},
    ]
    scripted([GOOD, BAD], lines)
    first, second = rows(run("check", "-", "--json", stdin=json.dumps(EVENT)))
    assert (first["kind"], first["location"], first["text"]) == ("invalid-event", "stdin:1 $.run.facets.x", "malformed")
    assert (second["kind"], second["location"]) == ("invalid-proposal", f"stdin:1 -> {URN}")
    assert second["text"].startswith("dataset/status $.removed: ")


def test_event_that_the_bridge_gives_up_is_a_finding(run, scripted, monkeypatch):
    bridge = scripted()
    translate = bridge.translate
    letter = DeadLetter("stdin:1", "no namespace", b"")
    monkeypatch.setattr(bridge, "translate", lambda _, *, report: translate(letter, report=report))
    assert "stdin:1: no namespace" in run("check", "-", stdin=json.dumps(EVENT)).stdout


def test_proposal_that_is_nested_without_end_is_a_finding(run, scripted):
    scripted()
    aspect = {"value": "[" * 100_000 + "]" * 100_000, "contentType": "application/json"}
    line = {"entityType": "dataset", "entityUrn": URN, "changeType": "UPSERT", "aspectName": "status", "aspect": aspect}
    result = run("check", "-", "--json", stdin=json.dumps(line) + "\n" + ndjson_line(GOOD).decode())
    assert result.exit_code == 1
    (row,) = rows(result)
    assert row["text"].startswith("no proposal: ")


def test_job_that_0_15_0_cannot_read_is_a_finding_for_that_version_alone(run):
    event = json.dumps({**EVENT, "job": {"namespace": "a)b", "name": "shop.load"}})
    result = run("check", "-", "--datahub-version", "0.15.0", "--json", stdin=event)
    assert result.exit_code == 1
    assert result.stdout.count("unbalanced parenthesis") == 1
    assert run("check", "-", "--datahub-version", "1.4", stdin=event).exit_code == 0
    urn = "urn:li:dataJob:(urn:li:dataFlow:(openlineage,shop,a%29b),load)"
    line = ndjson_line(upsert("dataJob", urn, "status", {"removed": False}))
    assert f"{urn}: DataHub 0.15.0 cannot read" in run("check", "-", "--datahub-version", "0.15.0", stdin=line).stdout


def test_file_that_emit_writes_for_the_newest_version_has_no_findings(run):
    owners = {"ownership": {"owners": [{"name": "ann", "type": "OWNER"}]}}
    tags = {"tags": {"tags": [{"key": "pii", "field": "id"}]}}
    event = {
        **EVENT, "job": {"namespace": "shop", "name": "load", "facets": owners},
        "outputs": [{"namespace": "s3://lake", "name": "orders", "facets": {**owners, **tags}}],
    }  # fmt: skip
    assert run("emit", "-", "--to", "file:o.json", stdin=json.dumps(event)).exit_code == 0
    written = Path("o.json").read_text(encoding="utf-8")
    assert "arrayPrimaryKeys" in written
    assert "globalTags/tags/urn:li:tag:pii/" in written
    result = run("check", "o.json")
    assert (result.exit_code, result.stdout) == (0, "")


def test_problems_of_one_kind_are_one_finding_with_few_examples_and_json_has_all(run):
    events = "{}\n" * 100
    result = run("check", "-", stdin=events)
    assert result.stdout.count("stdin:") == 3
    assert "- 100 x not an OpenLineage event: run, job and dataset are missing" in result.stdout
    assert len(run("check", "-", "--json", stdin=events).stdout.splitlines()) == 100
