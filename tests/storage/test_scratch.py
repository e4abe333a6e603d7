"""Temporary folders: private, deleted at the end, and after a kill by the next process."""

from __future__ import annotations

import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dh_bridge.storage import scratch
from dh_bridge.storage.scratch import scratch_folder

HOLDER = """
import sys, time
from dh_bridge.storage.scratch import scratch_folder
with scratch_folder("replay") as folder:
    (folder / "events").write_text("secret")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder():
    """A process with a folder, and the folder."""
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True) as process:
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_folder_is_private_and_deleted_at_the_end(temporary):
    with scratch_folder("trial") as folder:
        assert folder.parent == temporary
        assert folder.name.startswith("dh_bridge_trial_")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "file").write_text("x")
    assert list(temporary.iterdir()) == []


def test_folder_is_deleted_after_an_error(temporary):
    with pytest.raises(ValueError, match="x"), scratch_folder("trial"):
        raise ValueError("x")
    assert list(temporary.iterdir()) == []


def test_folder_of_a_running_process_stays(holder):
    process, folder = holder
    with scratch_folder("trial"), scratch_folder("replay"):
        assert (folder / "events").read_text() == "secret"
    assert process.poll() is None


def test_folder_of_a_killed_process_is_deleted_by_the_next_one(holder, temporary):
    process, folder = holder
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (folder / "events").exists()
    with scratch_folder("trial") as own:
        assert [path.name for path in temporary.iterdir() if path.is_dir()] == [own.name]
    assert list(temporary.iterdir()) == []


def test_folders_and_links_of_others_stay(temporary, monkeypatch, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    (other / "file").touch()
    (temporary / "dh_bridge_trial_link").symlink_to(other)
    (temporary / "dh_bridge_trial_link-lock").touch()
    (temporary / "dh_bridge_trial_theirs").mkdir()
    (temporary / "dh_bridge_trial_theirs-lock").touch()
    own = (temporary / "dh_bridge_trial_theirs").stat().st_uid
    with scratch_folder("trial"):
        assert not (temporary / "dh_bridge_trial_theirs").exists()  # of this user, and without a process
    (temporary / "dh_bridge_trial_theirs").mkdir()
    (temporary / "dh_bridge_trial_theirs-lock").touch()
    monkeypatch.setattr(scratch.os, "getuid", lambda: own + 1)
    with scratch_folder("trial"):
        assert (temporary / "dh_bridge_trial_theirs").exists()
    assert (other / "file").exists()
