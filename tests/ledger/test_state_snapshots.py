"""Snapshots: the log deletes old events, and a replay starts with the states that the ledger had after them."""

from __future__ import annotations

import errno
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.generated_runs import group, group_of_tries
from support.ledger_batches import NOW, compiled, read

from dh_bridge import Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import SinkError
from dh_bridge.event_log import EventLog
from dh_bridge.ledger import Ledger, open_ledger, state_snapshots
from dh_bridge.ledger.backup import back_up, restore
from dh_bridge.ledger.erasing import erase
from dh_bridge.ledger.event_selection import EventSelection
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.ledger.log_cursor import read_cursor
from dh_bridge.ledger.schema import LEDGER_TABLES, MIGRATIONS
from dh_bridge.ledger.state_snapshots import list_snapshots
from dh_bridge.replay import NEW, VANISHED, apply_replay, compare_replay
from dh_bridge.sinks.catalog import CatalogSink
from dh_bridge.sinks.memory import MemorySink
from dh_bridge.storage.database import Database

DAY = 86_400
DAYS, EVENTS_PER_DAY = 20, 3
EVENTS = [event for number in range(10) for event in (*group(11, number), *group_of_tries(11, number))]
SAME = Settings(datahub_version="1.4", log={"retention_days": 4})
OTHER = SAME.model_copy(update={"naming": Settings(naming={"env": "TEST"}).naming})


class Clock:
    def __init__(self, now=NOW):
        self.now = now

    def __call__(self):
        return self.now


def live(path, days=range(DAYS), chosen=SAME, *, is_catalogue=True, seed=0):
    """Process some events each day, in the order of a seed; a segment of the log ends each day."""
    clock = Clock(NOW + days[0] * DAY)
    events = [*EVENTS]
    if seed:
        random.Random(seed).shuffle(events)  # noqa: S311 - reproducible, not secret
    with (
        Catalog(path) as file,
        EventLog(log_folder(path), max_bytes=1 << 30, clock=clock) as event_log,
        CatalogSink(file) if is_catalogue else MemorySink() as sink,
    ):
        for day in days:
            clock.now = NOW + day * DAY
            ledger = Ledger(file, compiled(chosen), sink, clock=clock, event_log=event_log)
            ledger.process_and_deliver(read(events[day * EVENTS_PER_DAY : (day + 1) * EVENTS_PER_DAY]))


def log_start(path):
    with EventLog(log_folder(path), max_bytes=0) as event_log:
        return event_log.first_position()


def positions(path):
    return [snapshot.position for snapshot in list_snapshots(log_folder(path))]


def dump(path):
    with Catalog(path, readonly=True) as file:
        return list(dump_catalog(file))


def deliver(path, chosen):
    with CatalogSink(Catalog(path)) as sink, open_ledger(None, sink, chosen) as ledger:
        return [proposal for translation, _ in ledger.stream([]) for proposal in translation.proposals]


def test_snapshots_have_all_tables_of_a_ledger():
    statements = " ".join(MIGRATIONS.values())
    assert sorted(LEDGER_TABLES) == sorted(part.split()[0] for part in statements.split("CREATE TABLE ")[1:])


def test_events_leave_the_log_only_after_a_snapshot_has_their_effect(tmp_path):
    path = tmp_path / "ledger.db"
    for day in range(DAYS):
        live(path, [day])
        found = positions(path)
        assert len(found) <= 3
        assert log_start(path) == 1 or found[0] >= log_start(path) - 1
        assert found == [] or found[-1] <= (day + 1) * EVENTS_PER_DAY
    assert log_start(path) > DAYS * EVENTS_PER_DAY / 2


def test_young_log_has_no_snapshot(tmp_path):
    live(tmp_path / "ledger.db", range(2))
    assert positions(tmp_path / "ledger.db") == []


def test_large_log_makes_a_snapshot_before_it_loses_events(tmp_path, monkeypatch):
    monkeypatch.setattr("dh_bridge.ledger.ledger_log._TRIM_SECONDS", 0.0)
    monkeypatch.setattr("dh_bridge.event_log.log.SEGMENT_BYTES", 1_000)  # a segment for each event
    path = tmp_path / "ledger.db"
    with Catalog(path) as file, EventLog(log_folder(path), max_bytes=1_200_000) as event_log:
        ledger = Ledger(file, compiled(SAME), CatalogSink(file), clock=lambda: NOW, event_log=event_log)
        for event in EVENTS:
            ledger.process_and_deliver(read([event]))
    assert log_start(path) > 1
    assert positions(path)[0] >= log_start(path) - 1
    result = compare_replay(path, SAME)
    assert (result.differences, result.start.position) == ([], positions(path)[0])


@pytest.mark.parametrize("seed", range(3))
def test_replay_from_a_snapshot_changes_nothing(tmp_path, seed):
    path = tmp_path / "ledger.db"
    live(path, seed=seed)
    result = compare_replay(path, SAME)
    assert (result.is_complete, result.differences) == (False, [])
    start = positions(path)[0]
    assert result.start.position == start
    assert NOW <= result.start.time / 1000 < NOW + DAYS * DAY
    assert result.events == DAYS * EVENTS_PER_DAY - start > 0

    before = dump(path)
    apply_replay(path, SAME)
    assert deliver(path, SAME) == []
    assert dump(path) == before


def test_mistake_in_the_settings_is_undone_though_older_events_are_gone(tmp_path):
    """From day 18 on the settings are wrong; with the right ones, the replay gives what they would have given."""
    path, right = tmp_path / "ledger.db", tmp_path / "right.db"
    live(right)
    live(path, range(18))
    live(path, range(18, DAYS), OTHER)
    assert dump(path) != dump(right)
    wrong = {item.urn for item in compare_replay(path, SAME).differences if item.kind == VANISHED}
    assert {urn for urn in wrong if ":dataset:" in urn and urn.endswith(",TEST)")}
    assert not {urn for urn in wrong if ":dataset:" in urn and not urn.endswith(",TEST)")}

    apply_replay(path, SAME)
    deliver(path, SAME)
    remaining = [line for line in dump(path) if not any(urn.encode() in line for urn in wrong)]
    assert remaining == dump(right)


def test_other_settings_move_the_entities_of_the_log_alone(tmp_path):
    path = tmp_path / "ledger.db"
    live(path)
    result = compare_replay(path, OTHER)
    new = [item.urn for item in result.differences if item.kind == NEW and ":dataset:" in item.urn]
    assert new
    assert all(urn.endswith(",TEST)") for urn in new)
    assert (VANISHED, "dataset") not in result.counts()  # older events named them


def test_snapshot_that_is_damaged_is_passed_over(tmp_path, caplog):
    path = tmp_path / "ledger.db"
    live(path)
    older, *newer = list_snapshots(log_folder(path))
    older.path.write_bytes(b"SQLite format 3\0" + bytes(4_000))
    result = compare_replay(path, SAME)
    assert older.path.name in caplog.text
    assert result.differences == []
    assert (result.start.position if newer else result.start) == (newer[0].position if newer else None)


def fail(_connection):
    raise OSError(errno.ENOSPC, "No space")


def test_disk_that_is_full_keeps_the_events(tmp_path, monkeypatch, caplog):
    path = tmp_path / "ledger.db"
    live(path, range(2))
    with monkeypatch.context() as patch:
        patch.setattr(state_snapshots, "read_cursor", fail)
        live(path, range(2, 8))
    assert "cannot write a snapshot of the ledger: [Errno 28] No space" in caplog.text
    assert (log_start(path), sorted(log_folder(path).glob("new*"))) == (1, [])


KILLED = """
import os, signal, sys
from pathlib import Path
from dh_bridge.event_log import EventLog
from dh_bridge.ledger import state_snapshots

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

{target} = kill
sys.path[:0] = {folders!r}
from test_state_snapshots import live
live(Path(sys.argv[1]))
"""
STEPS = ["state_snapshots.read_cursor", "state_snapshots.sync_folder", "EventLog.delete_old", "EventLog.first_position"]


@pytest.mark.parametrize("target", STEPS)
def test_kill_at_any_step_loses_nothing(tmp_path, target):
    path, whole = tmp_path / "ledger.db", tmp_path / "whole.db"
    here = Path(__file__).parent
    code = KILLED.format(target=target, folders=[str(here.parent), str(here)])
    killed = subprocess.run([sys.executable, "-c", code, str(path)], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    with Database(path, readonly=True) as file:
        days = read_cursor(file.connection).position // EVENTS_PER_DAY
    assert 0 < days < DAYS
    live(path, range(days, DAYS))
    live(whole)
    assert dump(path) == dump(whole)
    assert positions(path)[0] >= log_start(path) - 1
    assert compare_replay(path, SAME).differences == []


def test_erasure_deletes_the_snapshots(tmp_path):
    path = tmp_path / "ledger.db"
    live(path)
    assert positions(path)
    with pytest.raises(SinkError, match="the log lacks events"):
        erase(path, EventSelection(text="nobody"), SAME)
    assert positions(path)
    erase(path, EventSelection(text="nobody"), SAME, drop_older=True)
    assert positions(path) == []
    assert compare_replay(path, SAME).start is None


def test_backups_have_the_snapshots(tmp_path):
    path, backup, restored = tmp_path / "ledger.db", tmp_path / "backup.db", tmp_path / "restored.db"
    live(path)
    back_up(path, backup)
    assert positions(backup) == positions(path)
    restore(backup, restored, SAME)
    assert positions(restored) == positions(path)
    assert compare_replay(restored, SAME).differences == []


def test_lost_ledger_is_restored_from_its_newest_snapshot(tmp_path):
    path = tmp_path / "ledger.db"
    live(path, is_catalogue=False)
    with Database(path, readonly=True) as file:
        states = file.connection.execute("SELECT urn FROM shared ORDER BY urn").fetchall()
    for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    restored = restore(list_snapshots(log_folder(path))[-1].path, path, SAME)
    assert restored.is_paused
    assert restored.pending_events == DAYS * EVENTS_PER_DAY - positions(path)[-1]
    with MemorySink() as sink, open_ledger(path, sink, SAME) as ledger:
        list(ledger.stream([]))
    with Database(path, readonly=True) as file:
        assert file.connection.execute("SELECT urn FROM shared ORDER BY urn").fetchall() == states
        assert file.connection.execute("SELECT value FROM note WHERE name = 'snapshot'").fetchall() == []


def test_snapshot_of_a_catalogue_is_not_restored(tmp_path):
    path = tmp_path / "ledger.db"
    live(path)
    with pytest.raises(SinkError, match="snapshot of a catalogue") as caught:
        restore(list_snapshots(log_folder(path))[-1].path, tmp_path / "restored.db", SAME)
    assert "emit" in caught.value.remedy


def test_drafts_of_killed_processes_are_deleted_after_a_day(tmp_path):
    path = tmp_path / "ledger.db"
    live(path, range(6))
    old, new = (log_folder(path) / f"new.states.{number}" for number in (1, 2))
    for draft in (old, new):
        draft.write_bytes(b"")
    os.utime(old, (time.time() - 2 * DAY,) * 2)
    live(path, range(6, 8))
    assert (old.exists(), new.exists()) == (False, True)


def test_readers_do_not_wait_for_a_snapshot(tmp_path):
    """The ledger is only read: another process can write to it while a snapshot is made."""
    path = tmp_path / "ledger.db"
    live(path, range(3))
    with Database(path) as file:
        written = []

        def write(connection):
            with sqlite3.connect(path, timeout=1) as other:
                other.execute("INSERT INTO note (name, value) VALUES ('other', 'process')")
                written.append(1)
            return read_cursor(connection)

        original, state_snapshots.read_cursor = state_snapshots.read_cursor, write
        try:
            state_snapshots._make_snapshot(file.connection, log_folder(path), 0)
        finally:
            state_snapshots.read_cursor = original
    assert written == [1]
