"""A stream of spoilt events through ``emit``: no crash, each dead letter counted, memory bounded.

2,000 events by default; TESTS_STREAM=1000000 as many as issue 6 asks for, in pieces of 100,000, a process each.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from pathlib import Path

import pytest
from support.corrupted_events import lines

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog

pytestmark = pytest.mark.slow

STREAM = int(os.environ.get("TESTS_STREAM", "2000"))
PIECES = [(number, min(100_000, STREAM - start)) for number, start in enumerate(range(0, STREAM, 100_000))]
FOLDED = min(STREAM, 2_000 + STREAM // 20)
"""Events that go into a catalogue, whose ledger keeps every run that was ever named."""
ROOM = 800_000
"""Kilobytes of memory that a process may have at most; without spoilt events it has 420,000 (benchmarks/RESULTS.md)."""


class Fed:
    """``emit`` with a stream of spoilt lines on its standard input, and what became of it."""

    def __init__(self, command, folder, count, seed):
        self.count = count
        self.whole, self.broken, self.memory = set(), set(), []
        self.letters = folder / "dead.ndjson"
        began = time.monotonic()
        with (folder / "stderr").open("w+b") as stated:
            process = command("-", "--dead-letters", str(self.letters), stderr=stated)
            self._feed(process, seed)
            self.peak = 0
            while process.poll() is None:  # getrusage reports that of the parent before exec
                self.peak = max(self.peak, _kilobytes(process.pid, "VmHWM"))
                time.sleep(0.01)
            stated.seek(0)
            self.output = stated.read().decode()
        self.code, self.seconds = process.returncode, time.monotonic() - began

    def _feed(self, process, seed):
        with suppress(BrokenPipeError), process.stdin as pipe:  # it ended early: its words say why
            for number, line in enumerate(lines(self.count, seed), 1):
                pipe.write(line.raw + b"\n")
                if line.whole:
                    self.whole.add(number)
                if line.broken:
                    self.broken.add(number)
                if number % (self.count // 10) == 0:
                    self.memory.append(_kilobytes(process.pid, "VmRSS"))

    def counted(self, name):
        """Return a number of the summary."""
        found = re.search(rf"^{name} +([\d,]+)$", self.output, re.MULTILINE)
        return int(found[1].replace(",", "")) if found else 0

    def dead(self):
        """Return the numbers of the lines of which there is a dead letter."""
        with self.letters.open(encoding="utf-8") as file:
            return [int(json.loads(line)["place"].split(":")[1]) for line in file]


def _kilobytes(pid, name):
    """Return a figure of /proc/PID/status, 0 of a process that is gone."""
    place = Path(f"/proc/{pid}/status")
    status = place.read_text(encoding="ascii") if place.exists() else ""  # no Linux, or it is gone
    return int(found[1]) if (found := re.search(rf"{name}:\s+(\d+)", status)) else 0


def sound(fed):
    """Assert that each line was either read as an event or is a dead letter, whole lines the one and broken ones the other."""
    assert "Traceback" not in fed.output
    assert fed.code == 1, fed.output
    dead = fed.dead()
    assert len(dead) == len(set(dead)) == fed.counted("dead letters") > 0
    assert fed.counted("events") + len(dead) == fed.count
    assert fed.counted("left out") == fed.counted("not delivered") == 0
    assert fed.broken <= set(dead)
    assert fed.whole.isdisjoint(dead)
    assert fed.peak < ROOM, fed.memory


def row(fed, target):
    """Return the figures of the table in docs/reliability.md."""
    return {
        "fault": f"spoilt events to {target}",
        "events": fed.count,
        "dead letters": fed.counted("dead letters"),
        "proposals": fed.counted("delivered"),
        "seconds": round(fed.seconds),
        "MB so far": [one // 1024 for one in fed.memory],
        "peak MB": fed.peak // 1024,
    }


@pytest.mark.parametrize(("seed", "count"), PIECES)
def test_stream_of_spoilt_events(seed, count, emitting, noted, tmp_path):
    fed = Fed(emitting("--to", "file:-", "--datahub-version", "1.7"), tmp_path, count, seed)
    noted(row(fed, "file:"))
    sound(fed)


def test_stream_of_spoilt_events_into_a_catalogue(emitting, noted, tmp_path):
    file = tmp_path / "end.db"
    fed = Fed(emitting("--to", f"catalog:{file}", "--datahub-version", "1.7"), tmp_path, FOLDED, "folded")
    noted(row(fed, "catalog:"))
    sound(fed)
    with Catalog(file, readonly=True) as catalog:
        assert sum(1 for _ in dump_catalog(catalog)) > 1000
