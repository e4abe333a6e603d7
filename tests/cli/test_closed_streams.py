"""Whoever starts a command may have closed its stdin, stdout or stderr: supervisors and callbacks do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.sample_events import dataset, event

EVENTS = str(Path(__file__).resolve().parents[2] / "examples" / "events" / "client.ndjson")


def ran(closed, *arguments):
    """Run the command in a process of its own with the streams ``closed`` (``<&- >&- 2>&-``)."""
    command = [sys.executable, "-c", "from dh_bridge.cli import main; main()", *arguments]
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *command], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_emit_to_a_file_works_with_closed_streams(closed, tmp_path):
    assert ran(closed, "emit", EVENTS, "--to", "file:out.ndjson").returncode == 0
    assert (tmp_path / "out.ndjson").stat().st_size > 1000


TABLE = "urn:li:dataset:(urn:li:dataPlatform:duckdb,shop.raw.orders,PROD)"


@pytest.mark.parametrize(
    ("closed", "arguments", "code", "stated"),
    [
        ("<&-", ("translate", "-"), 1, "stdin: standard input is closed (pass a file)"),
        ("<&-", ("urn", "-"), 1, "stdin: standard input is closed (pass a file)"),
        (">&-", ("translate", EVENTS), 2, "stdout is closed"),
        (">&-", ("emit", EVENTS, "--to", "file:-"), 2, "stdout is closed"),
        (">&-", ("config", "show"), 2, "stdout is closed"),
        (">&-", ("lineage", "shop.db", TABLE), 2, "stdout is closed"),
    ],
)
def test_closed_stream_that_a_command_needs_is_an_error(closed, arguments, code, stated):
    assert ran("", "emit", EVENTS, "--to", "catalog:shop.db").returncode == 0
    result = ran(closed, *arguments)
    assert result.returncode == code
    assert stated in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is full")
@pytest.mark.parametrize("arguments", [("translate", EVENTS), ("config", "show")])
def test_full_stdout_is_a_delivery_error(arguments):
    result = ran(">/dev/full", *arguments)
    assert result.returncode == 3
    assert result.stderr.splitlines()[-1] == "Error: the output cannot be written: No space left on device"


@pytest.mark.parametrize("arguments", [("translate", EVENTS), ("config", "show")])
def test_broken_pipe_exits_with_141_and_no_message(arguments):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "dh_bridge", *arguments]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")


def test_non_encodable_characters_are_escaped_on_the_console(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "cp1252")
    stated = event("COMPLETE", outputs=[dataset("日本", "日本://db")])
    (tmp_path / "e.json").write_text(json.dumps(stated))
    assert ran("", "emit", "e.json", "--to", "catalog:c.db").returncode == 0
    urn = json.loads(ran("", "urn", "日本://db", "日本", "--json").stdout)["urn"]
    tree = ran("", "lineage", "c.db", urn)
    assert (tree.returncode, "\\u65e5\\u672c" in tree.stdout) == (0, True)
    assert "日本" in ran("", "lineage", "c.db", urn, "--dot").stdout
    assert "日本" in ran("", "check", "e.json", "--rules", "-").stdout


def test_emit_ends_with_130_after_ctrl_c(tmp_path):
    command = [sys.executable, "-m", "dh_bridge", "emit", "-", "--to", "file:out.ndjson", "--set", "window=20"]
    heeded = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # background jobs ignore it, and so do their children
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path)
    finally:
        signal.signal(signal.SIGINT, heeded)
    with process:
        events = [
            event(word, run=f"018cc251-f400-734d-88b3-{i:012}") for i in range(50) for word in ("START", "COMPLETE")
        ]
        process.stdin.write(b"".join(json.dumps(one).encode() + b"\n" for one in events))
        process.stdin.flush()
        first = process.stderr.readline()  # where to; written before the first event is read
        os.kill(process.pid, signal.SIGINT)
        stated = first + process.stderr.read()
    assert process.returncode == 130, stated
    assert stated.endswith(b"\nInterrupted. Everything written so far stays. Run the same command again to finish.\n")
    assert b"Traceback" not in stated
