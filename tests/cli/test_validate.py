"""``dh-bridge validate``: one line per finding, events and proposals alike."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dh_bridge.datahub.proposal import ndjson_line, patch, upsert
from dh_bridge.openlineage.events import DeadLetter

URN = "urn:li:dataset:(urn:li:dataPlatform:s3,lake/a,PROD)"
JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,shop,default),load)"
GOOD = upsert("dataset", URN, "status", {"removed": True})
BAD = upsert("dataset", URN, "status", {"removed": "yes"})
PATCHED = patch("dataset", URN, "datasetProperties", [{"op": "add", "path": "/customProperties/a", "value": "1"}])
EVENT = {
    "eventTime": "2024-05-01T10:00:00Z",
    "run": {"runId": "r"},
    "job": {"namespace": "n", "name": "j"},
}


def test_sound_proposals_have_no_findings(run, scripted):
    scripted()
    result = run("check", "-", stdin=ndjson_line(GOOD) + ndjson_line(PATCHED))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "2 checked, 0 findings\n")


def test_array_of_datahubs_file_source_is_read_too(run, scripted):
    scripted()
    item = json.loads(ndjson_line(PATCHED))
    item["aspect"] = {"value": json.dumps(PATCHED.value), "contentType": "application/json-patch+json"}
    result = run("check", "-", stdin=json.dumps([item]))
    assert (result.exit_code, result.stdout) == (0, "")
    item["aspect"]["value"] = "[not json"
    result = run("check", "-", stdin=json.dumps([item]))
    assert result.exit_code == 1
    assert result.stdout.startswith("stdin:1[0]: no proposal: ")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (ndjson_line(BAD), "dataset/status $.removed: "),
        (b'{"aspectName": "status"}', "no proposal: "),
        (b'{"hello": 1}', ""),
        (b"[[", ""),
        (b"no json", ""),
    ],
)
def test_unsound_lines_are_findings_with_their_place(line, reason, run, scripted):
    scripted()
    result = run("check", "-", stdin=ndjson_line(GOOD) + line)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"stdin:2: {reason}")
    assert result.stderr == "2 checked, 1 findings\n"


def test_proposals_of_another_version_are_no_fault_of_the_translation(run, scripted):
    scripted()
    line = ndjson_line(upsert("dataJob", JOB, "dataTransformLogic", {"transforms": []}))
    result = run("check", "-", "--datahub-version", "0.15.0", stdin=line)
    assert (
        result.stdout
        == "stdin:1: dataJob/dataTransformLogic $: DataHub 0.15.0 has no aspect dataTransformLogic on dataJob\n"
    )
    assert run("check", "-", "--datahub-version", "1.4", stdin=line).exit_code == 0


def test_findings_for_programs_are_json(run, scripted):
    scripted()
    row = json.loads(run("check", "-", "--json", stdin=ndjson_line(BAD)).stdout)
    assert row.keys() == {"place", "reason"}


def test_events_are_judged_by_their_leaves_and_by_their_proposals(run, scripted):
    lines = [
        {"path": "$.run.facets.x", "outcome": "dropped", "target": None, "reason": "malformed"},
        {"path": "$.run.facets.y", "outcome": "dropped", "target": None, "reason": "plan"},
    ]
    scripted([GOOD, BAD], lines)
    result = run("check", "-", stdin=json.dumps(EVENT))
    first, second = result.stdout.splitlines()
    assert first == "stdin:1 $.run.facets.x: malformed"
    assert second.startswith(f"stdin:1 -> {URN}: dataset/status $.removed: ")


def test_profile_decides_what_is_known(run, scripted):
    scripted()
    newer = upsert("dataJob", "urn:li:dataJob:(urn:li:dataFlow:(a,b,c),d)", "dataTransformLogic", {"transforms": []})
    assert run("check", "-", "--datahub-version", "1.4", stdin=ndjson_line(newer)).exit_code == 0
    assert run("check", "-", "--datahub-version", "0.15.0", stdin=ndjson_line(newer)).exit_code == 1


def test_event_that_the_bridge_gives_up_is_a_finding(run, scripted, monkeypatch):
    bridge = scripted()
    translate = bridge.translate
    letter = DeadLetter("stdin:1", "no namespace", b"")
    monkeypatch.setattr(bridge, "translate", lambda _, *, report: translate(letter, report=report))
    assert run("check", "-", stdin=json.dumps(EVENT)).stdout == "stdin:1: no namespace\n"


def test_proposal_that_is_nested_without_end_is_a_finding(run, scripted):
    scripted()
    aspect = {"value": "[" * 100_000 + "]" * 100_000, "contentType": "application/json"}
    line = {"entityType": "dataset", "entityUrn": URN, "changeType": "UPSERT", "aspectName": "status", "aspect": aspect}
    result = run("check", "-", stdin=json.dumps(line) + "\n" + ndjson_line(GOOD).decode())
    assert result.exit_code == 1
    assert result.stdout.startswith("stdin:1: no proposal: ")
    assert result.stderr == "2 checked, 1 findings\n"


def test_job_that_0_15_0_cannot_read_is_a_finding_for_that_version_alone(run):
    event = json.dumps({**EVENT, "job": {"namespace": "a)b", "name": "shop.load"}})
    told = run("check", "-", "--datahub-version", "0.15.0", stdin=event)
    assert told.exit_code == 1
    assert told.stdout.count("unbalanced parenthesis") == 1
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


def test_findings_of_one_kind_are_counted_after_twenty_and_json_has_all(run):
    events = "{}\n" * 100
    result = run("check", "-", stdin=events)
    assert len(result.stdout.splitlines()) == 20
    assert "80 more like this: not an OpenLineage event: run, job and dataset are missing" in result.stderr
    assert len(run("check", "-", "--json", stdin=events).stdout.splitlines()) == 100
