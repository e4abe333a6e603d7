"""Workers end with the process that reads, however that one ends, and say nothing of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from samples import event
from samples import packed as sent

from dh_bridge.replay import workers

PATIENCE = 60
"""Seconds after which a process that should be busy, or gone, is not any more: this machine has other things to do."""
SOON = 10
"""Seconds within which workers are gone."""

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="/proc tells who is there")


def living(session):
    """Return the processes of a session that are alive, as (id, command)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of = stat.read_text().rpartition(") ")[2].split()[:4]
            command = (stat.parent / "cmdline").read_bytes()
        except OSError:  # it ended meanwhile
            continue
        if int(of) == session and state != "Z":
            found.append((int(stat.parent.name), command))
    return found


def workers_of(session):
    return [one for one, command in living(session) if b"spawn_main" in command]


def until(holds, seconds=PATIENCE):
    """Wait until ``holds`` does; return whether it did in time."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def emit(tmp_path):
    """Return a function that starts `emit` with two processes in a session of its own, whose input goes on and on."""
    started = []
    said = tmp_path / "stderr"
    # a job that a shell runs in the background ignores Ctrl-C, and so does all that it starts
    heeded = signal.signal(signal.SIGINT, signal.default_int_handler)

    def start():
        command = [sys.executable, "-m", "dh_bridge", "emit", "-", "--to", f"file:{tmp_path / 'out.ndjson'}"]
        with said.open("wb") as stderr:
            process = subprocess.Popen(
                [*command, "--processes", "2", "--set", "window=20"],
                stdin=subprocess.PIPE,
                stderr=stderr,
                cwd=tmp_path,
                start_new_session=True,
            )
        started.append(process)
        return process, said

    yield start
    signal.signal(signal.SIGINT, heeded)
    for process in started:
        for one, _ in living(process.pid):
            os.kill(one, signal.SIGKILL)
        process.stdin.close()
        process.wait()


def busy(process, said):
    """Give events to ``process`` until it has written some."""
    events = [event(word, run=f"018cc251-f400-734d-88b3-{i:012}") for i in range(500) for word in ("START", "COMPLETE")]
    process.stdin.write(b"\n".join(sent(events)) + b"\n")
    process.stdin.flush()
    assert until(lambda: b"first " in said.read_bytes()), said.read_text()
    assert len(workers_of(process.pid)) == 2


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])
def test_workers_are_gone_soon_after_the_process_that_started_them_is_killed(emit, name):
    process, said = emit()
    busy(process, said)
    os.kill(process.pid, getattr(signal, name))
    process.wait(SOON)
    assert until(lambda: not living(process.pid), SOON), living(process.pid)
    assert "Traceback" not in said.read_text()


@pytest.mark.parametrize("when", ["begin", "busy"])
def test_ctrl_c_ends_all_and_prints_no_traceback(emit, when):
    process, said = emit()
    if when == "busy":
        busy(process, said)
    else:
        assert until(lambda: workers_of(process.pid))
    os.killpg(process.pid, signal.SIGINT)  # what a terminal does
    assert process.wait(PATIENCE) == 130
    assert until(lambda: not living(process.pid), SOON), living(process.pid)
    assert said.read_text().endswith("\nInterrupted: what was written stays; run the same command again to finish.\n")
    assert "Traceback" not in said.read_text()


def test_who_starts_workers_hears_ctrl_c_as_before(monkeypatch):
    """Also where signals have no masks: on Windows."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with workers._no_interrupts():
        assert signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before
    monkeypatch.delattr(signal, "pthread_sigmask")
    with workers._no_interrupts():
        pass
