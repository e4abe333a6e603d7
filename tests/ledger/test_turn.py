"""Two processes with one ledger: one delivers at a time, so that nothing crosses on the way and nothing is sent twice."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from support.generated_runs import group
from support.gms import Fault, Gms
from support.ledger_batches import compiled, read, settings

from dh_bridge.catalog.store import Catalog
from dh_bridge.cli.queue import waiting_summary
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.errors import SinkError
from dh_bridge.ledger import Ledger
from dh_bridge.ledger.delivery_lock import try_delivery_lock
from dh_bridge.sinks.memory import MemorySink

ROOT = Path(__file__).resolve().parents[2]
EVENTS = [group(2026, number) for number in range(4)]


class Interrupted(MemorySink):
    """A sink during each of whose first requests something else happens."""

    def __init__(self, *happens):
        super().__init__()
        self._happens = list(happens)

    def emit(self, proposals):
        if self._happens:
            self._happens.pop(0)()
        return super().emit(proposals)


@pytest.fixture
def two(tmp_path):
    """Yield a function that opens a ledger on one file, as another process would."""
    files = []

    def opened(sink):
        files.append(Catalog(tmp_path / "ledger.db"))
        return Ledger(files[-1], compiled(settings()), sink)

    yield opened
    for file in files:
        file.close()


def test_proposals_added_during_delivery_are_sent_by_its_owner(two):
    late = MemorySink()
    second = two(late)

    def meanwhile():
        _, delivery = second.process_and_deliver(read(EVENTS[1]))
        assert delivery.delivered_count == 0
        assert "another process" in str(second.relay.last_error)

    sink = Interrupted(meanwhile)
    two(sink).process_and_deliver(read(EVENTS[0]))
    assert late.proposals == []
    assert second.relay.outbox.count() == (0, 0)
    alone = MemorySink()
    with Catalog(":memory:") as file:
        ledger = Ledger(file, compiled(settings()), alone)
        for one in EVENTS[:2]:
            ledger.process_and_deliver(read(one))
    assert sorted(map(ndjson_line, sink.proposals)) == sorted(map(ndjson_line, alone.proposals))


def test_last_delivery_of_a_stream_waits_for_the_turn(two, monkeypatch):
    monkeypatch.setattr("dh_bridge.ledger.ledger.END_TIMEOUT_SECONDS", 0.01)
    sink = MemorySink()
    ledger = two(sink)
    with try_delivery_lock(ledger._file.path) as ours:
        assert ours
        *_, (_, delivery) = ledger.stream(read(EVENTS[0]))
        assert (delivery.delivered_count, sink.proposals) == (0, [])
        assert "another process" in str(ledger.relay.last_error)
    found = list(ledger.stream([]))
    assert sum(delivery.delivered_count for _, delivery in found) == len(sink.proposals) > 10
    assert ledger.relay.last_error is None


def test_stream_waits_only_for_its_own_proposals(two, monkeypatch):
    monkeypatch.setattr("dh_bridge.ledger.outbox_relay._POLL_SECONDS", 0.05)
    second, third = two(MemorySink()), two(MemorySink())
    stream = threading.Thread(target=lambda: list(second.stream(read(EVENTS[1]))))

    def arrives():
        stream.start()
        end = time.monotonic() + 20
        while not second.relay.last_own_id:  # it waits for the turn, with all that it brought
            assert time.monotonic() < end
            time.sleep(0.01)
        assert busy.relay.outbox.last_id() > first

    def leaves():
        stream.join(20)
        left.append((stream.is_alive(), busy.relay.outbox.count()[0] > 0, waiting_summary(second.relay)))

    left = []
    sink = Interrupted(arrives, lambda: third.process_batch(read(EVENTS[2])), leaves)
    busy = two(sink)
    busy.process_batch(read(EVENTS[0]))
    first = busy.relay.outbox.last_id()
    busy.relay.deliver()
    assert left == [(False, True, (0, ""))]
    assert second.relay.last_error is None


def test_turn_is_one_process_s_and_ends_with_its_block(tmp_path):
    path = str(tmp_path / "ledger.db")
    with try_delivery_lock(path) as first, try_delivery_lock(path) as second:
        assert (first, second) == (True, False)
    (tmp_path / "link.db").symlink_to(path)
    with try_delivery_lock(path) as first, try_delivery_lock(str(tmp_path / "link.db")) as second:
        assert (first, second) == (True, False)
    with try_delivery_lock(path) as third:
        assert third
    with try_delivery_lock(":memory:") as one, try_delivery_lock(":memory:") as other:
        assert one
        assert other


def test_process_that_is_killed_leaves_the_turn(tmp_path):
    path = str(tmp_path / "ledger.db")
    holds = "import sys; from dh_bridge.ledger.delivery_lock import try_delivery_lock\nwith try_delivery_lock(sys.argv[1]) as acquired: print(acquired, flush=True); input()"
    process = subprocess.Popen([sys.executable, "-c", holds, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdout.readline() == b"True\n"
        with try_delivery_lock(path) as ours:
            assert not ours
        process.kill()
    with try_delivery_lock(path) as ours:
        assert ours


def test_delivery_lock_that_cannot_be_written_is_an_error(tmp_path):
    with (
        pytest.raises(SinkError, match="cannot open the lock file"),
        try_delivery_lock(str(tmp_path / "none" / "ledger.db")),
    ):
        pass
    (tmp_path / "ledger.db-delivery").write_text("what is this? " * 100)
    with pytest.raises(SinkError, match="cannot lock the file"), try_delivery_lock(str(tmp_path / "ledger.db")):
        pass


def emit(folder, url, events):
    """Start an ``emit`` of a batch for every few events."""
    call = [sys.executable, "-c", "from dh_bridge.cli import main; main()", "emit", events, "--to", f"rest:{url}"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT / "src")}
    command = [*call, "--ledger", "ledger.db", "--set", "ledger.batch=3", "--datahub-version", "1.4"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)


def test_two_emits_at_once_send_everything_once_and_end_as_one(tmp_path):
    """The server is slow at first, so that both have something to send while the other is at it."""
    for number in (0, 1):
        lines = [json.dumps(one) for part in EVENTS[number::2] for one in part]
        (tmp_path / f"{number}.ndjson").write_text("\n".join(lines))
    ends = []
    for both in (True, False):
        shutil.rmtree(tmp_path / "ledger.db.log", ignore_errors=True)
        for old in tmp_path.glob("ledger.db*"):
            old.unlink()
        with Gms(tmp_path / f"gms{both}.db") as gms:
            gms.faults = [Fault(pause=0.05) for _ in range(20 if both else 0)]
            started = [emit(tmp_path, gms.url, f"{number}.ndjson") for number in (0, 1)] if both else []
            for number in (0, 1):
                process = started[number] if both else emit(tmp_path, gms.url, f"{number}.ndjson")
                _, stated = process.communicate(timeout=60)
                assert process.returncode == 0, stated.decode()
            ends.append(gms.dump())
            times = Counter(map(ndjson_line, gms.proposals))
            assert [line for line, number in times.items() if number > 1 and b"PATCH" not in line] == []
    assert ends[0] == ends[1]
