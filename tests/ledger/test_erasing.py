"""``log erase``: no file of the ledger has the events in any form, and the rest is as if they had never come."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest
from click.testing import CliRunner
from support.gms import Gms
from support.killed_steps import KilledError, killed, killed_in_call
from support.receivers import dump_of, post, serving
from support.sample_events import dataset, event
from support.stored_bytes import stored_bytes

from dh_bridge import Settings
from dh_bridge.cli import commands
from dh_bridge.errors import SinkError
from dh_bridge.event_log import EventLog, log_erase
from dh_bridge.ledger import erasing
from dh_bridge.ledger.event_selection import EventSelection
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.replay import compare_replay

PERSON = "Maria Lopez-Ibáñez"
SETTINGS = Settings(datahub_version="1.7")


def run_id(number):
    return f"01a1f6ae-0000-7000-8000-{number:012}"


def run_events(number, *, person=False):
    """Return the events of a run that shares its datasets with others; with a person, the name is in names, SQL and properties."""
    facets = (
        {"documentation": {"description": f"of {PERSON}"}, "sql": {"query": f"SELECT '{PERSON}'"}} if person else {}
    )
    tables = {
        "inputs": [dataset(f"d.s.in{number % 3}")],
        "outputs": [dataset("d.s.out"), *([dataset(f"d.s.{PERSON}")] if person else [])],
    }
    parts = {"run": run_id(number), "job": f"etl.load_{'x' if person else number % 4}", "job_facets": facets}
    return [
        event("START", f"2026-11-20T01:00:{number % 60:02}Z", **parts),
        event("COMPLETE", f"2026-11-20T02:00:{number % 60:02}Z", **parts, **tables),
    ]


def has_person(number):
    return number % 10 == 3


EVENTS = [item for number in range(320) for item in run_events(number, person=has_person(number))]
OTHERS = [item for number in range(320) if not has_person(number) for item in run_events(number)]


def run(*arguments, exit_code=0, stdin=None):
    result = CliRunner().invoke(commands, [*map(str, arguments)], prog_name="dh-bridge", input=stdin)
    assert result.exit_code == exit_code, result.output
    return result


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, events in (("events", EVENTS), ("others", OTHERS), ("nothing", [])):
        lines = [json.dumps(item, ensure_ascii=number % 2 == 0) for number, item in enumerate(events)]
        Path(f"{name}.ndjson").write_text("".join(f"{line}\n" for line in lines))


def forms_of(text):
    return [form.lower().encode() for form in (text, quote(text), json.dumps(text)[1:-1], "Lopez-Ib")]


def assert_absent(path, text=PERSON):
    content = stored_bytes(path).lower()
    assert [form for form in forms_of(text) if form in content] == []


def positions(ledger):
    with EventLog(log_folder(ledger), max_bytes=1 << 30) as event_log:
        batch = event_log.read_after(0, max_events=100_000, max_bytes=1 << 30)
    return {position: logged.event for position, logged in batch.events}


def emit_all(target, name="events", *options):
    return run("emit", f"{name}.ndjson", "--to", target, *options, "--set", "ledger.batch=100")


def test_catalogue_is_as_if_the_events_had_never_come(tmp_path):
    ledger = tmp_path / "all.db"
    emit_all("catalog:all.db")
    emit_all("catalog:others.db", "others")
    before = positions(ledger)
    assert any(form in stored_bytes(ledger).lower() for form in forms_of(PERSON))
    run("log", "erase", ledger, "--text", PERSON, "--yes")
    assert_absent(ledger)
    files = {path.name: path.stat().st_size for path in tmp_path.glob("all.db*") if path.is_file()}
    assert files == {"all.db": ledger.stat().st_size, "all.db-export": 0}
    assert dump_of(ledger) == dump_of(tmp_path / "others.db")
    after = positions(ledger)
    assert len(after) == len(OTHERS)
    assert all(before[position] == content for position, content in after.items())
    result = compare_replay(ledger, SETTINGS)
    assert (result.events, result.differences, result.is_complete) == (len(OTHERS), [], True)
    emit_all("catalog:all.db", "others")
    assert dump_of(ledger) == dump_of(tmp_path / "others.db")
    assert min(positions(ledger).keys() - after.keys()) > max(before)


def test_ledger_of_a_server_forgets_what_it_sent_and_what_waits(tmp_path):
    ledger = tmp_path / "ledger.db"
    with Gms(tmp_path / "gms.db", version="1.7.0") as gms:
        gms.poison = lambda proposal: f"no {PERSON}" if PERSON.lower() in str(proposal.value).lower() else None
        to = ("--to", f"rest:{gms.url}", "--ledger", ledger, "--fail-on", "never")
        run("emit", "events.ndjson", *to, exit_code=0)
        run("queue", "pause", ledger)
        more = [item for number in range(993, 1000) for item in run_events(number, person=True)]
        Path("more.ndjson").write_text("".join(json.dumps(item) + "\n" for item in more))
        run("emit", "more.ndjson", *to)
        result = run("log", "erase", ledger, "--text", PERSON, "--yes", "--urns", "urns.txt")
        assert_absent(ledger)
        urns = Path("urns.txt").read_text().splitlines()
        assert f"urn:li:dataProcessInstance:{run_id(3)}" in urns
        assert f"{len(urns):,} entities are named by no other event" in result.stderr
        run("queue", "resume", ledger)
        run("emit", "others.ndjson", *to)
        assert_absent(ledger)
        with Gms(tmp_path / "fresh.db", version="1.7.0") as fresh:
            run("emit", "others.ndjson", "--to", f"rest:{fresh.url}", "--ledger", "fresh-ledger.db")
            vanished = [urn.encode() for urn in urns]
            expected = fresh.dump()
            assert set(expected) - set(gms.dump()) == set()
            assert [line for line in expected if any(urn in line for urn in vanished)] == []


@pytest.mark.parametrize(
    ("option", "numbers"),
    [
        (("--run", run_id(5).upper()), {5}),
        (
            ("--job", "ns", "etl.load_2"),
            {number for number in range(320) if number % 4 == 2 and not has_person(number)},
        ),
        (("--dataset", "postgres://db:5432", "d.s.in1"), {number for number in range(320) if number % 3 == 1}),
    ],
    ids=["run", "job", "dataset"],
)
def test_events_of_a_subject_are_erased(tmp_path, option, numbers):
    ledger = tmp_path / "all.db"
    emit_all("catalog:all.db")
    retained = []
    for number in range(320):
        start, complete = run_events(number, person=has_person(number))
        if number not in numbers:
            retained += [start, complete]
        elif option[0] == "--dataset":
            retained.append(start)  # it names no dataset
    Path("kept.ndjson").write_text("".join(json.dumps(item) + "\n" for item in retained))
    emit_all("catalog:kept.db", "kept")
    dry = run("log", "erase", ledger, *option, "--dry-run")
    assert f"{len(EVENTS) - len(retained):,} events would be erased" in dry.stderr
    assert len(positions(ledger)) == len(EVENTS)
    run("log", "erase", ledger, *option, "--yes")
    assert len(positions(ledger)) == len(retained)
    assert dump_of(ledger) == dump_of(tmp_path / "kept.db")


@pytest.mark.parametrize("step", range(6))
def test_interrupted_erasure_is_finished_by_the_next_call(tmp_path, monkeypatch, step):
    """The process ends before the log is changed, before one of its segments is replaced, or before the file is compacted."""
    monkeypatch.setattr("dh_bridge.event_log.log.SEGMENT_BYTES", 2_000)
    ledger = tmp_path / "all.db"
    emit_all("catalog:all.db")
    emit_all("catalog:others.db", "others")
    selection = EventSelection(text=PERSON)
    with monkeypatch.context() as patched:
        if step == 5:
            patched.setattr(erasing, "_is_catalogue", killed)
        elif step == 4:
            patched.setattr(erasing, "erase_events", killed)
        else:
            patched.setattr(log_erase, "replacing", killed_in_call(step))
        with pytest.raises(KilledError):
            erasing.erase(ledger, selection, SETTINGS)
    assert len([*log_folder(ledger).glob("*.part")]) == (step < 4)
    erasing.erase(ledger, selection, SETTINGS)
    assert_absent(ledger)
    assert len(positions(ledger)) == len(OTHERS)
    assert dump_of(ledger) == dump_of(tmp_path / "others.db")
    assert [*log_folder(ledger).glob("*.part")] == []


def test_erasing_beside_serve_is_refused(tmp_path):
    ledger = tmp_path / "all.db"
    with serving("--to", "catalog:all.db", "--set", "receiver.listen=127.0.0.1:0") as receiver:
        assert post(receiver, *run_events(3, person=True))[0] == 200
        result = run("log", "erase", ledger, "--text", PERSON, "--yes", exit_code=3)
        assert "another process uses the ledger" in result.stderr
        assert "stop `dh-bridge serve` and `emit`" in result.stderr
        assert len(positions(ledger)) == 2
        assert receiver.end()[0] == 0
    run("log", "erase", ledger, "--text", PERSON, "--yes")
    assert_absent(ledger)


def test_log_without_the_oldest_events_needs_a_decision(tmp_path):
    ledger = tmp_path / "all.db"
    run("emit", "others.ndjson", "--to", "catalog:all.db")
    shutil.rmtree("all.db.log")
    emit_all("catalog:all.db")
    with pytest.raises(SinkError, match="the log lacks events whose states are in the ledger") as caught:
        erasing.erase(ledger, EventSelection(text=PERSON), SETTINGS)
    assert "--drop-older" in caught.value.remedy
    assert len(positions(ledger)) == len(EVENTS)
    run("log", "erase", ledger, "--text", PERSON, "--drop-older", "--yes")
    assert_absent(ledger)
    run("log", "erase", ledger, "--run", run_id(5), "--yes")  # the older states are gone


def test_aspect_of_an_older_event_is_written_again_without_the_text(tmp_path):
    """A job names the person in an event that the log has lost, and no person in one of the log."""
    for outputs in ([dataset("d.s.out"), dataset(f"d.s.{PERSON}")], [dataset("d.s.out")]):
        item = event("COMPLETE", job="etl.load", inputs=[dataset("d.s.in")], outputs=outputs)
        Path("one.ndjson").write_text(json.dumps(item))
        shutil.rmtree("all.db.log", ignore_errors=True)
        emit_all("catalog:all.db", "one")
    run("log", "erase", "all.db", "--text", PERSON, "--drop-older", "--yes")
    assert_absent(tmp_path / "all.db")
    emit_all("catalog:one.db", "one")
    jobs = [urn for urn in dump_of("one.db") if "dataJob" in str(urn)]
    assert jobs
    assert set(jobs) <= set(dump_of("all.db"))


def test_text_is_read_from_stdin():
    emit_all("catalog:all.db")
    by_option = run("log", "erase", "all.db", "--text", PERSON, "--dry-run")
    by_stdin = run("log", "erase", "all.db", "--text", "-", "--dry-run", stdin=f"{PERSON}\n")
    assert by_stdin.output == by_option.output
    assert "0 events would be erased" not in by_stdin.output
    assert (
        "stdin has no text" in run("log", "erase", "all.db", "--text", "-", "--dry-run", stdin="", exit_code=2).stderr
    )


def test_erasing_asks_for_a_subject_and_a_confirmation():
    emit_all("catalog:all.db")
    assert "pass --run, --job, --dataset or --text" in run("log", "erase", "all.db", "--yes", exit_code=2).stderr
    assert "pass --yes or --dry-run" in run("log", "erase", "all.db", "--text", "x", exit_code=2).stderr


def test_text_of_events_that_the_log_has_lost_is_erased_from_the_catalogue(tmp_path):
    """The states are those of the log's events; the catalogue keeps the other entities of the older events."""
    ledger = tmp_path / "all.db"
    run("emit", "events.ndjson", "--to", "catalog:all.db")
    shutil.rmtree("all.db.log")
    emit_all("catalog:all.db", "others")
    run("log", "erase", ledger, "--text", PERSON.upper(), "--drop-older", "--yes")
    assert_absent(ledger)
    others = tmp_path / "others.db"
    emit_all("catalog:others.db", "others")
    assert set(dump_of(others)) - set(dump_of(ledger)) == set()
