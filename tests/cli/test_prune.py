"""``prune``: old runs go, the newest of each job and all that runs said of others stay."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from support.sample_events import dataset, event

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import upsert
from dh_bridge.sinks.base import Delivery, Failure
from dh_bridge.sinks.memory import MemorySink

DPI = "urn:li:dataProcessInstance:"
NOW = datetime.now(timezone.utc)


def key(number):
    return f"018cc251-f400-734d-88b3-{number:012}"


@pytest.fixture
def events():
    """Return the file of six runs of a job, 0 to 250 days old, and of an old one of another job."""
    found = []
    for number in range(6):
        time = (NOW - timedelta(days=50 * number)).isoformat()
        io = {"inputs": [dataset(f"d.s.in{number}")], "outputs": [dataset("d.s.out")]}
        found.append(event("COMPLETE", time, run=key(number), job="app.load", **io))
    found.append(event("COMPLETE", (NOW - timedelta(days=300)).isoformat(), run=key(9), job="app.other"))
    Path("events.ndjson").write_text("".join(json.dumps(one) + "\n" for one in found))
    return "events.ndjson"


def runs_in(path):
    with Catalog(path, readonly=True) as file:
        return {int(urn[-2:]) for urn in file.entities("dataProcessInstance")}


def rest_of(path):
    with Catalog(path, readonly=True) as file:
        return [
            line
            for line in dump_catalog(file)
            if DPI not in json.loads(line)["entityUrn"] and b'"operation"' not in line
        ]


def states(path):
    with Catalog(path, readonly=True) as file:
        return {int(urn[-2:]) for (urn,) in file.connection.execute("SELECT key FROM run")}


def test_list_is_not_written_over_a_ledger(run, events):
    run("emit", events, "--to", "file:gone.ndjson", "--ledger", "l.db")
    result = run("prune", "--to", "file:gone.ndjson", "--ledger", "l.db", "--keep-last", "1", "--hard", "l.db")
    assert (result.exit_code, "--hard l.db is a catalogue or a ledger" in result.stderr) == (2, True)
    assert len(states("l.db")) == 7


def test_old_runs_of_a_catalogue_go_but_the_newest_of_each_job(run, events):
    assert run("emit", events, "--to", "catalog:c.db").exit_code == 0
    before = rest_of("c.db")
    result = run("prune", "--to", "catalog:c.db", "--runs-older-than", "90d", "--keep-last", "1")
    assert (result.exit_code, result.stderr) == (0, "4 runs removed\n")
    assert runs_in("c.db") == states("c.db") == {0, 1, 9}
    assert rest_of("c.db") == before


def test_prune_keeps_the_newest_run_of_a_job_with_old_runs_only(run, events):
    run("emit", events, "--to", "catalog:c.db")
    run("prune", "--to", "catalog:c.db", "--runs-older-than", "24h", "--keep-last", "3")
    assert runs_in("c.db") == {0, 1, 2, 9}
    run("prune", "--to", "catalog:c.db", "--runs-older-than", "24h", "--keep-last", "0")
    assert runs_in("c.db") == {0}


def test_prune_keeps_facts_of_jobs_for_the_next_run(run, events):
    run("emit", events, "--to", "catalog:c.db")
    before = rest_of("c.db")
    run("prune", "--to", "catalog:c.db", "--keep-last", "0")
    Path("next.json").write_text(json.dumps(event("START", NOW.isoformat(), run=key(7), job="app.load")))
    run("emit", "next.json", "--to", "catalog:c.db")
    assert {line for line in before if b"in5" in line} <= set(rest_of("c.db"))
    assert any(b"in5" in line and b"dataJobInputOutput" in line for line in rest_of("c.db"))


def test_elsewhere_the_ledger_knows_which_runs_are_ours(run, events):
    run("emit", events, "--to", "file:out.ndjson", "--ledger", "l.db")
    result = run("prune", "--to", "file:gone.ndjson", "--ledger", "l.db", "--keep-last", "1")
    assert (result.exit_code, result.stderr) == (0, "4 runs removed\n")
    sent = [json.loads(line) for line in Path("gone.ndjson").read_text().splitlines()]
    assert {int(one["entityUrn"][-2:]) for one in sent} == {2, 3, 4, 5}
    assert {(one["aspectName"], json.dumps(one["aspect"])) for one in sent} == {
        ("status", '{"json": {"removed": true}}')
    }
    assert states("l.db") == {0, 1, 9}
    assert "0 runs" in run("prune", "--to", "file:gone.ndjson", "--ledger", "l.db", "--keep-last", "1").stderr


def test_pruned_run_is_restored_by_new_events_or_references(run, events):
    above = {"parent": {"run": {"runId": key(50)}, "job": {"namespace": "ns", "name": "up"}}}
    started = (NOW - timedelta(days=300)).isoformat()
    sent = [
        event("COMPLETE", started, run=key(50), job="up"),
        event("COMPLETE", started, run=key(51), run_facets=above),
    ]
    Path("more.ndjson").write_text("".join(json.dumps(one) + "\n" for one in sent))
    run("emit", events, "more.ndjson", "--to", "file:out.ndjson", "--ledger", "l.db", "--datahub-version", "1.7")
    run("prune", "--to", "file:gone.ndjson", "--ledger", "l.db", "--keep-last", "0", "--runs-older-than", "200d")
    Path("child.json").write_text(json.dumps(sent[1]))
    for file in (events, "child.json"):
        assert (
            run("emit", file, "--to", "file:out.ndjson", "--ledger", "l.db", "--datahub-version", "1.7").exit_code == 0
        )
    last = {}
    for path in ("gone.ndjson", "out.ndjson"):
        for one in map(json.loads, Path(path).read_text().splitlines()):
            if one["aspectName"] == "status":
                last[int(one["entityUrn"][-2:])] = one["aspect"]["json"]["removed"]
    assert last == dict.fromkeys((4, 5, 9, 50, 51), False)


def test_list_for_datahub_delete_instead_of_a_removal(run, events):
    run("emit", events, "--to", "file:out.ndjson", "--ledger", "l.db")
    result = run("prune", "--to", "file:gone.ndjson", "--ledger", "l.db", "--keep-last", "1", "--hard", "urns.txt")
    assert result.stderr == "4 runs are listed in urns.txt\n"
    assert Path("urns.txt").read_text().splitlines() == [f"{DPI}{key(number)}" for number in (2, 3, 4, 5)]
    assert not Path("gone.ndjson").exists()


def test_dry_run_shows_and_leaves_all(run, events):
    run("emit", events, "--to", "catalog:c.db")
    result = run("prune", "--to", "catalog:c.db", "--keep-last", "0", "--dry-run")
    assert result.stdout.splitlines() == [f"{DPI}{key(number)}" for number in (2, 3, 4, 5, 9)]
    assert runs_in("c.db") == {0, 1, 2, 3, 4, 5, 9}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--to", "file:x.ndjson"), "a ledger is required"),
        (("--to", "catalog:none.db"), "no such catalogue"),
        (("--to", "catalog:none.db", "--runs-older-than", "3w"), "is not an age"),
    ],
)
def test_prune_reports_unusable_arguments(run, arguments, words):
    result = run("prune", *arguments)
    assert result.exit_code in {2, 3}
    assert words in result.stderr


def test_run_that_the_target_refuses_stays_in_the_ledger(run, events, monkeypatch):
    run("emit", events, "--to", "file:out.ndjson", "--ledger", "l.db")
    sink = MemorySink()
    refused = f"{DPI}{key(4)}"

    def emit(proposals):
        failed = [Failure(one, "never", retryable=False) for one in proposals if one.entity_urn == refused]
        return Delivery(len(proposals) - len(failed), failed)

    monkeypatch.setattr(sink, "emit", emit)
    monkeypatch.setattr("dh_bridge.delivery.open_sink", lambda *_: sink)
    result = run("prune", "--to", "file:gone.ndjson", "--ledger", "l.db", "--keep-last", "1")
    assert result.exit_code == 3
    assert result.stderr == f"not removed: {refused}: never\n3 runs removed\n"
    assert states("l.db") == {0, 1, 4, 9}


def test_catalogue_wants_no_other_ledger(run, events):
    run("emit", events, "--to", "catalog:c.db")
    assert "is for servers" in run("prune", "--to", "catalog:c.db", "--hard", "urns.txt").stderr
    assert "did you mean catalog:c.db?" in run("prune", "--to", "c.db").stderr
    assert "its own ledger" in run("prune", "--to", "catalog:c.db", "--ledger", "c.db").stderr


# -- checks that have expired --------------------------------------------------------------------------------------------


def checked(day, *columns):
    """Return a run of the first days of November that checks that columns are not null."""
    checks = [{"assertion": "not_null", "success": True, "column": column} for column in columns]
    facets = {"dataQualityAssertions": {"assertions": checks}} if checks else {}
    one = dataset("d.s.t", inputFacets=facets)
    return event("COMPLETE", f"2026-11-{day:02}T10:00:00Z", run=key(day), job="app.check", inputs=[one])


@pytest.fixture
def checks(run, monkeypatch):
    """Return a function that sends runs to a target: each call one run."""
    monkeypatch.setenv("DH_BRIDGE_ASSERTIONS__EXPIRE", "runs:1")

    def emit_day(target, day, *columns):
        Path("one.json").write_text(json.dumps(checked(day, *columns)))
        assert run("emit", "one.json", *target).exit_code == 0

    return emit_day


SERVER = ("--to", "file:out.ndjson", "--ledger", "l.db")


def sent_of_checks():
    sent = [json.loads(line) for line in Path("out.ndjson").read_text().splitlines()]
    return [(one["entityUrn"], one["aspectName"]) for one in sent if one["entityType"] == "assertion"]


def test_expired_assertions_are_listed_once_for_hard_deletion(run, checks):
    checks(SERVER, 1, "a", "b")
    checks(SERVER, 2, "b")
    result = run("prune", *SERVER, "--expired", "--hard", "urns.txt")
    assert result.stderr == "1 checks are listed in urns.txt\n"
    (retired,) = Path("urns.txt").read_text().splitlines()
    assert (retired, "status") in sent_of_checks()
    before = sent_of_checks()
    checks(SERVER, 3, "b")
    assert [one for one in sent_of_checks()[len(before) :] if one[0] == retired] == []
    assert run("prune", *SERVER, "--expired", "--hard", "urns.txt").stderr == "0 checks are listed in urns.txt\n"


def test_hard_deleted_assertion_is_recreated_with_all_aspects(run, checks):
    checks(SERVER, 1, "a", "b")
    checks(SERVER, 2, "b")
    run("prune", *SERVER, "--expired", "--hard", "urns.txt")
    (retired,) = Path("urns.txt").read_text().splitlines()
    before = len(sent_of_checks())
    checks(SERVER, 3, "a", "b")
    assert {aspect for urn, aspect in sent_of_checks()[before:] if urn == retired} >= {
        "assertionInfo",
        "assertionRunEvent",
        "status",
    }
    assert states("l.db") == {1, 2, 3}


def test_expired_checks_of_a_catalogue_are_deleted(run, checks):
    own = ("--to", "catalog:c.db")
    checks(own, 1, "a", "b")
    checks(own, 2, "b")
    assert run("prune", *own, "--expired", "--dry-run").stderr == "1 checks would go\n"
    assert run("prune", *own, "--expired").stderr == "1 checks removed\n"
    checks(own, 3, "b")
    with Catalog("c.db", readonly=True) as file:
        assert len(list(file.entities("assertion"))) == 1
    checks(own, 4, "a")
    with Catalog("c.db", readonly=True) as file:
        assert len(list(file.entities("assertion"))) == 2


def test_prune_reports_why_assertions_cannot_be_removed(run, checks, monkeypatch):
    checks(SERVER, 1, "a")
    assert "emit has soft-deleted them" in run("prune", *SERVER, "--expired").stderr
    refused = run("prune", *SERVER, "--expired", "--hard", "no/such/urns.txt")
    assert (refused.exit_code, "--hard no/such/urns.txt cannot be written: " in refused.stderr) == (2, True)
    monkeypatch.setenv("DH_BRIDGE_ASSERTIONS__EXPIRE", "off")
    assert (
        "this setting is off, so no assertion can be removed"
        in run("prune", *SERVER, "--expired", "--hard", "urns.txt").stderr
    )


def test_pruned_runs_give_their_space_back(run):
    runs = [f"{DPI}{key(number)}" for number in range(300)]
    value = {
        "name": "r",
        "customProperties": {"text": "x" * 9_000},
        "type": "BATCH_SCHEDULED",
        "created": {"time": 5, "actor": "urn:li:corpuser:a"},
    }
    with Catalog("old.db") as catalog:
        catalog.apply([upsert("dataProcessInstance", urn, "dataProcessInstanceProperties", value) for urn in runs])
    size = Path("old.db").stat().st_size
    result = run("prune", "--to", "catalog:old.db", "--runs-older-than", "1d", "--keep-last", "5")
    assert "295 runs removed" in result.stderr
    assert "old.db is 2.7 MB smaller" in result.stderr
    assert Path("old.db").stat().st_size < size / 5
