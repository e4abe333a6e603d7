"""``serve`` under load for long, beside a server that fails 5 % of the requests and is away for a sixth of the time.

TESTS_SOAK_SECONDS says for how long: 30 by default, an hour with TESTS_FAULTS=long.
"""

from __future__ import annotations

import http.client
import os
import random
import re
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from support.gms import Fault
from support.receivers import health, is_delivered, serving, until
from support.sample_events import dataset, event, packed

pytestmark = pytest.mark.slow

LONG = os.environ.get("TESTS_FAULTS") == "long"
SECONDS = float(os.environ.get("TESTS_SOAK_SECONDS", "3600" if LONG else "30"))
SENDERS = 4
RATE = 10.0
"""Events a second of one sender."""
RUNS = "urn:li:dataProcessInstance:"
FREE = ("--listen", "127.0.0.1:0")


class Chance:
    """One request in twenty fails, in one of four ways."""

    FAULTS = (Fault(status=500), Fault(status=503), Fault(reset="before"), Fault(reset="mid-answer"))

    def __init__(self):
        self._random = random.Random(32)  # noqa: S311 - reproducible, not secret

    def pop(self, _):
        return self._random.choice(self.FAULTS) if self._random.random() < 0.05 else None


class Load:
    """Senders of START and COMPLETE of runs, at a steady rate; counts what was acknowledged, and how long that took."""

    def __init__(self, server):
        self._server = server
        self._over = threading.Event()
        self._lock = threading.Lock()
        self.runs, self.waited, self.others = set(), [], []
        self._threads = [threading.Thread(target=self._send, args=(number,)) for number in range(SENDERS)]
        for thread in self._threads:
            thread.start()

    def end(self):
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _send(self, sender):
        number, began = 0, time.monotonic()
        with closing(http.client.HTTPConnection(*self._server.address, timeout=60)) as connection:
            while not self._over.wait(max(0.0, began + number / RATE - time.monotonic())):
                run = f"018cc251-{sender:04x}-734d-88b3-{number // 2:012x}"
                kind = ("START", "COMPLETE")[number % 2]
                table = [dataset(f"d.s.t{number % 40}")]
                (body,) = packed([event(kind, run=run, job=f"j{sender}_{number % 20}", outputs=table)])
                number += 1
                at = time.monotonic()
                connection.request("POST", "/api/v1/lineage", body)
                with connection.getresponse() as answer:
                    answer.read()
                with self._lock:
                    self.waited.append(time.monotonic() - at)
                    if answer.status == 200:
                        self.runs.add(RUNS + run)
                    else:
                        self.others.append(answer.status)


def resident(server):
    """Return the megabytes that a process holds."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")
def test_nothing_is_lost_and_memory_is_flat_under_load(gms, tmp_path, noted):
    gms.faults = Chance()
    began = time.monotonic()
    samples = []
    with serving("--to", f"rest:{gms.url}", "--ledger", str(tmp_path / "runs.db"), *FREE) as server:
        load = Load(server)
        away = back = False
        while (now := time.monotonic() - began) < SECONDS:
            if not away and now > SECONDS / 3:
                gms.stop()
                away = True
            elif away and not back and now > SECONDS / 2:
                waiting = health(server)["waiting"]
                gms.start()
                back = True
            samples.append(resident(server))
            time.sleep(min(1.0, SECONDS / 30))
        load.end()
        until(lambda: is_delivered(server), seconds=120)
        code, lines = server.end()
    sent = {one.entity_urn for one in gms.proposals if one.entity_urn.startswith(RUNS)}
    waited = sorted(load.waited)
    middle, late = (
        sum(part) / len(part)
        for part in (samples[len(samples) // 4 : len(samples) // 2], samples[-len(samples) // 4 :])
    )
    noted({
        "fault": "soak", "seconds": SECONDS, "events": len(waited), "runs": len(load.runs), "lost": len(load.runs - sent),
        "waiting while away": waiting, "not 200": len(load.others), "log lines": len(lines),
        "MB in the second quarter": round(middle), "MB in the last quarter": round(late), "MB at most": round(max(samples)),
        "p50 ms": round(1000 * waited[len(waited) // 2], 1), "p99 ms": round(1000 * waited[len(waited) * 99 // 100], 1),
        "longest ms": round(1000 * waited[-1]),
    })  # fmt: skip
    assert code == 0
    assert load.others == []
    assert load.runs
    assert load.runs <= sent
    assert waiting > 0
    assert late - middle < 50, "what waits is in the file"
    assert waited[len(waited) * 99 // 100] < 5.0, "senders of OpenLineage wait for five seconds"
    assert len(lines) < 50 + SECONDS, "a server that fails is no line for each request"
