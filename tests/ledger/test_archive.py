"""``log export``: closed segments as files that `emit` reads again."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
import zstandard
from click.testing import CliRunner
from support.receivers import dump_of
from support.sample_events import dataset, event

from dh_bridge.cli import commands
from dh_bridge.event_log import EventLog
from dh_bridge.ledger.export_lock import export_lock
from dh_bridge.ledger.ledger_log import log_folder

BATCH = ("--set", "ledger.batch=10")


def run(*arguments, exit_code=0):
    result = CliRunner().invoke(commands, list(arguments), prog_name="dh-bridge")
    assert result.exit_code == exit_code, result.output
    return result.output


def write_events(name, numbers):
    events = [
        event("COMPLETE", run=f"01a1f6ae-0000-7000-8000-{number:012}", outputs=[dataset(f"d.s.t{number % 5}")])
        for number in numbers
    ]
    Path(name).write_text("".join(json.dumps(item) + "\n" for item in events))


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("dh_bridge.event_log.log.SEGMENT_BYTES", 30_000)
    write_events("events.ndjson", range(60))
    write_events("more.ndjson", range(60, 90))


def test_archive_and_the_rest_of_the_log_are_all_events():
    run("emit", "events.ndjson", "--to", "catalog:all.db", *BATCH)
    assert " events written to archive, 0 were there before" in run("log", "export", "all.db", "archive")
    files = sorted(Path("archive").iterdir())
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}
    assert [path.suffixes for path in files] == [[".ndjson", ".zst"]] * len(files)
    assert run("log", "export", "all.db", "archive").startswith("0 segments with 0 events written to archive, ")
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in files} == before
    run("emit", "more.ndjson", "--to", "catalog:all.db", *BATCH)
    run("log", "export", "all.db", "archive")
    assert before.keys() < {path.name for path in Path("archive").iterdir()}

    lines = [line for path in sorted(Path("archive").iterdir()) for line in unpack(path)]
    with EventLog(log_folder("all.db"), max_bytes=1 << 30) as event_log:
        logged = event_log.read_after(0, max_events=1_000, max_bytes=1 << 30).events
    assert lines == [item.event.event for item in logged[: len(lines)]]
    assert 0 < len(lines) < len(logged)
    Path("rest.ndjson").write_bytes(b"\n".join(item.event.event for item in logged[len(lines) :]))
    run("emit", "archive", "rest.ndjson", "--to", "catalog:new.db")
    assert dump_of("new.db") == dump_of("all.db")


def unpack(path):
    return zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read().splitlines()


def test_other_readers_of_zstandard_skip_the_receipts():
    run("emit", "events.ndjson", "--to", "catalog:all.db", *BATCH)
    run("log", "export", "all.db", "archive")
    files = sorted(Path("archive").iterdir())
    lines = b"".join(line + b"\n" for path in files for line in unpack(path))
    assert b"".join(pa.input_stream(path).read() for path in files) == lines
    if shutil.which("zstd"):
        assert subprocess.run(["zstd", "-dc", *files], stdout=subprocess.PIPE, check=True).stdout == lines


def test_interrupted_export_is_finished_by_the_next_one(monkeypatch):
    run("emit", "events.ndjson", "--to", "catalog:all.db", *BATCH)
    with monkeypatch.context() as patched:
        patched.setattr("dh_bridge.private_files.os.fsync", _fail)
        assert "cannot write the archive: No space left" in run("log", "export", "all.db", "archive", exit_code=3)
    assert [*Path("archive").iterdir()] == []
    run("log", "export", "all.db", "archive")
    assert [*Path("archive").iterdir()] != []


def _fail(_descriptor):
    raise OSError(28, "No space left on device")


def test_event_of_several_lines_is_one_line():
    Path("one.json").write_text(json.dumps(event("COMPLETE", outputs=[dataset("a.b")]), indent=2))
    run("emit", "one.json", "events.ndjson", "--to", "catalog:all.db", *BATCH)
    run("log", "export", "all.db", "archive")
    first = unpack(min(Path("archive").iterdir()))[0]
    assert json.loads(first)["outputs"][0]["name"] == "a.b"


def test_export_into_the_archive_of_a_lost_log_is_an_error():
    run("emit", "events.ndjson", "--to", "catalog:all.db", *BATCH)
    run("log", "export", "all.db", "archive")
    before = {path.name: path.read_bytes() for path in Path("archive").iterdir()}
    shutil.rmtree(log_folder("all.db"))
    run("emit", "events.ndjson", "more.ndjson", "--to", "catalog:all.db", *BATCH)
    assert "the file has other events than the log" in run("log", "export", "all.db", "archive", exit_code=3)
    assert {path.name: path.read_bytes() for path in Path("archive").iterdir()} == before
    run("log", "export", "all.db", "new archive")


def test_export_beside_events_that_a_restored_log_lost_is_an_error():
    run("emit", "events.ndjson", "--to", "catalog:all.db", *BATCH)
    run("ledger", "backup", "all.db", "backup.db")
    write_events("lost.ndjson", range(100, 160))
    run("emit", "lost.ndjson", "--to", "catalog:all.db", *BATCH)
    run("log", "export", "all.db", "archive")
    shutil.rmtree(log_folder("all.db"))
    Path("all.db").unlink()
    run("ledger", "restore", "backup.db", "all.db")
    run("emit", "more.ndjson", "--to", "catalog:all.db")
    run("emit", "events.ndjson", "--to", "catalog:all.db", *BATCH)
    output = run("log", "export", "all.db", "archive", exit_code=3)
    assert "the file has other events than the log" in output
    assert "name another folder" in output
    run("log", "export", "all.db", "new archive")


@pytest.mark.parametrize(
    "command",
    [("export", "all.db", "archive"), ("erase", "all.db", "--job", "n", "j", "--yes")],
    ids=["export", "erasure"],
)
def test_export_and_erasure_do_not_run_at_the_same_time(command):
    run("emit", "events.ndjson", "--to", "catalog:all.db", *BATCH)
    with export_lock(Path("all.db")):
        assert "another process exports or erases the events of the ledger" in run("log", *command, exit_code=3)
    assert not Path("archive").exists()
    run("log", *command)
