"""Two ``serve`` and an ``emit`` on one file at a time: the end is that of one process."""

from __future__ import annotations

import json
import subprocess
import sys
import threading

import msgspec
import pytest
from support.receivers import post, serving
from support.sample_events import dataset, event

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.datahub.proposal import Proposal

TARGETS = {
    "catalogue": ("catalog:c.db",),
    "ledger": ("file:out.ndjson", "--ledger", "l.db"),
}
RUNS = 36


def run_events(number):
    run = f"01a1f6ae-0000-7000-8000-{number:012}"
    parts = {"run": run, "job": f"etl.load_{number % 5}"}
    tables = {"inputs": [dataset(f"d.s.t{number % 7}")], "outputs": [dataset("d.s.out")]}
    return [
        event("START", f"2026-11-20T01:00:{number:02}Z", **parts),
        event("COMPLETE", f"2026-11-20T02:00:{number:02}Z", **parts, **tables),
    ]


def emit(path, items, target, folder):
    path.write_text("".join(json.dumps(item) + "\n" for item in items))
    command = [sys.executable, "-m", "dh_bridge", "emit", str(path), "--to", *target]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def dump(folder):
    """Return the content of the target."""
    if (folder / "c.db").exists():
        with Catalog(folder / "c.db", readonly=True) as catalog:
            return list(dump_catalog(catalog))
    with Catalog(":memory:") as catalog:
        lines = (folder / "out.ndjson").read_bytes().splitlines()
        assert catalog.apply([msgspec.json.decode(line, type=Proposal) for line in lines]).failures == []
        return list(dump_catalog(catalog))


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_two_receivers_and_an_emit_share_a_file(target, tmp_path, monkeypatch):
    events = [run_events(number) for number in range(RUNS)]
    shared, alone = tmp_path / "shared", tmp_path / "alone"
    for folder in (shared, alone):
        folder.mkdir()
    monkeypatch.chdir(shared)
    arguments = ("--to", *TARGETS[target], "--set", "receiver.listen=127.0.0.1:0")
    statuses = []

    def send(receiver, numbers):
        for number in numbers:
            statuses.extend(post(receiver, one)[0] for one in events[number])

    with serving(*arguments) as first, serving(*arguments) as second:
        # each run is sent to both, its END to one before its START to the other: retries of a load balancer
        senders = [
            threading.Thread(target=send, args=(receiver, numbers))
            for receiver, numbers in ((first, range(24)), (second, range(23, 5, -1)))
        ]
        for sender in senders:
            sender.start()
        emitted = emit(
            shared / "e.ndjson", [one for number in range(20, RUNS) for one in events[number]], TARGETS[target], shared
        )
        for sender in senders:
            sender.join()
        assert (emitted.returncode, set(statuses)) == (0, {200}), emitted.stderr
        assert first.end()[0] == second.end()[0] == 0
    result = emit(alone / "e.ndjson", [one for run in events for one in run], TARGETS[target], alone)
    assert result.returncode == 0
    assert len(dump(shared)) > 200
    assert dump(shared) == dump(alone)
