"""``emit`` without a ledger: calls that hold a part of a run each."""

from __future__ import annotations

import json

import pytest

from dh_bridge.catalog.store import Catalog

ID = "01938a9c-0000-7000-8000-000000000001"
RUN = f"urn:li:dataProcessInstance:{ID}"
PROPERTIES = "dataProcessInstanceProperties"


def written(path, kind, second, **facets):
    event = {
        "eventType": kind, "eventTime": f"2026-11-20T01:00:{second:02d}Z", "producer": "https://example.com/me",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": ID, "facets": facets}, "job": {"namespace": "shop", "name": "daily.load"},
        "inputs": [{"namespace": "s3://lake", "name": "a"}],
    }  # fmt: skip
    path.write_text(json.dumps(event) + "\n")
    return str(path)


@pytest.fixture
def start(tmp_path):
    return written(tmp_path / "start.ndjson", "START", 0, first={"x": 1})


@pytest.fixture
def end(tmp_path):
    return written(tmp_path / "end.ndjson", "COMPLETE", 9, errorMessage={"message": "slow"})


def report(path):
    return {line["path"]: line["outcome"] for line in map(json.loads, path.read_text().splitlines())}


@pytest.mark.parametrize(("version", "arrives"), [("0.15.0", False), ("1.7", True)])
def test_json_file_reports_omitted_partial_run_properties(run, tmp_path, end, version, arrives):
    to = ("--to", "file:out.json", "--datahub-version", version, "--report", "report.ndjson")
    result = run("emit", end, *to)
    assert result.exit_code == 0, result.stderr
    lines = [line for line in result.stderr.splitlines() if "left out by" in line]
    assert len(lines) == 1 - arrives
    for line in lines:
        assert "--ledger FILE" in line
        assert "single_event" in line
        assert line.endswith(": 2")
    names = [item["aspectName"] for item in json.loads((tmp_path / "out.json").read_text())]
    assert (PROPERTIES in names) is arrives
    outcome = "property" if arrives else "dropped"
    assert report(tmp_path / "report.ndjson")["$.run.facets.errorMessage.message"] == outcome


@pytest.mark.parametrize("order", [("start", "end"), ("end", "start")])
def test_partial_deliveries_by_processes_merge_into_one_run(run, gms, request, order):
    for name in order:
        result = run("emit", request.getfixturevalue(name), "--to", f"rest:{gms.url}")
        assert result.exit_code == 0, result.stderr
        assert "left out" not in result.stderr
    with Catalog(gms.place, readonly=True) as catalog:
        found = catalog.aspect(RUN, PROPERTIES)
    assert found["created"]["time"] == 1795136400000
    stated = found["customProperties"]
    assert stated["openlineage.facet.first"] == '{"x":1}'
    assert stated["openlineage.errorMessage.message"] == "slow"
    assert stated["openlineage.eventType"] == "COMPLETE"


def test_verify_finds_every_part_of_a_run(run, gms, start, end):
    for events in (start, end):
        run("emit", events, "--to", f"rest:{gms.url}")
    for events in (start, end):
        result = run("verify", events, "--to", f"rest:{gms.url}")
        assert "0 missing, 0 trimmed" in result.stderr
        assert RUN not in result.stdout


def test_explain_shows_the_outcome_without_a_ledger(run, end):
    result = run("explain", end, "--json")
    outcomes = {line["path"]: line["outcome"] for line in map(json.loads, result.stdout.splitlines())}
    assert outcomes["$.run.facets.errorMessage.message"] == "property"
