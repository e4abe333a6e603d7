"""``log erase --archive``: neither the ledger, its log nor the archive has the events, and no replay brings them back."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
from pathlib import Path

import pytest
import zstandard
from click.testing import CliRunner
from support.killed_steps import KilledError, killed, killed_in_call
from support.receivers import dump_of
from support.sample_events import dataset, event
from support.stored_bytes import stored_bytes

from dh_bridge import Settings, private_files
from dh_bridge.cli import commands
from dh_bridge.errors import SinkError
from dh_bridge.event_log import log_erase
from dh_bridge.event_log.segment import list_segments
from dh_bridge.ledger import archive_erase, erasing
from dh_bridge.ledger.archive_files import list_archive, read_events, read_receipts
from dh_bridge.ledger.archived_log import joined_log
from dh_bridge.ledger.event_selection import EventSelection
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.ledger.rebuild import ReadOnlyLog

PERSON = "Maria Lopez"
PERSON_RUNS = (3, 4, 57)
FILE_NAME = "Maria Lopez.ndjson"
"""Its events have the name in their location only."""
SETTINGS = Settings(datahub_version="1.7")
BATCH = ("--set", "ledger.batch=10")
ARCHIVE = Path("archive")


def run(*arguments, exit_code=0):
    result = CliRunner().invoke(commands, [*map(str, arguments)], prog_name="dh-bridge")
    assert result.exit_code == exit_code, result.output
    return result.output


def run_id(number):
    return f"{PERSON} {number}" if number == 57 else f"01a1f6ae-0000-7000-8000-{number:012}"


def run_event(number):
    person = [dataset(f"d.s.{PERSON}")] if number in PERSON_RUNS else []
    return event(
        "COMPLETE", run=run_id(number), job=f"etl.load_{number % 7}", outputs=[dataset(f"d.s.t{number % 5}"), *person]
    )


def write_events(name, numbers):
    Path(name).write_text("".join(json.dumps(run_event(number)) + "\n" for number in numbers))


def emit_to(ledger, *names):
    run("emit", *names, "--to", f"catalog:{ledger}", *BATCH)


def delete_exported_segments():
    """Delete the segments that the archive has, as retention does."""
    names = {path.name.partition(".")[0] for path in list_archive(ARCHIVE)}
    for path in list_segments(log_folder("all.db")):
        if path.stem in names:
            path.unlink()


def positioned_events(archive=None):
    with joined_log(Path("all.db"), archive) as folder, ReadOnlyLog(folder) as event_log:
        return list(event_log.positioned_events())


def archived_texts():
    """Return all that the files of the archive have: their bytes, and what they are when they are decompressed."""
    texts = []
    for path in ARCHIVE.iterdir():
        data = path.read_bytes()
        frames = [data[match.start() :] for match in re.finditer(re.escape(b"\x28\xb5\x2f\xfd"), data)]
        texts += [data, *(zstandard.ZstdDecompressor().decompressobj().decompress(frame) for frame in frames)]
    return b"\n".join(texts)


def snapshot():
    """Return the bytes of the archive and of the log, and when they were written."""
    files = sorted([*ARCHIVE.iterdir(), *list_segments(log_folder("all.db"))])
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@pytest.fixture(autouse=True)
def _ledger_with_archive(tmp_path, monkeypatch):
    """A catalogue whose log still has the segments that an archive has."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dh_bridge.event_log.log.SEGMENT_BYTES", 5_000)
    write_events("events.ndjson", range(60))
    write_events(FILE_NAME, range(60, 65))
    write_events("more.ndjson", range(65, 90))
    write_events("others.ndjson", [number for number in range(90) if number not in (*PERSON_RUNS, *range(60, 65))])
    emit_to("all.db", "events.ndjson")
    emit_to("all.db", FILE_NAME)
    emit_to("all.db", "more.ndjson")
    run("log", "export", "all.db", ARCHIVE)
    assert len(list_archive(ARCHIVE)) >= 6
    assert PERSON.encode() in archived_texts()


@pytest.mark.parametrize("is_in_log", [True, False], ids=["archive and log", "archive alone"])
def test_text_is_nowhere_and_does_not_come_back(tmp_path, is_in_log):
    emit_to("others.db", "others.ndjson")
    before = dict(positioned_events())
    if not is_in_log:
        delete_exported_segments()
    dry = run("log", "erase", "all.db", "--text", PERSON, "--archive", ARCHIVE, "--dry-run")
    assert "8 events (8 of them in the archive) would be erased" in dry
    output = run("log", "erase", "all.db", "--text", PERSON, "--archive", ARCHIVE, "--yes")
    assert "8 events (8 of them in the archive) erased" in output
    assert PERSON.encode() not in archived_texts()
    assert PERSON.lower().encode() not in stored_bytes(tmp_path / "all.db").lower()
    assert dump_of("all.db") == dump_of("others.db")
    after = dict(positioned_events(ARCHIVE))
    assert len(after) == 82
    assert {position: before[position] for position in after} == after
    delete_exported_segments()
    assert dict(positioned_events(ARCHIVE)) == after

    assert "82 events replayed: 0 differences" in run("replay", "all.db", "--archive", ARCHIVE, "--dry-run")
    run("replay", "all.db", "--archive", ARCHIVE, "--to", "catalog:replayed.db")
    assert dump_of("replayed.db") == dump_of("others.db")
    run("log", "export", "all.db", ARCHIVE)
    emit_to("new.db", ARCHIVE)
    assert PERSON.encode() not in stored_bytes(tmp_path / "new.db")


@pytest.mark.parametrize(
    ("option", "numbers"),
    [
        (("--run", run_id(5).upper()), [5]),
        (("--job", "ns", "etl.load_2"), range(2, 90, 7)),
        (("--dataset", "postgres://db:5432", f"d.s.{PERSON}"), PERSON_RUNS),
    ],
    ids=["run", "job", "dataset"],
)
def test_events_of_a_subject_are_erased(option, numbers):
    write_events("kept.ndjson", [number for number in range(90) if number not in numbers])
    emit_to("kept.db", "kept.ndjson")
    delete_exported_segments()
    run("log", "erase", "all.db", *option, "--archive", ARCHIVE, "--yes")
    assert dump_of("all.db") == dump_of("kept.db")
    run("replay", "all.db", "--archive", ARCHIVE, "--to", "catalog:replayed.db")
    assert dump_of("replayed.db") == dump_of("kept.db")
    emit_to("new.db", ARCHIVE)
    runs = json.dumps([[str(row) for row in dump_of("new.db")]])
    assert [number for number in numbers if run_id(number) in runs] == []


def test_files_without_the_events_are_not_touched():
    paths = list_archive(ARCHIVE)
    before = snapshot()
    for path in paths:
        path.chmod(0o640)
    run("log", "erase", "all.db", "--run", run_id(3), "--archive", ARCHIVE, "--yes")
    after = snapshot()
    changed = [path for path in paths if after[path.name] != before[path.name]]
    assert len(changed) == 1
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o640}
    assert len(list_archive(ARCHIVE)) == len(paths)


def test_file_all_of_whose_events_are_erased_leaves_no_gap():
    path = list_archive(ARCHIVE)[1]
    events = list(read_events(path, read_receipts(path)))
    delete_exported_segments()
    for item in events:
        run("log", "erase", "all.db", "--run", item.event.run_key, "--archive", ARCHIVE, "--yes")
    assert list(read_events(path, read_receipts(path))) == []
    assert len(positioned_events(ARCHIVE)) == 90 - len(events)
    assert "0 differences" in run("replay", "all.db", "--archive", ARCHIVE, "--dry-run")
    emit_to("new.db", ARCHIVE)


def test_archive_that_an_earlier_erasure_left_out_is_made_up_for():
    run("log", "erase", "all.db", "--text", PERSON, "--yes")
    assert PERSON.encode() in archived_texts()
    before = dump_of("all.db")
    output = run("log", "erase", "all.db", "--text", PERSON, "--archive", ARCHIVE, "--yes")
    assert "8 events (8 of them in the archive) erased" in output
    assert PERSON.encode() not in archived_texts()
    assert dump_of("all.db") == before


def test_archive_of_a_lost_log_loses_the_events(tmp_path):
    run("log", "erase", "all.db", "--run", "none", "--yes")  # the last segment is closed
    run("log", "export", "all.db", ARCHIVE)
    emit_to("others.db", "others.ndjson")
    shutil.rmtree(log_folder("all.db"))
    run("log", "erase", "all.db", "--text", PERSON, "--archive", ARCHIVE, "--yes")
    assert PERSON.encode() not in archived_texts()
    assert PERSON.lower().encode() not in stored_bytes(tmp_path / "all.db").lower()
    assert dump_of("all.db") == dump_of("others.db")


def test_dry_run_changes_nothing():
    delete_exported_segments()
    before, catalogue = snapshot(), dump_of("all.db")
    output = run("log", "erase", "all.db", "--text", PERSON, "--archive", ARCHIVE, "--dry-run")
    assert f"urn:li:dataset:(urn:li:dataPlatform:postgres,d.s.{PERSON},PROD)" in output
    assert (snapshot(), dump_of("all.db")) == (before, catalogue)


@pytest.mark.parametrize("is_in_log", [True, False], ids=["archive and log", "archive alone"])
@pytest.mark.parametrize(
    ("module", "name", "death"),
    [
        (erasing, "adopt_states", killed),
        (erasing, "erase_events", killed),
        (log_erase, "replacing", killed_in_call(0)),
        (erasing, "erase_archived", killed),
        (archive_erase, "replacing", killed_in_call(0)),
        (archive_erase, "replacing", killed_in_call(1)),
        (erasing, "_is_catalogue", killed),
    ],
    ids=[
        "before the ledger",
        "before the log",
        "in the log",
        "before the archive",
        "in a file",
        "between files",
        "after",
    ],
)
def test_interrupted_erasure_is_finished_by_the_next_call(tmp_path, monkeypatch, is_in_log, module, name, death):
    emit_to("others.db", "others.ndjson")
    if not is_in_log:
        delete_exported_segments()
    selection = EventSelection(text=PERSON)
    if (module, is_in_log) == (log_erase, False):
        selection = EventSelection(text=PERSON, run=run_id(89))  # an event that only the log has
        write_events("others.ndjson", [number for number in range(89) if number not in (*PERSON_RUNS, *range(60, 65))])
        Path("others.db").unlink()
        shutil.rmtree("others.db.log")
        emit_to("others.db", "others.ndjson")
    ledger = tmp_path / "all.db"
    with monkeypatch.context() as patched:
        patched.setattr(module, name, death)
        with pytest.raises(KilledError):
            erasing.erase(ledger, selection, SETTINGS, archive=ARCHIVE)
    erasing.erase(ledger, selection, SETTINGS, archive=ARCHIVE)
    assert PERSON.encode() not in archived_texts()
    assert PERSON.lower().encode() not in stored_bytes(ledger).lower()
    assert dump_of("all.db") == dump_of("others.db")
    assert [*ARCHIVE.glob("*.part")] == []


def test_full_disk_is_an_error_that_the_next_call_makes_up_for(monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(archive_erase, "replacing", _full_disk)
        output = run("log", "erase", "all.db", "--text", PERSON, "--archive", ARCHIVE, "--yes", exit_code=3)
    assert "cannot write the archive: No space left" in output
    assert "run the command again" in output
    run("log", "erase", "all.db", "--text", PERSON, "--archive", ARCHIVE, "--yes")
    assert PERSON.encode() not in archived_texts()


def _full_disk(_path):
    raise OSError(28, "No space left on device")


def test_draft_of_an_interrupted_export_is_deleted():
    draft = private_files.draft_path(list_archive(ARCHIVE)[0])
    draft.write_bytes(zstandard.compress(PERSON.encode()))
    run("log", "erase", "all.db", "--text", PERSON, "--archive", ARCHIVE, "--yes")
    assert not draft.exists()


def test_linked_file_is_changed_where_it_is():
    path = list_archive(ARCHIVE)[0]
    target = Path("elsewhere").absolute()
    path.rename(target)
    path.symlink_to(target)
    run("log", "erase", "all.db", "--text", PERSON, "--archive", ARCHIVE, "--yes")
    assert path.is_symlink()
    assert [
        run_id(number)
        for number in PERSON_RUNS
        if run_id(number) in str(list(read_events(target, read_receipts(target))))
    ] == []


def _damage(path):
    data = bytearray(path.read_bytes())
    data[40] ^= 0xFF
    path.write_bytes(data)


def _replace_by_another_log(path):
    emit_to("foreign.db", "events.ndjson")
    run("log", "export", "foreign.db", "foreign archive")
    shutil.copyfile(list_archive(Path("foreign archive"))[0], path)


@pytest.mark.parametrize("is_in_log", [True, False], ids=["archive and log", "archive alone"])
@pytest.mark.parametrize(
    ("change", "problem", "remedy"),
    [
        (_damage, "the archived file is damaged", "restore it from a copy"),
        (_replace_by_another_log, "the file is of another log", "pass the folder that"),
        (lambda path: path.write_bytes(zstandard.compress(b"{}")), "the file has no times of receipt", "restore it"),
    ],
    ids=["damaged", "another log", "compressed again"],
)
def test_unusable_file_changes_nothing(is_in_log, change, problem, remedy):
    path = list_archive(ARCHIVE)[1]
    if not is_in_log:
        delete_exported_segments()
    change(path)
    before, catalogue = snapshot(), dump_of("all.db")
    output = run("log", "erase", "all.db", "--text", PERSON, "--archive", ARCHIVE, "--yes", exit_code=3)
    assert f"{path}: {problem}" in output
    assert remedy in output
    assert (snapshot(), dump_of("all.db")) == (before, catalogue)


def test_missing_file_changes_nothing():
    delete_exported_segments()
    list_archive(ARCHIVE)[1].unlink()
    before, catalogue = snapshot(), dump_of("all.db")
    output = run("log", "erase", "all.db", "--text", PERSON, "--archive", ARCHIVE, "--yes", exit_code=3)
    assert " are neither in the archive nor in the log" in output
    assert "restore the missing files" in output
    assert (snapshot(), dump_of("all.db")) == (before, catalogue)


def test_archive_without_the_oldest_events_needs_a_decision(tmp_path):
    delete_exported_segments()
    list_archive(ARCHIVE)[0].unlink()
    before = snapshot()
    with pytest.raises(SinkError, match="the log lacks events whose states are in the ledger") as caught:
        erasing.erase(tmp_path / "all.db", EventSelection(text=PERSON), SETTINGS, archive=ARCHIVE)
    assert caught.value.location == os.fspath(ARCHIVE)
    assert "--drop-older" in caught.value.remedy
    assert snapshot() == before
    run("log", "erase", "all.db", "--text", PERSON, "--archive", ARCHIVE, "--drop-older", "--yes")
    assert PERSON.encode() not in archived_texts()
