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


@pytest.mark.parametrize("command", [("get", URN), ("runs", URN), ("lineage", URN), ("catalog", "dump")])
def test_a_catalogue_may_be_named_as_it_was_written_to(run, command):
    plain = run(*command, "--catalog", "shop.db")
    assert plain.exit_code == 0
    assert plain.stdout
    assert run(*command, "--catalog", "catalog:shop.db").stdout == plain.stdout


def test_a_file_whose_name_begins_so_is_still_found(run, tmp_path):
    assert run("validate", "catalog:events.json").exit_code == 2
    (tmp_path / "catalog:events.json").write_text(json.dumps(EVENT))
    assert run("validate", "catalog:events.json").exit_code == 0


@pytest.mark.parametrize("command", [("plan",), ("verify",), ("emit",), ("explain",)])
@pytest.mark.parametrize("place", ["catalog:shop.db", "rest:http://user:geheim@localhost:1"])
def test_a_place_where_events_belong_is_told_where_places_stand(run, command, place):
    result = run(*command, "events.json", place)
    assert result.exit_code == 2
    assert "begins a place, not a file of events: places stand behind --to or --against." in result.stderr
    assert "geheim" not in result.stderr


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (
            "https://x.example/events.json",
            "pipe what is there: curl https://x.example/events.json | dh-bridge validate -",
        ),
        (
            "s3://lake/events",
            "s3://lake/events is an address, not a file: copy it here, or let `dh-bridge spark` read it",
        ),
    ],
)
def test_an_address_where_events_belong_is_told_how_to_read_it(run, address, said):
    result = run("validate", address)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    "command",
    [
        ("lineage", "urn:li:tag:x", "--catalog", "there/x"),
        ("emit", "events.json", "--to", "catalog:there/x"),
        ("emit", "events.json", "--to", "file:out.ndjson", "--ledger", "there/x"),
    ],
)
def test_a_folder_that_nobody_may_enter_is_named(run, tmp_path, monkeypatch, command):
    """Tests may run as root, who may enter every folder."""
    stat = os.stat

    def refuse(path, *said, **more):
        if "there" in str(path) and str(path) != "there":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, *said, **more)

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


def test_a_link_that_leads_to_itself_is_no_crash(run, tmp_path):
    (tmp_path / "events.json").write_text(json.dumps(EVENT))
    (tmp_path / "loop").symlink_to("loop")
    result = run("translate", "events.json", "--report", "loop/x")
    assert (result.exit_code, "--report loop/x cannot be written" in result.stderr) == (2, True)


@pytest.mark.parametrize("command", [("translate",), ("emit", "--to", "memory:"), ("explain",), ("validate",)])
def test_what_is_passed_over_in_a_folder_is_told(run, tmp_path, command):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "part-0").write_text(json.dumps(EVENT))
    said = "1 file was passed over, such as folder/part-0: of folders those are read that end in .json"
    assert said in run(*command, "folder").stderr
    (tmp_path / "folder" / "part-1").write_text(json.dumps(EVENT))
    assert "2 files were passed over" in run(*command, "folder").stderr
    assert "passed over" not in run(*command, "folder/part-0", "folder/part-1").stderr


@pytest.mark.parametrize("command", [("translate",), ("emit", "--to", "memory:"), ("explain",), ("validate",)])
def test_that_there_is_no_event_is_told(run, tmp_path, command):
    (tmp_path / "folder").mkdir()
    (tmp_path / "none.ndjson").write_text("")
    result = run(*command, "folder", "none.ndjson")
    assert (result.exit_code, "there is no event in folder, none.ndjson" in result.stderr) == (0, True)
    assert "there is no event in stdin" in run(*command, "-", stdin="").stderr
    (tmp_path / "one.ndjson").write_text(json.dumps(EVENT))
    assert "there is no event" not in run(*command, "folder", "one.ndjson").stderr


def test_links_out_of_a_folder_are_counted_and_named_in_one_line(run, tmp_path):
    events, other = tmp_path / "events", tmp_path / "other"
    events.mkdir()
    other.mkdir()
    for number in range(3):
        (other / f"{number}.json").write_text(json.dumps(event()))
        (events / f"{number}.json").symlink_to(other / f"{number}.json")
    skipped = run("identity", str(events))
    assert (skipped.exit_code, skipped.stdout) == (0, "")
    named = [line for line in skipped.stderr.splitlines() if "followed" in line]
    assert len(named) == 1
    assert named[0].startswith(f"3 links were not followed, such as {events / '0.json'}: they lead out of the folder")
    assert named[0].endswith("Pass their targets as EVENTS")
    assert Bridge().translate(events).proposals == []
