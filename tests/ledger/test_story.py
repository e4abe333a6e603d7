"""The story of a run: its events by time, what was sent after each, and what they come to; gone with the run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.ledger_batches import LedgerCase, settings
from support.sample_events import dataset, event

from dh_bridge.cli import commands
from dh_bridge.errors import EventError
from dh_bridge.ledger.run_history import read_history
from dh_bridge.options import Options

EVENTS = str(Path(__file__).resolve().parents[2] / "examples" / "events")
RUN = "018cc251-f400-734d-88b3-1e3d63fe6210"
URN = f"urn:li:dataProcessInstance:{RUN}"
OPTIONS = Options(settings(), is_stateful=True)


def at(kind, second, **parts):
    return event(kind, f"2026-11-20T10:00:{second:02}Z", run=RUN, **parts)


def history_of(ledger_case, run=RUN):
    return read_history(ledger_case.catalog.connection, run, OPTIONS, location="here")


def test_run_history_is_in_time_order_with_the_sent_aspects():
    ledger_case = LedgerCase()
    ledger_case.process([at("COMPLETE", 9, outputs=[dataset("d.s.a")])], [at("START", 1)])
    found = history_of(ledger_case)
    assert [(one.type, time // 1_000_000 % 60) for time, one in found.events] == [("START", 1), ("COMPLETE", 9)]
    first, last = (one.sent_aspects for _, one in found.events)
    assert "dataProcessInstanceRunEvent" in first[URN]
    assert "dataProcessInstanceOutput" in last[URN]
    assert any(urn.startswith("urn:li:dataset:") for urn in last)
    assert (found.history.final_type, found.history.attempts) == ("COMPLETE", 1)
    assert found.history.end - found.history.start == 8_000_000


def test_sent_aspects_belong_to_the_last_event_of_the_run():
    ledger_case = LedgerCase()
    other = event("START", "2026-11-20T10:00:02Z", run=RUN.replace("018", "019"), job="app.other")
    sent = ledger_case.process([at("START", 1), other, at("COMPLETE", 9)])
    (_, start), (_, end) = history_of(ledger_case, URN).events
    assert start.sent_aspects == {}
    own = {(urn, name) for urn, names in end.sent_aspects.items() for name in names}
    assert own < {(one.entity_urn, one.aspect_name) for one in sent}
    assert not any("other" in urn for urn, _ in own)


def test_repeated_event_is_in_the_history_once():
    ledger_case = LedgerCase()
    ledger_case.process([at("START", 1)])
    before = history_of(ledger_case)
    ledger_case.process([at("START", 1)], [at("START", 1)])
    assert history_of(ledger_case) == before


def test_run_that_nobody_knows_and_one_that_was_let_go():
    ledger_case = LedgerCase()
    with pytest.raises(EventError, match="here: the ledger has no run x"):
        history_of(ledger_case, "x")
    ledger_case.process([at("COMPLETE", 1)])
    connection = ledger_case.catalog.connection
    connection.execute("UPDATE run SET state = NULL")
    with pytest.raises(EventError, match=f"here: the ledger has deleted run {RUN}"):
        history_of(ledger_case)


def test_story_goes_with_its_run():
    chosen = settings(ledger=settings().ledger.model_copy(update={"retention_days": 1}))
    days = iter([1_795_168_800, 1_795_168_800 + 90 * 86_400, 1_795_168_800 + 180 * 86_400])
    ledger_case = LedgerCase(chosen, clock=lambda: next(days))
    ledger_case.process([at("COMPLETE", 1)])
    for second in (1, 2):
        ledger_case.process(
            [event("START", f"2026-11-20T11:00:0{second}Z", run=RUN.replace("018", "019"), job="app.other")]
        )
    (gone,) = ledger_case.catalog.connection.execute("SELECT id FROM run WHERE state IS NULL").fetchone()
    assert ledger_case.catalog.connection.execute(
        "SELECT count(*) FROM run_history WHERE run = ?", (gone,)
    ).fetchone() == (0,)
    assert ledger_case.catalog.connection.execute("SELECT count(*) FROM run_history").fetchone() == (2,)


def ran(*arguments):
    return CliRunner().invoke(commands, list(arguments), prog_name="dh-bridge")


def test_explain_shows_the_run_history(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert ran("emit", EVENTS, "--to", "file:out.ndjson", "--ledger", "ledger.db").exit_code == 0
    run = "01a1fcf3-ae1a-7325-9ff6-fa80f2885a38"
    shown = ran("explain", "ledger.db", "--run", run).stdout.splitlines()
    assert shown[0] == f"urn:li:dataProcessInstance:{run}"
    assert shown[1].split()[1] == "START"
    assert any("sent  urn:li:dataset:" in line for line in shown)
    assert shown[-1].startswith("7 events, ")
    assert "status COMPLETE, attempts 1, started 20" in shown[-1]
    rows = [json.loads(line) for line in ran("explain", "ledger.db", "--run", run, "--json").stdout.splitlines()]
    assert [row.get("type") for row in rows[:2]] == ["START", "RUNNING"]
    assert rows[-1]["status"] == "COMPLETE"
    assert ran("explain", "ledger.db", "--run", "x").exit_code == 1, "what was looked for was not found"


@pytest.mark.parametrize("arguments", [(), ("--run", "x"), ("--run", "x", EVENTS + "/dbt.ndjson", EVENTS)])
def test_explain_wants_events_or_a_run(arguments):
    assert ran("explain", *arguments).exit_code == 2
