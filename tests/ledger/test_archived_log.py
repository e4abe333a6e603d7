"""``replay --archive``: a replay from archived segments and the rest of the log is a replay of the whole log."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path

import pytest
import zstandard
from click.testing import CliRunner
from support.receivers import dump_of
from support.sample_events import dataset, event

from dh_bridge.cli import commands
from dh_bridge.event_log import EventLog, LoggedEvent
from dh_bridge.event_log.segment import list_segments
from dh_bridge.ledger import archived_log
from dh_bridge.ledger.archived_log import joined_log
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.ledger.rebuild import ReadOnlyLog
from dh_bridge.storage.scratch import scratch_folder

BATCH = ("--set", "ledger.batch=10")


def run(*arguments, exit_code=0):
    result = CliRunner().invoke(commands, list(arguments), prog_name="dh-bridge")
    assert result.exit_code == exit_code, result.output
    return result.output


def write_events(name, numbers, table="d.s.t{}"):
    events = [
        event("COMPLETE", run=f"01a1f6ae-0000-7000-8000-{number:012}", outputs=[dataset(table.format(number % 5))])
        for number in numbers
    ]
    Path(name).write_text("".join(json.dumps(item) + "\n" for item in events))


def positioned_events(archive=None):
    with joined_log(Path("all.db"), archive) as folder, ReadOnlyLog(folder) as event_log:
        return list(event_log.positioned_events())


def forget_exported():
    """Delete the segments that the archive has, as retention does; return how many files it has."""
    names = [path.name.partition(".")[0] for path in Path("archive").iterdir()]
    for path in list_segments(log_folder("all.db")):
        if path.stem in names:
            path.unlink()
    return len(names)


@pytest.fixture(autouse=True)
def _ledger_with_archive(tmp_path, monkeypatch):
    """A catalogue whose log has lost the segments that an archive has."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dh_bridge.event_log.log.SEGMENT_BYTES", 5_000)
    write_events("events.ndjson", range(90))
    run("emit", "events.ndjson", "--to", "catalog:all.db", *BATCH)
    run("log", "export", "all.db", "archive")


def test_archived_events_come_back_as_they_were_logged():
    logged = positioned_events()
    assert forget_exported() >= 3
    assert 0 < len(positioned_events()) < len(logged)
    assert positioned_events(Path("archive")) == logged


def test_erased_events_leave_their_positions_empty():
    run("log", "erase", "all.db", "--run", "01a1f6ae-0000-7000-8000-000000000003", "--yes")
    shutil.rmtree("archive")
    run("log", "export", "all.db", "archive")
    logged = positioned_events()
    forget_exported()
    assert positioned_events(Path("archive")) == logged
    positions = [position for position, _ in logged]
    assert len(positions) == 89
    assert positions != list(range(1, 90))


def test_replay_of_archive_and_log_changes_nothing():
    forget_exported()
    assert "does not have all events" in run("replay", "all.db", "--dry-run")
    output = run("replay", "all.db", "--archive", "archive", "--dry-run")
    assert "does not have all events" not in output
    assert "90 events replayed: 0 differences" in output


def test_archive_is_restored_once_for_states_and_moves(monkeypatch):
    forget_exported()
    Path("test.yml").write_text("naming: {env: TEST}\n")
    folders = []

    def new_folder(purpose):
        folders.append(purpose)
        return scratch_folder(purpose)

    monkeypatch.setattr(archived_log, "scratch_folder", new_folder)
    output = run("replay", "all.db", "--archive", "archive", "--dry-run", "--settings", "test.yml")
    assert "urn:li:dataset:(urn:li:dataPlatform:postgres,d.s.t0,TEST)" in output
    assert len(folders) == 1


def test_replay_of_archive_and_log_gives_the_same_catalogue():
    before = dump_of("all.db")
    forget_exported()
    run("replay", "all.db", "--archive", "archive", "--to", "catalog:new.db")
    assert dump_of("new.db") == before
    run("replay", "all.db", "--archive", "archive", "--to", "catalog:all.db")
    assert dump_of("all.db") == before


def test_lost_ledger_gets_its_states_from_archive_and_log():
    """The ledger of a server: its file is lost, and its log has only the latest events."""
    run("emit", "events.ndjson", "--to", "file:sent.ndjson", "--ledger", "lost.db", *BATCH)
    run("log", "export", "lost.db", "archive of lost")
    for path in list_segments(log_folder("lost.db"))[:2]:
        path.unlink()
    Path("lost.db").unlink()
    write_events("later.ndjson", [90])
    run("emit", "later.ndjson", "--to", "file:sent.ndjson", "--ledger", "lost.db")
    assert "does not have all events" in run("replay", "lost.db", "--dry-run")
    run("replay", "lost.db", "--archive", "archive of lost", "--to", "file:sent.ndjson")
    output = run("replay", "lost.db", "--archive", "archive of lost", "--dry-run")
    assert "does not have all events" not in output
    assert "91 events replayed: 0 differences" in output


def test_segments_that_the_log_still_has_are_read_once():
    logged = positioned_events()
    assert positioned_events(Path("archive")) == logged


def lose_log(*, is_archive_complete):
    """Delete the folder of the log; its last segment was never exported, unless it was closed before."""
    if is_archive_complete:
        run("log", "erase", "all.db", "--run", "none", "--yes")
        run("log", "export", "all.db", "archive")
    shutil.rmtree(log_folder("all.db"))


def test_archive_that_has_all_events_replaces_a_lost_log():
    before = dump_of("all.db")
    lose_log(is_archive_complete=True)
    output = run("replay", "all.db", "--archive", "archive", "--dry-run")
    assert "does not have all events" not in output
    assert "90 events replayed: 0 differences" in output
    run("replay", "all.db", "--archive", "archive", "--to", "catalog:new.db")
    assert dump_of("new.db") == before
    run("replay", "all.db", "--archive", "archive", "--to", "catalog:all.db")
    assert dump_of("all.db") == before
    assert "does not have all events" not in run("replay", "all.db", "--archive", "archive", "--dry-run")


def test_events_that_only_the_lost_log_had_stay_in_the_states():
    before = dump_of("all.db")
    lose_log(is_archive_complete=False)
    assert "does not have all events" in run("replay", "all.db", "--archive", "archive", "--dry-run")
    run("replay", "all.db", "--archive", "archive", "--to", "catalog:all.db", "--set", "runs.abort=failure")
    assert dump_of("all.db") == before
    run("emit", "events.ndjson", "--to", "catalog:all.db")
    assert dump_of("all.db") == before


def test_archive_of_a_lost_log_does_not_fit_the_next_log():
    lose_log(is_archive_complete=True)
    run("emit", "events.ndjson", "--to", "catalog:all.db", *BATCH)
    for path in list_segments(log_folder("all.db"))[:2]:
        path.unlink()
    output = run("replay", "all.db", "--archive", "archive", "--dry-run", exit_code=3)
    assert "the file is of another log than that of the ledger" in output
    assert "send its events with `dh-bridge emit`" in output


def test_log_that_is_older_than_its_ledger_does_not_have_all_events():
    """The ledger is new, and its log comes from a backup."""
    shutil.copytree(log_folder("all.db"), "backup")
    write_events("later.ndjson", [90])
    run("emit", "later.ndjson", "--to", "catalog:all.db")
    shutil.rmtree(log_folder("all.db"))
    Path("backup").rename(log_folder("all.db"))
    assert "does not have all events" in run("replay", "all.db", "--dry-run")


@pytest.mark.parametrize("has_links", [True, False], ids=["links", "copies"])
def test_segments_that_are_deleted_meanwhile_are_read(monkeypatch, has_links):
    logged = positioned_events()
    for path in sorted(Path("archive").iterdir())[2:]:
        path.unlink()
    forget_exported()
    if not has_links:
        monkeypatch.setattr("dh_bridge.event_log.log_copy.os.link", no_link)
    with joined_log(Path("all.db"), Path("archive")) as folder, ReadOnlyLog(folder) as event_log:
        for path in list_segments(log_folder("all.db"))[:-1]:
            path.unlink()
        assert list(event_log.positioned_events()) == logged


def test_replay_of_a_log_whose_segments_are_deleted_meanwhile_changes_nothing(monkeypatch):
    """Retention deletes events that the replay has not read: without them, it would replace the states of all events."""
    read_after = ReadOnlyLog.read_after

    def read_and_delete(event_log, position, **limits):
        batch = read_after(event_log, position, **limits)
        for path in list_segments(log_folder("all.db"))[:-1]:
            path.unlink()
        return batch

    before = dump_of("all.db")
    monkeypatch.setattr(ReadOnlyLog, "read_after", read_and_delete)
    output = run("replay", "all.db", "--to", "catalog:all.db", *BATCH, exit_code=3)
    assert "were deleted from the log before they were read" in output
    assert "run the command again" in output
    assert dump_of("all.db") == before


def test_events_that_were_left_out_of_a_log_are_no_deleted_ones():
    """The cursor of the ledger was ahead of the log, so the next events have later positions."""
    with EventLog(Path("gap.log"), max_bytes=1_000_000) as event_log:
        event_log.append([LoggedEvent(1, "a", "r", b"{}")], min_position=1)
        event_log.append([LoggedEvent(2, "b", "r", b"{}")], min_position=500)
    with ReadOnlyLog(Path("gap.log")) as event_log:
        first = event_log.read_after(0, max_events=1, max_bytes=1)
        later = event_log.read_after(first.last, max_events=1, max_bytes=1)
    assert [item.position for item in (*first.events, *later.events)] == [1, 500]


def no_link(_path, _target):
    raise OSError(errno.EXDEV, "Invalid cross-device link")


def test_segment_that_is_deleted_before_it_is_linked_comes_from_the_archive(monkeypatch):
    """Retention deletes the two oldest segments while the newer ones are linked."""
    logged = positioned_events()
    oldest = list_segments(log_folder("all.db"))[:2]

    def link(path, target):
        for deleted in oldest:
            deleted.unlink(missing_ok=True)
        original(path, target)

    original = os.link
    monkeypatch.setattr("dh_bridge.event_log.log_copy.os.link", link)
    assert positioned_events(Path("archive")) == logged
    assert not oldest[0].exists()


def test_missing_file_is_an_error():
    files = sorted(Path("archive").iterdir())
    forget_exported()
    files[1].unlink()
    output = run("replay", "all.db", "--archive", "archive", "--dry-run", exit_code=3)
    assert " are neither in the archive nor in the log" in output
    assert "restore the missing files" in output


def test_file_of_another_log_is_an_error():
    write_events("others.ndjson", range(100, 190))
    run("emit", "others.ndjson", "--to", "catalog:others.db", *BATCH)
    run("log", "export", "others.db", "archive of others")
    forget_exported()
    output = run("replay", "all.db", "--archive", "archive of others", "--dry-run", exit_code=3)
    assert "the file is of another log than that of the ledger" in output


def test_file_that_was_compressed_again_is_an_error():
    path = min(Path("archive").iterdir())
    lines = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()
    path.write_bytes(zstandard.compress(lines))
    forget_exported()
    output = run("replay", "all.db", "--archive", "archive", "--dry-run", exit_code=3)
    assert "the file has no times of receipt" in output


@pytest.mark.parametrize("place", ["lines", "receipts", "length"])
def test_damaged_file_is_an_error(place):
    path = min(Path("archive").iterdir())
    data = bytearray(path.read_bytes())
    offset = {"lines": 40, "receipts": len(data) - 40, "length": len(data) - 9}[place]
    data[offset] ^= 0xFF
    path.write_bytes(data)
    forget_exported()
    output = run("replay", "all.db", "--archive", "archive", "--dry-run", exit_code=3)
    assert "the archived file is damaged" in output
    assert path.name in output


def test_folder_without_archived_files_is_an_error():
    Path("empty").mkdir()
    output = run("replay", "all.db", "--archive", "empty", "--dry-run", exit_code=3)
    assert "the folder has no file of `dh-bridge log export`" in output
