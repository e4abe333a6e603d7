"""``emit`` with one ledger and two places: a ledger knows where it delivered to, and says what another place will not get."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing

import pytest

EVENT = "event.json"
ELSEWHERE = ": proposals that were sent there are not sent again (use one ledger for each target)"


@pytest.fixture(autouse=True)
def _event(tmp_path):
    output = {
        "eventType": "COMPLETE",
        "eventTime": "2024-05-01T10:00:00Z",
        "producer": "https://example.com/me",
        "run": {"runId": "01890d3e-0000-7000-8000-000000000001"},
        "job": {"namespace": "n", "name": "j"},
    }
    (tmp_path / EVENT).write_text(json.dumps(output))


def test_ledger_of_another_target_warns_once(run, tmp_path):
    def output_of(*words: str) -> str:
        result = run("emit", EVENT, "--ledger", "l.db", *words)
        assert result.exit_code == 0
        return result.stderr

    assert ELSEWHERE not in output_of("--to", "file:one.ndjson", "--dry-run")
    assert ELSEWHERE not in output_of("--to", "file:one.ndjson")
    assert ELSEWHERE not in output_of("--to", f"file:{tmp_path / 'one.ndjson'}")
    assert ELSEWHERE not in output_of("--to", "file:two.ndjson", "--full", "--dry-run")
    dry, wet = output_of("--to", "file:two.ndjson", "--dry-run"), output_of("--to", "file:two.ndjson")
    assert f"this ledger belongs to the target file:{tmp_path / 'one.ndjson'}{ELSEWHERE}" in dry
    assert ELSEWHERE in wet
    assert (tmp_path / "two.ndjson").read_text() == ""
    assert ELSEWHERE not in output_of("--to", "file:two.ndjson", "--full")
    assert f"belongs to the target file:{tmp_path / 'two.ndjson'}{ELSEWHERE}" in output_of("--to", "file:one.ndjson")


@pytest.mark.parametrize("to", [("file:one.ndjson", "--ledger", "l.db"), ("catalog:c.db",)], ids=str)
def test_events_processed_before_are_reported_and_not_counted(run, to):
    assert "No changes" not in run("emit", EVENT, "--to", *to).stderr
    again = run("emit", EVENT, "--to", *to)
    assert "No changes: all events were already processed." in again.stderr
    counts = dict(line.split() for line in again.stderr.splitlines() if len(line.split()) == 2)
    assert counts == {"events": "1", "runs": "1", "jobs": "0", "datasets": "0", "proposals": "0"}


def test_ledger_remembers_a_server_without_its_secrets(run, gms):
    words = ("emit", EVENT, "--ledger", "l.db", "--datahub-version", "1.4", "--to")
    assert run(*words, "rest:", "--set", f"rest.server={gms.url}/", "--set", "rest.token=hunter2").exit_code == 0
    assert ELSEWHERE not in run(*words, f"rest:{gms.url}").stderr
    assert f"belongs to the target rest:{gms.url}{ELSEWHERE}" in run(*words, "file:out.ndjson").stderr
    with closing(sqlite3.connect("l.db")) as file:
        assert "hunter2" not in str(file.execute("SELECT * FROM note").fetchall())


def test_ledger_of_which_nothing_arrived_delivered_nowhere(run):
    words = ("emit", EVENT, "--ledger", "l.db", "--datahub-version", "1.4", "--set", "rest.retries=0", "--to")
    assert run(*words, "rest:http://127.0.0.1:1").exit_code == 3
    result = run(*words, "file:out.ndjson")
    assert ELSEWHERE not in result.stderr
    assert result.exit_code == 0


def test_ledger_of_which_nothing_arrived_is_no_catalogue_either(run):
    words = (
        "--ledger",
        "l.db",
        "--datahub-version",
        "1.4",
        "--set",
        "rest.retries=0",
        "--to",
        "rest:http://127.0.0.1:1",
    )
    assert run("emit", EVENT, *words).exit_code == 3
    result = run("emit", EVENT, "--to", "catalog:l.db")
    assert result.exit_code == 2
    assert "--to catalog:l.db: this file is the ledger of another target, not a catalogue" in result.stderr


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_catalogue_is_the_ledger_of_itself_alone(more, run, tmp_path):
    assert run("emit", EVENT, "--to", "catalog:c.db").exit_code == 0
    result = run("emit", EVENT, "--to", "file:out.ndjson", "--ledger", "c.db", *more)
    assert result.exit_code == 2
    assert (
        "--ledger c.db: this file is a catalogue, and can be the ledger of itself only (use another file)"
        in result.stderr
    )
    assert not (tmp_path / "out.ndjson").exists()
    assert run("emit", EVENT, "--to", "file:out.ndjson", "--ledger", "l.db").exit_code == 0
    result = run("emit", EVENT, "--to", "catalog:l.db", *more)
    assert result.exit_code == 2
    assert (
        f"--to catalog:l.db: this file is the ledger of file:{tmp_path / 'out.ndjson'}, not a catalogue"
        in result.stderr
    )
