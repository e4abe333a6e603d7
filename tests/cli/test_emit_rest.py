"""``emit --to rest:URL`` end to end: what arrives, what is said, and the exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.gms import VERSIONS, Fault, Gms

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog

EVENTS = str(Path(__file__).resolve().parents[2] / "examples" / "events")


@pytest.fixture(autouse=True)
def _no_naps(monkeypatch):
    monkeypatch.setattr("dh_bridge.sinks.rest.connection.sleep", [].append)


def test_server_ends_up_with_what_a_catalogue_has(run, gms):
    assert run("emit", EVENTS, "--to", f"rest:{gms.url}", "--ledger", "ledger.db").exit_code == 0
    assert run("emit", EVENTS, "--to", "catalog:own.db", "--datahub-version", "1.4").exit_code == 0
    own = run("get", "own.db", "--all").stdout
    assert own.encode() == b"".join(gms.dump())
    assert len(gms.dump()) > 100


@pytest.mark.parametrize("version", VERSIONS)
def test_proposals_are_accepted_by_every_version(run, tmp_path, version):
    with Gms(tmp_path / "other.db", version=version) as gms:
        result = run("emit", EVENTS, "--to", f"rest:{gms.url}", "--ledger", "ledger.db")
        assert result.exit_code == 0, result.stderr
        run("emit", EVENTS, "--to", "catalog:own.db", "--datahub-version", version)
        assert run("get", "own.db", "--all").stdout.encode() == b"".join(gms.dump())


def test_target_version_identity_and_run_are_printed_first(run, gms):
    result = run("emit", EVENTS, "--to", f"rest:{gms.url}", "--run-id", "mine")
    assert result.stderr.splitlines()[1] == (
        f"writing to rest:{gms.url} (DataHub 1.4.0): for DataHub 1.4, identity default, run mine"
    )
    assert {one["runId"] for one in gms.metadata.values()} == {"mine"}
    assert {one["pipelineName"] for one in gms.metadata.values()} == {"dh_bridge"}
    assert result.stdout == ""
    assert "no DataHub version is known" not in result.stderr


def test_target_is_printed_if_settings_name_the_server(run, gms):
    result = run("emit", EVENTS, "--to", "rest:", "--set", f"rest.server={gms.url}/", "--run-id", "mine")
    assert result.stderr.splitlines()[1].startswith(f"writing to rest:{gms.url} (DataHub 1.4.0): ")


def test_dry_run_writes_nothing(run, gms):
    result = run("emit", EVENTS, "--to", f"rest:{gms.url}", "--dry-run")
    assert result.exit_code == 0
    assert result.stderr.splitlines()[1].startswith(f"nothing is written to rest:{gms.url}")
    assert gms.writes == []
    assert "delivered" not in result.stderr


def test_invalid_event_exits_with_1_and_the_others_are_sent(run, gms, tmp_path):
    good = next(Path(EVENTS).rglob("*.ndjson")).read_text(encoding="utf-8").splitlines()[0]
    (tmp_path / "events.ndjson").write_text(good + '\n{"eventTime": 1}\n')
    result = run("emit", "events.ndjson", "--to", f"rest:{gms.url}")
    assert result.exit_code == 1
    assert gms.proposals


def test_wrong_address_is_exit_code_2(run):
    result = run("emit", EVENTS, "--to", "rest:localhost")
    assert result.exit_code == 2
    assert "is not the address of a DataHub server" in result.stderr


@pytest.mark.parametrize(
    ("environ", "options", "named"),
    [
        ({"DATAHUB_GMS_URL": "localhost:8080"}, (), "env DATAHUB_GMS_URL"),
        ({"DATAHUB_GMS_HOST": "localhost:8080"}, (), "env DATAHUB_GMS_HOST"),
        ({}, ("--set", "rest.server=localhost:8080"), "rest.server"),
    ],
)
@pytest.mark.parametrize("words", [("emit", EVENTS, "--to", "rest:"), ("plan", EVENTS, "--to", "rest:"), ("doctor",)])
def test_invalid_address_error_names_its_source(run, monkeypatch, environ, options, named, words):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    result = run(*words, *options)
    stated = f"{named}: 'localhost:8080' is not the address of a DataHub server"
    assert stated in " ".join((result.stdout + result.stderr).split())  # doctor breaks lines
    assert "rest:http" not in result.stdout + result.stderr


def test_unreachable_server_exits_with_3_before_translation(run, gms):
    gms.stop()
    result = run("emit", EVENTS, "--to", f"rest:{gms.url}", "--set", "rest.retries=0")
    assert result.exit_code == 3
    assert "connection failed" in result.stderr
    assert "not delivered" not in result.stderr  # nothing was to be delivered yet


@pytest.mark.parametrize("status", [401, 503])
def test_server_that_does_not_take_it_is_exit_code_3(run, gms, status):
    gms.faults = [Fault(status)] * 50
    result = run("emit", EVENTS, "--to", f"rest:{gms.url}")
    assert result.exit_code == 3
    assert f"Error: rest:{gms.url}: HTTP {status}" in result.stderr
    assert "not delivered" in result.stderr


def test_missing_token_file_exits_with_3_and_queues_all(run, gms, tmp_path):
    token = tmp_path / "token"
    settings = ("--datahub-version", "1.4", "--ledger", "ledger.db", "--set", f"rest.token_file={token}")
    result = run("emit", EVENTS, "--to", f"rest:{gms.url}", *settings)
    assert result.exit_code == 3
    assert "proposals wait in the ledger" in result.stderr
    waiting = [json.loads(line) for line in run("queue", "list", "ledger.db", "--json").stdout.splitlines()]
    assert waiting
    assert all("rest.token_file" in one["reason"] for one in waiting[:100])
    token.write_text("t")
    assert run("emit", EVENTS, "--to", f"rest:{gms.url}", *settings).exit_code == 0
    assert gms.proposals


def test_missing_token_file_without_a_ledger_exits_with_3(run, gms, tmp_path):
    settings = ("--datahub-version", "1.4", "--set", f"rest.token_file={tmp_path / 'token'}")
    result = run("emit", EVENTS, "--to", f"rest:{gms.url}", *settings)
    assert result.exit_code == 3
    assert "rest.token_file" in result.stderr
    assert "not delivered" in result.stderr


def test_poison_proposal_is_exit_code_3_and_the_rest_arrives(run, gms):
    gms.poison = lambda found: "I do not like it" if found.aspect_name == "dataFlowInfo" else None
    result = run("emit", EVENTS, "--to", f"rest:{gms.url}")
    assert result.exit_code == 3
    assert "dataFlowInfo: HTTP 422: I do not like it" in result.stderr
    assert len(gms.dump()) > 100


def test_token_of_the_environment_is_sent_and_never_shown(run, gms, monkeypatch):
    gms.token = "geheim"  # noqa: S105 - none
    monkeypatch.setenv("DATAHUB_GMS_URL", gms.url)
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", "geheim")
    result = run("emit", EVENTS, "--to", "rest:")
    assert result.exit_code == 0
    assert "geheim" not in result.stderr
    gms.token = "other"  # noqa: S105 - none
    result = run("emit", EVENTS, "--to", "rest:")
    assert result.exit_code == 3
    assert "geheim" not in result.stderr


def test_secrets_of_the_area_are_stars_in_config_show(run):
    assigned = ("--set", "rest.token=geheim", "--set", "rest.headers={X-Key: verborgen}")
    shown = run("config", "show", "--json", *assigned).stdout
    assert "geheim" not in shown
    assert "verborgen" not in shown
    rows = {row["key"]: row["value"] for row in map(json.loads, shown.splitlines())}
    assert rows["rest.token"] == "********"
    assert list(rows["rest.headers"]) == ["X-Key"]


def test_rate_is_a_flag(run, gms, monkeypatch):
    monkeypatch.setattr("dh_bridge.sinks.rest.backoff.sleep", [].append)
    assert run("emit", EVENTS, "--to", f"rest:{gms.url}", "--max-rate", "50").exit_code == 0
    assert max(len(one.json["proposals"]) for one in gms.writes) == 50


def test_datahubs_own_rollback_finds_the_run(run, gms, tmp_path):
    run("emit", EVENTS, "--to", f"rest:{gms.url}", "--run-id", "mine")
    command = [str(Path(sys.executable).with_name("datahub")), "ingest", "rollback", "--run-id", "mine", "--force"]
    quiet = {"HOME": str(tmp_path), "DATAHUB_TELEMETRY_ENABLED": "false", "DATAHUB_GMS_URL": gms.url}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | quiet, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    asked = next(one for one in gms.requests if one.path == "/runs?action=rollback")
    assert asked.json == {"runId": "mine", "dryRun": False, "safe": True}
    assert (
        f"deleted {len({urn for urn, _ in gms.metadata})} entities and rolled back {len(gms.metadata)}" in done.stdout
    )


def test_lineage_and_runs_only(run, gms):
    chosen = "writes.aspects=dataJobInputOutput,upstreamLineage,dataProcessInstance*"
    result = run("emit", EVENTS, "--to", f"rest:{gms.url}", "--set", chosen)
    assert result.exit_code == 0
    assert "left out by writes.aspects: schemaMetadata" in result.stderr
    names = {found.aspect_name for found in gms.proposals}
    assert {name for name in names if not name.startswith("dataProcessInstance")} <= {
        "dataJobInputOutput",
        "upstreamLineage",
    }
    before = run(
        "plan", EVENTS, "--to", f"rest:{gms.url}", "--set", chosen, "--fail-on", "new>0", "--fail-on", "changed>0"
    )
    assert before.exit_code == 0, before.stderr


def test_namespace_unreadable_by_0_15_0_is_one_line_per_job(run, tmp_path):
    event = {
        "eventType": "COMPLETE", "eventTime": "2024-05-01T10:00:00Z", "producer": "https://example.com/me",
        "run": {"runId": "01890d3e-0000-7000-8000-000000000001"}, "job": {"namespace": "a)b", "name": "shop.load"},
        "outputs": [{"namespace": "s3://lake", "name": "orders"}],
    }  # fmt: skip
    (tmp_path / "e.ndjson").write_text(json.dumps(event))
    for version, code in (("0.15.0", 3), ("1.4.0", 0)):
        with Gms(tmp_path / f"{version}.db", version=version) as server:
            result = run("emit", "e.ndjson", "--to", f"rest:{server.url}")
            assert result.exit_code == code, result.stderr
            lines = [line for line in result.stderr.splitlines() if line.startswith("not delivered: ")]
            assert len(lines) == (version == "0.15.0")
            assert all("a%29b),shop.load) dataJobInfo, " in line for line in lines)
            assert len(server.writes) == 1
            assert "dataset" in {one.entity_type for one in server.proposals}


def test_token_that_expires_mid_run_loses_nothing_with_a_ledger(run, gms, monkeypatch):
    gms.token, take = "t1", gms.take

    def expiring(*stated):
        take(*stated)
        gms.token = "t2"  # noqa: S105 - none

    gms.take = expiring
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", "t1")
    options = (EVENTS, "--to", f"rest:{gms.url}", "--ledger", "ledger.db")
    monkeypatch.setattr("dh_bridge.sinks.rest.batches.PROPOSALS_PER_REQUEST", 20)
    first = run("emit", *options)
    assert first.exit_code == 3
    assert "HTTP 401" in first.stderr
    assert "DATAHUB_GMS_TOKEN or rest.token" in first.stderr
    assert "waiting" in first.stderr
    gms.take = take
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", "t2")
    assert run("emit", *options).exit_code == 0
    run("emit", EVENTS, "--to", "catalog:whole.db", "--datahub-version", "1.4")
    with Catalog("whole.db", readonly=True) as catalog:
        assert gms.dump() == list(dump_catalog(catalog))
