"""Options that several commands share take what people write there."""

from __future__ import annotations

import errno
import json
import os

import pytest
from support.sample_events import dataset, event

from dh_bridge.bridge import Bridge

EVENT = event(outputs=[dataset("shop.public.orders")])
URN = "urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.orders,PROD)"


@pytest.fixture(autouse=True)
def _shop(run, tmp_path):
    (tmp_path / "events.json").write_text(json.dumps(EVENT))
    assert run("emit", "events.json", "--to", "catalog:shop.db").exit_code == 0


@pytest.mark.parametrize(
    "command", [("get", "FILE", URN), ("runs", "FILE", URN), ("lineage", "FILE", URN), ("get", "FILE", "--all")]
)
def test_catalogue_may_be_named_as_it_was_written_to(run, command):
    plain = run(*("shop.db" if word == "FILE" else word for word in command))
    assert plain.exit_code == 0
    assert plain.stdout
    assert run(*("catalog:shop.db" if word == "FILE" else word for word in command)).stdout == plain.stdout


def test_event_file_with_a_target_prefix_in_its_name_is_read(run, tmp_path):
    assert run("check", "catalog:events.json").exit_code == 2
    (tmp_path / "catalog:events.json").write_text(json.dumps(EVENT))
    assert run("check", "catalog:events.json").exit_code == 0


@pytest.mark.parametrize("command", [("plan",), ("verify",), ("emit",), ("explain",)])
@pytest.mark.parametrize("place", ["catalog:shop.db", "rest:http://user:geheim@localhost:1"])
def test_target_passed_as_events_is_an_error_naming_to(run, command, place):
    result = run(*command, "events.json", place)
    assert result.exit_code == 2
    shown = "catalog:shop.db" if place.startswith("catalog") else "rest:http://localhost:1"
    assert f"{shown!r} is a target. Pass it with --to." in result.stderr
    assert "geheim" not in result.stderr


@pytest.mark.parametrize(
    ("address", "stated"),
    [
        (
            "https://x.example/events.json",
            "pipe what is there: curl https://x.example/events.json | dh-bridge check -",
        ),
        (
            "s3://lake/events",
            "s3://lake/events is an address, not a file: copy it here, or let `dh-bridge spark` read it",
        ),
    ],
)
def test_address_passed_as_events_gets_a_hint(run, address, stated):
    result = run("check", address)
    assert result.exit_code == 2
    assert stated in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    "command",
    [
        ("lineage", "there/x", "urn:li:tag:x"),
        ("emit", "events.json", "--to", "catalog:there/x"),
        ("emit", "events.json", "--to", "file:out.ndjson", "--ledger", "there/x"),
    ],
)
def test_folder_that_nobody_may_enter_is_named(run, tmp_path, monkeypatch, command):
    """Tests may run as root, who may enter every folder."""
    stat = os.stat

    def refuse(path, *stated, **more):
        if "there" in str(path) and str(path) != "there":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, *stated, **more)

    (tmp_path / "events.json").write_text(json.dumps(EVENT))
    (tmp_path / "there").mkdir()
    monkeypatch.setattr(os, "stat", refuse)
    result = run(*command)
    assert result.exit_code == 3
    assert "cannot be reached: Permission denied" in result.stderr
    result = run("explain", "events.json", "--set", "mappings=there")
    assert (result.exit_code, "cannot read there/naming: Permission denied" in result.stderr) == (2, True)
    doctor = run("doctor", "--set", "mappings=there").stdout
    assert "cannot read there/naming: Permission denied" in doctor
    assert "a bug in dh-bridge, please report it" not in doctor


def test_link_that_leads_to_itself_is_no_crash(run, tmp_path):
    (tmp_path / "events.json").write_text(json.dumps(EVENT))
    (tmp_path / "loop").symlink_to("loop")
    result = run("translate", "events.json", "--report", "loop/x")
    assert (result.exit_code, "--report loop/x cannot be written" in result.stderr) == (2, True)


@pytest.mark.parametrize("command", [("translate",), ("emit", "--to", "memory:"), ("explain",), ("check",)])
def test_files_without_a_known_suffix_are_read_if_json(run, tmp_path, command):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "part-0").write_text(json.dumps(EVENT))
    (tmp_path / "folder" / "notes").write_text("to do: clean up")
    result = run(*command, "folder")
    assert (result.exit_code, "No events in" in result.stderr) == (0, False)  # part-0 begins with JSON
    assert "1 file is not JSON and was skipped, such as folder/notes." in result.stderr
    (tmp_path / "folder" / "other.csv").write_text("a,b")
    assert "2 files are not JSON and were skipped, such as folder/notes." in run(*command, "folder").stderr


@pytest.mark.parametrize("command", [("translate",), ("emit", "--to", "memory:"), ("explain",), ("check",)])
def test_files_and_folders_without_events_are_an_error(run, tmp_path, command):
    (tmp_path / "folder").mkdir()
    (tmp_path / "none.ndjson").write_text("")
    result = run(*command, "folder", "none.ndjson")
    assert (result.exit_code, "No events in folder, none.ndjson. Files of folders are read if" in result.stderr) == (
        1,
        True,
    )
    pipe = run(*command, "-", stdin="")
    assert (pipe.exit_code, "No events in stdin." in pipe.stderr) == (0, True)  # a pipe may be empty
    (tmp_path / "one.ndjson").write_text(json.dumps(EVENT))
    assert "No events" not in run(*command, "folder", "one.ndjson").stderr


def test_links_out_of_a_folder_are_counted_and_named_in_one_line(run, tmp_path):
    events, other = tmp_path / "events", tmp_path / "other"
    events.mkdir()
    other.mkdir()
    for number in range(3):
        (other / f"{number}.json").write_text(json.dumps(event()))
        (events / f"{number}.json").symlink_to(other / f"{number}.json")
    skipped = run("identity", str(events))
    assert (skipped.exit_code, skipped.stdout) == (1, "")  # nothing was read
    named = [line for line in skipped.stderr.splitlines() if "followed" in line]
    assert len(named) == 1
    assert named[0].startswith(f"3 links were not followed, such as {events / '0.json'}: they lead out of the folder")
    assert named[0].endswith("Pass their targets as EVENTS")
    assert Bridge().translate(events).proposals == []


def test_csv_file_is_one_message(run, tmp_path):
    (tmp_path / "orders.csv").write_text("id,amount\n1,2\n3,4\n")
    result = run("translate", "orders.csv")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.splitlines() == [
        "orders.csv: text, but no JSON, such as CSV (events are JSON objects: in an array, or one on each line)"
    ]


def test_file_of_mcps_is_one_message_that_names_datahub_ingest(run, tmp_path):
    proposals = run("translate", "events.json").stdout
    (tmp_path / "mcps.ndjson").write_text(proposals)
    result = run("translate", "mcps.ndjson")
    assert (result.exit_code, result.stdout) == (1, "")
    first, *more = result.stderr.splitlines()
    assert first.startswith("mcps.ndjson:1: a DataHub MCP, not an OpenLineage event (load it with `datahub ingest`")
    assert len(more) == 1
    assert "more like this" in more[0]


def test_output_file_of_unknown_format_is_an_error(run):
    result = run("emit", "events.json", "--to", "file:out")
    assert result.exit_code == 2
    assert "cannot infer the format from 'out' (use .ndjson or .jsonl or .json, or pass --format)" in result.stderr
