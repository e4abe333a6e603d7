"""What `emit` says before the first write, and when it asks (issue 6.6)."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

EVENTS = str(Path(__file__).resolve().parents[2] / "examples" / "events" / "spark.ndjson")


@pytest.fixture
def terminal():
    """Run `emit` with a terminal as its stdin and stderr; return its exit code and what the person at it sees."""

    def run(answer, *arguments, stdin=None, limit=0):
        ours, theirs = pty.openpty()
        script = f"from dh_bridge.cli import confirm, main; confirm.MAX_UNCONFIRMED_ENTITIES = {limit}; main()"
        command = [sys.executable, "-c", script, "emit", *arguments]
        stated = stdin if stdin is not None else theirs
        with subprocess.Popen(command, stdin=stated, stdout=subprocess.DEVNULL, stderr=theirs) as process:
            os.close(theirs)
            seen = b""
            while chunk := _read(ours):
                seen += chunk
                if answer and b"[y/N]" in seen:
                    os.write(ours, answer.encode())
                    answer = ""
            os.close(ours)
        return process.returncode, seen.decode()

    return run


def _read(descriptor):
    try:
        return os.read(descriptor, 4096)
    except OSError:  # the other side is closed
        return b""


def test_proposal_counts_are_printed_before_the_first_write(run, gms):
    seen = []
    gms.poison = lambda _one: seen.append(1)
    result = run("emit", EVENTS, "--to", f"rest:{gms.url}")
    assert result.exit_code == 0, result.stderr
    _connecting, first, second, *_ = result.stderr.splitlines()
    assert first.startswith("writing to rest:")
    assert second == f"first 30 events: {len(seen)} proposals for 27 entities, 11 of them runs"


@pytest.mark.parametrize("ledger", [(), ("--ledger", "ledger.db")], ids=["alone", "ledger"])
def test_confirmation_answered_no_writes_nothing(terminal, gms, ledger):
    code, seen = terminal("n\n", EVENTS, "--to", f"rest:{gms.url}", *ledger, limit=2)
    assert code == 3
    assert "16 of them new" in seen
    assert "16 entities are new there; write them? [y/N]" in seen
    assert gms.writes == []
    assert "wait in the ledger" not in seen


def test_confirmation_answered_yes_writes_and_is_asked_once(terminal, gms):
    code, seen = terminal("y\n", EVENTS, "--to", f"rest:{gms.url}", "--set", "window=1")
    assert code == 0, seen
    assert seen.count("[y/N]") == 1
    assert gms.dump()
    again, seen = terminal("", EVENTS, "--to", f"rest:{gms.url}")
    assert (again, "0 of them new" in seen, "[y/N]" in seen) == (0, True, False)


@pytest.mark.parametrize("flag", ["--yes", "--dry-run"])
def test_nobody_is_asked_who_does_not_want_to_be(terminal, gms, flag):
    code, seen = terminal("", EVENTS, "--to", f"rest:{gms.url}", flag)
    assert (code, "[y/N]" in seen) == (0, False)


def test_catalogue_asks_and_a_file_does_not(terminal, tmp_path):
    stated = ("--datahub-version", "1.4")
    code, seen = terminal("n\n", EVENTS, "--to", f"catalog:{tmp_path / 'c.db'}", *stated)
    assert (code, "[y/N]" in seen) == (3, True)
    assert terminal("", EVENTS, "--to", f"file:{tmp_path / 'out.ndjson'}", *stated)[0] == 0


def test_confirmation_is_skipped_if_events_come_from_a_pipe(terminal, gms):
    with Path(EVENTS).open("rb") as events:
        code, seen = terminal("", "-", "--to", f"rest:{gms.url}", stdin=events)
    assert (code, "[y/N]" in seen) == (0, False)


def test_limit_needs_a_ledger(run, gms):
    limit = ("--set", "max_new_entities_per_hour=2")
    result = run("emit", EVENTS, "--to", f"rest:{gms.url}", *limit)
    assert result.exit_code == 2
    assert "max_new_entities_per_hour: requires a ledger, where proposals beyond the limit wait" in result.stderr
    assert gms.writes == []
    assert run("emit", EVENTS, "--to", f"rest:{gms.url}", "--dry-run", *limit).exit_code == 0
    assert run("emit", EVENTS, "--to", "catalog:c.db", *limit).exit_code == 0


def test_new_entities_over_the_limit_exit_with_code_3(run, gms):
    result = run("emit", EVENTS, "--to", f"rest:{gms.url}", "--ledger", "l.db", "--set", "max_new_entities_per_hour=2")
    assert result.exit_code == 3
    stated = r"(\d+) new entities exceed max_new_entities_per_hour \(2\), the next one is sent from 20\S+Z on\."
    assert int(re.search(stated, result.stderr)[1]) > 10
    listed = run("queue", "list", "l.db").stdout
    assert "waits: more new entities than max_new_entities_per_hour" in listed
    assert run("emit", EVENTS, "--to", f"rest:{gms.url}", "--ledger", "l.db").exit_code == 0
    assert run("queue", "list", "l.db").stdout == "0 proposals wait, 0 dead letters\n"
