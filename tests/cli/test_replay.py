"""``replay``: the difference to what a ledger sent, and its delivery."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support.sample_events import dataset, event

TEST = ("--set", "naming.env=TEST")


@pytest.fixture
def ledger(run):
    """Return the ledger of a file target, with a log."""
    events = [
        event(kind, f"2026-11-20T0{hour}:00:00Z", inputs=[dataset("d.s.orders")], outputs=[dataset("d.s.report")])
        for hour, kind in enumerate(("START", "COMPLETE"), 1)
    ]
    Path("events.ndjson").write_text("".join(json.dumps(one) + "\n" for one in events))
    assert run("emit", "events.ndjson", "--to", "file:out.ndjson", "--ledger", "l.db").exit_code == 0
    return "l.db"


def lines(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_log_of_a_ledger_is_used_by_later_commands(run, ledger):
    later = event("COMPLETE", "2026-11-20T03:00:00Z", job="etl.later", run="01a1f6ae-0000-7000-8000-000000000003")
    Path("later.ndjson").write_text(json.dumps(later))
    assert run("emit", "later.ndjson", "--to", "file:out.ndjson", "--ledger", ledger).exit_code == 0
    assert "3 events replayed: 0 differences" in run("replay", ledger, "--dry-run").stderr
    shutil.rmtree(f"{ledger}.log")
    latest = {**later, "run": {"runId": "01a1f6ae-0000-7000-8000-000000000004"}}
    Path("latest.ndjson").write_text(json.dumps(latest))
    assert run("emit", "latest.ndjson", "--to", "file:out.ndjson", "--ledger", ledger).exit_code == 0
    result = run("replay", ledger, "--dry-run")
    assert "The log does not have all events of the ledger" in result.stderr
    assert "1 events replayed: 0 differences" in result.stderr


def test_dry_run_shows_nothing_if_nothing_changes(run, ledger):
    result = run("replay", ledger, "--dry-run")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "2 events replayed: 0 differences" in result.stderr


def test_dry_run_shows_numbers_and_examples(run, ledger):
    result = run("replay", ledger, "--dry-run", *TEST)
    assert result.exit_code == 0
    rows = [line.split("  ") for line in result.stdout.splitlines()]
    assert [[cell.strip() for cell in row if cell][:3] for row in rows][1:] == [
        ["2", "new", "dataset"],
        ["1", "changed", "dataJob dataJobInputOutput"],
        ["1", "changed", "dataProcessInstance dataProcessInstanceInput"],
        ["1", "changed", "dataProcessInstance dataProcessInstanceOutput"],
        ["2", "no longer written", "dataset"],
    ]
    assert not Path("out.ndjson").read_text().count(",TEST)")


def test_settings_file_shows_moves_and_writes_their_files(run, ledger):
    Path("new.yml").write_text("naming: {env: TEST}\n")
    result = run("replay", ledger, "--dry-run", "--settings", "new.yml", "--moves", "moves", "--json")
    assert result.exit_code == 0
    assert {row["what"] for row in map(json.loads, result.stdout.splitlines()) if "what" in row} == {"move"}
    assert [row["target"].endswith(",TEST)") for row in lines("moves/mapping.jsonl")] == [True, True]


def test_difference_is_delivered_to_the_target_of_the_ledger(run, ledger):
    before = len(lines("out.ndjson"))
    result = run("replay", ledger, "--to", "file:out.ndjson", *TEST)
    assert result.exit_code == 0, result.stderr
    sent = lines("out.ndjson")[before:]
    assert {row["entityUrn"].rpartition(",")[2] for row in sent if row["entityType"] == "dataset"} == {"TEST)"}
    assert "no longer written: 2 entities, such as urn:li:dataset:" in result.stderr
    assert "0 differences" in run("replay", ledger, "--dry-run", *TEST).stderr
    result = run("replay", ledger, "--to", "file:out.ndjson", *TEST)
    assert (result.exit_code, "no longer written" in result.stderr) == (0, False)
    assert len(lines("out.ndjson")) == before + len(sent)


def test_ledger_is_not_replayed_to_the_target_of_another(run, ledger):
    result = run("replay", ledger, "--to", "file:other.ndjson")
    assert (result.exit_code, "--new-ledger" in result.stderr) == (2, True)
    result = run("replay", ledger, "--to", "file:other.ndjson", "--new-ledger", "other.db")
    assert result.exit_code == 0, result.stderr
    key = ("entityUrn", "aspectName", "changeType")
    assert [[row[name] for name in key] for row in lines("other.ndjson")] == [
        [row[name] for name in key] for row in lines("out.ndjson")
    ]


def test_catalogue_is_made_of_a_log(run, ledger):
    assert run("replay", ledger, "--to", "catalog:new.db").exit_code == 0
    assert run("emit", "events.ndjson", "--to", "catalog:emitted.db").exit_code == 0
    assert run("list", "new.db").stdout.replace("new.db", "") == run("list", "emitted.db").stdout.replace(
        "emitted.db", ""
    )


def test_catalogue_is_replayed_in_place(run):
    Path("events.ndjson").write_text(
        json.dumps(event("START", "2026-11-20T01:00:00Z", outputs=[dataset("d.s.report")]))
    )
    assert run("emit", "events.ndjson", "--to", "catalog:shop.db").exit_code == 0
    assert "new                dataset" in run("replay", "shop.db", "--dry-run", *TEST).stdout
    assert run("replay", "shop.db", "--to", "catalog:shop.db", *TEST).exit_code == 0
    assert ",TEST)" in run("list", "shop.db", "datasets").stdout


def test_target_or_dry_run_is_required(run, ledger):
    assert run("replay", ledger).exit_code == 2
    assert run("replay", ledger, "--dry-run", "--to", "file:out.ndjson").exit_code == 2


def test_ledger_without_a_log_is_an_error(run):
    Path("events.ndjson").write_text(json.dumps(event("START", "2026-11-20T01:00:00Z")))
    run("emit", "events.ndjson", "--to", "file:out.ndjson", "--ledger", "l.db")
    shutil.rmtree("l.db.log")
    result = run("replay", "l.db", "--dry-run")
    assert (result.exit_code, "the ledger has no event log" in result.stderr) == (3, True)
