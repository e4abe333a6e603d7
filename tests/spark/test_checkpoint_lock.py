"""A second stream on one checkpoint is refused by name, and the first one goes on."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from support.sample_events import event
from support.sample_events import packed as sent

from dh_bridge import Settings
from dh_bridge.errors import SettingsError
from dh_bridge.spark import checkpoint_lock, stream, stream_files
from dh_bridge.spark.checkpoint_lock import FileLock, Lease


def start(session, folder, home, seen=None, interval="1 second"):
    events = stream_files(session, str(folder))
    streamed = stream(events, checkpoint=str(home / "state"), settings=Settings(datahub_version="1.7"), partitions=1)
    streamed.to(lambda proposals, _bad, number: seen.append((number, proposals.count())))
    return (streamed.every(interval) if interval else streamed).start()


def test_second_stream_of_a_checkpoint_is_refused_and_the_first_goes_on(session, tmp_path):
    landing, seen = tmp_path / "in", []
    landing.mkdir()
    (landing / "one.json").write_bytes(sent([event("START")])[0])
    first = start(session, landing, tmp_path, seen)
    try:
        with pytest.raises(
            SettingsError, match=r"another stream uses this checkpoint: process \d+ on .*stop that stream"
        ):
            start(session, landing, tmp_path, seen)
        code = "import sys; from dh_bridge.spark.checkpoint_lock import FileLock; from pathlib import Path; FileLock(Path(sys.argv[1]), 'state')"
        other = subprocess.run(
            [sys.executable, "-c", code, tmp_path / "state"], capture_output=True, text=True, check=False
        )
        assert "SettingsError: checkpoint state: another stream uses this checkpoint: process" in other.stderr
        (landing / "two.json").write_bytes(sent([event("COMPLETE")])[0])
        first.processAllAvailable()
        assert first.isActive
        assert [number for number, _ in seen] == [0, 1]
    finally:
        first.stop()
    second = start(session, landing, tmp_path, seen, interval=None)  # at once: the first one has ended
    second.awaitTermination()
    assert len(seen) == 2


def test_killed_process_leaves_no_lock(tmp_path):
    code = "import os, sys; from dh_bridge.spark.checkpoint_lock import FileLock; from pathlib import Path; lock = FileLock(Path(sys.argv[1]), 'state'); os.kill(os.getpid(), 9)"
    assert subprocess.run([sys.executable, "-c", code, tmp_path], check=False).returncode == -9
    FileLock(tmp_path, "state").release()


def test_lease_of_a_store_is_renewed_and_ends(session, tmp_path, monkeypatch):
    checkpoint = f"file://{tmp_path}"
    lease = Lease(session, checkpoint)
    with pytest.raises(SettingsError, match="If that process was killed, try again after 60 s"):
        Lease(session, checkpoint)
    file = tmp_path / "dh_bridge" / "lock"
    before = json.loads(file.read_text())["renewed"]
    lease.renew()
    assert json.loads(file.read_text())["renewed"] > before
    monkeypatch.setattr(checkpoint_lock, "LEASE_SECONDS", 0.0)
    time.sleep(0.01)
    Lease(session, checkpoint).release()  # the first one was not renewed
    assert not file.exists()
