"""``ledger backup`` and ``ledger restore``: a copy that is consistent while ``serve`` writes, and the way back."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from support.receivers import dump_of, is_delivered, post, serving, until
from support.sample_events import dataset, event

from dh_bridge.catalog.store import Catalog
from dh_bridge.event_log import EventLog
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.ledger.log_cursor import read_cursor

CATALOGUE = ("--to", "catalog:all.db", "--set", "receiver.listen=127.0.0.1:0")
EVENTS = str(Path(__file__).resolve().parents[2] / "examples" / "events" / "client.ndjson")


def run_event(number):
    run = f"01a1f6ae-0000-7000-8000-{number:012}"
    return event("COMPLETE", run=run, job=f"etl.load_{number % 7}", outputs=[dataset(f"d.s.out{number % 11}")])


def logged(ledger):
    """Return the runs of the events in the log of a ledger."""
    with EventLog(log_folder(ledger), max_bytes=1 << 30) as event_log:
        batch = event_log.read_after(0, max_events=100_000, max_bytes=1 << 30)
    return [logged_event.run_key for _, logged_event in batch.events]


def test_backups_of_a_running_serve_go_on_to_the_same_end(run, tmp_path):
    """Copies at any moment have an event once, and their log has each event of their states."""
    acknowledged = []

    def send(receiver):
        for number in range(240):
            assert post(receiver, run_event(number))[0] == 200
            acknowledged.append(run_event(number)["run"]["runId"])

    with serving(*CATALOGUE) as receiver:
        sender = threading.Thread(target=send, args=(receiver,))
        sender.start()
        acknowledged_before = []
        for number in range(4):
            until(lambda number=number: len(acknowledged) > 50 * number)
            acknowledged_before.append(list(acknowledged))
            result = run("ledger", "backup", "all.db", f"copy{number}.db")
            assert result.exit_code == 0, result.stderr
            assert f"copy{number}.db.log with 0." in result.stdout
        sender.join()
        until(lambda: is_delivered(receiver))
        assert receiver.end()[0] == 0
    end = dump_of("all.db")
    for number, before in enumerate(acknowledged_before):
        copy = tmp_path / f"copy{number}.db"
        runs = logged(copy)
        assert runs == acknowledged[: len(runs)]
        assert len(runs) >= len(before)
        with Catalog(copy, readonly=True) as file:
            cursor = read_cursor(file.connection)
        assert cursor is None or cursor.position <= len(runs)
        rest = tmp_path / f"rest{number}.ndjson"
        rest.write_bytes(b"\n".join(logged_bytes("all.db")[len(runs) :]))
        assert run("emit", str(rest), "--to", f"catalog:{copy}").exit_code == 0
        assert dump_of(copy) == end


def logged_bytes(ledger):
    with EventLog(log_folder(ledger), max_bytes=1 << 30) as event_log:
        batch = event_log.read_after(0, max_events=100_000, max_bytes=1 << 30)
    return [logged_event.event for _, logged_event in batch.events]


def test_backup_overwrites_nothing_and_leaves_nothing_behind(run, tmp_path):
    assert run("emit", EVENTS, "--to", "catalog:all.db").exit_code == 0
    assert run("ledger", "backup", "all.db", "copy.db").exit_code == 0
    assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy.db", "copy.db.log"]
    assert (tmp_path / "copy.db").stat().st_mode & 0o777 == 0o600
    result = run("ledger", "backup", "all.db", "copy.db")
    assert (result.exit_code, result.stderr) == (3, "Error: copy.db: the file exists (name another file)\n")
    assert run("ledger", "backup", "absent.db", "other.db").exit_code == 3
    assert [*tmp_path.glob("other*")] == []


def test_interrupted_backup_is_made_again(run, tmp_path):
    assert run("emit", EVENTS, "--to", "catalog:all.db").exit_code == 0
    (tmp_path / "copy.db.part").write_bytes(b"half a file")
    (tmp_path / "copy.db.log.part").mkdir()
    (tmp_path / "copy.db.log.part" / "00000000000000000001.log").write_bytes(b"half a segment")
    assert run("ledger", "backup", "all.db", "copy.db").exit_code == 0
    assert dump_of("copy.db") == dump_of("all.db")
    assert logged("copy.db") == logged("all.db")


def test_damaged_ledger_is_not_backed_up(run, tmp_path):
    assert run("emit", EVENTS, "--to", "catalog:all.db").exit_code == 0
    data = bytearray((tmp_path / "all.db").read_bytes())
    data[8192 : len(data) : 4096] = b"\xff" * len(range(8192, len(data), 4096))  # the first byte of most pages
    (tmp_path / "all.db").write_bytes(data)
    result = run("ledger", "backup", "all.db", "copy.db")
    assert result.exit_code == 3
    assert "all.db: the file is damaged" in result.stderr
    assert not (tmp_path / "copy.db").exists()


def test_restored_catalogue_is_that_of_the_backup(run):
    assert run("emit", EVENTS, "--to", "catalog:all.db").exit_code == 0
    assert run("ledger", "backup", "all.db", "copy.db").exit_code == 0
    result = run("ledger", "restore", "copy.db", "new.db")
    assert (result.exit_code, result.stdout) == (0, "new.db restored\n")
    assert dump_of("new.db") == dump_of("all.db")
    assert logged("new.db") == logged("all.db")


@pytest.mark.parametrize("name", ["all.db", "all.db-wal"])
def test_restore_overwrites_no_ledger(run, tmp_path, name):
    assert run("emit", EVENTS, "--to", "catalog:all.db").exit_code == 0
    assert run("ledger", "backup", "all.db", "copy.db").exit_code == 0
    if name != "all.db":
        (tmp_path / "all.db").rename(tmp_path / name)
    result = run("ledger", "restore", "copy.db", "all.db")
    assert result.exit_code == 3
    assert result.stderr == f"Error: {name}: the file exists (stop the processes that use it, and move it away)\n"


def test_restore_rejects_the_log_of_another_ledger(run):
    for name in ("all.db", "other.db"):
        assert run("emit", EVENTS, "--to", f"catalog:{name}").exit_code == 0
    assert run("ledger", "backup", "all.db", "copy.db").exit_code == 0
    Path("all.db").unlink()
    shutil.rmtree("all.db.log")
    Path("other.db.log").rename("all.db.log")
    result = run("ledger", "restore", "copy.db", "all.db")
    assert result.exit_code == 3
    assert "the folder has the log of another ledger (move the folder away)" in result.stderr
    assert not Path("all.db").exists()
