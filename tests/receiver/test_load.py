"""``dh-bridge serve`` under load: a server that is slow, a disk that is full, others at the same ledger, an end in between."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from support.gms import Fault, Gms
from support.receivers import health, is_delivered, metrics, serving, until
from support.sample_events import EXAMPLES, dataset, event, packed

from dh_bridge.catalog.store import Catalog

pytestmark = pytest.mark.slow

FREE = ("--listen", "127.0.0.1:0")
RUNS = "urn:li:dataProcessInstance:"
PATIENT = 5.0
"""Seconds that senders of OpenLineage wait."""


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("URL", "HOST", "PORT", "TOKEN"):
        monkeypatch.delenv(f"DATAHUB_GMS_{name}", raising=False)


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db") as server:
        yield server


class Load:
    """Senders that each send runs of their own, one after the other; ``taken`` are those of which 200 was answered.

    ``pause``: seconds between two runs of a sender. Without a pause, a receiver accepts more than it can deliver.
    """

    def __init__(self, pause=0.0):
        self._pause = pause
        self.taken: set[str] = set()
        self.answers: Counter[int] = Counter()
        self.longest = 0.0
        self._number = 0
        self._over = threading.Event()
        self._lock = threading.Lock()

    @contextmanager
    def on(self, *servers, senders=8):
        with ThreadPoolExecutor(senders) as pool:
            sent = [pool.submit(self._send, servers[number % len(servers)]) for number in range(senders)]
            try:
                yield self
            finally:
                self._over.set()
                for one in sent:
                    one.result()

    def seen(self, status):
        """Say whether a status was answered from now on."""
        before = self.answers[status]
        return lambda: self.answers[status] > before

    def _send(self, server):
        with closing(http.client.HTTPConnection(*server.address, timeout=60)) as connection:
            while not self._over.is_set():
                with self._lock:
                    self._number += 1
                    run = f"018cc251-f400-734d-88b3-{self._number:012x}"
                (body,) = packed([event(run=run, job=f"j{self._number % 50}", outputs=[dataset("d.s.t")])])
                began = time.monotonic()
                try:
                    connection.request("POST", "/api/v1/lineage", body)
                    with connection.getresponse() as answer:
                        answer.read()
                except OSError:  # it has ended
                    return
                with self._lock:
                    self.longest = max(self.longest, time.monotonic() - began)
                    self.answers[answer.status] += 1
                    if answer.status == 200:
                        self.taken.add(RUNS + run)
                time.sleep(0.05 if answer.status != 200 else self._pause)


class Always:
    """Faults that never end."""

    def __init__(self, fault):
        self._fault = fault

    def pop(self, _):
        return self._fault


def resident(server):
    """Return the megabytes that a process holds."""
    stated = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", stated)[1]) / 1024


def runs(gms):
    return {one.entity_urn for one in gms.proposals if one.entity_urn.startswith(RUNS)}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")
def test_slow_server_slows_no_sender_and_fills_no_memory(gms, tmp_path):
    gms.faults = Always(Fault(pause=10.0))
    with serving("--to", f"rest:{gms.url}", "--ledger", str(tmp_path / "runs.db"), *FREE) as server:
        with Load().on(server) as load:
            until(lambda: sum(load.answers.values()) > 2_000, seconds=60)  # by now all has been used once
            early = resident(server)
            waits = [(time.sleep(1), health(server))[1] for _ in range(8)]
            late = resident(server)
        assert set(load.answers) == {200}
        assert load.longest < PATIENT
        assert [one["status"] for one in waits] == ["ok"] * 8
        assert waits[-1]["waiting"] > waits[0]["waiting"] > 0
        assert waits[-1]["waiting_seconds"] > waits[0]["waiting_seconds"]
        assert late - early < 100, "pages of two ledgers, 64 MB each, and nothing that grows with what waits"
        began = time.monotonic()
        assert server.end()[0] == 0
        assert time.monotonic() - began < 10.0, "who ends a container kills it then"


@contextmanager
def small_disk(place):
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(place)], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"no disk of its own: {made.stderr.strip()}")
    try:
        yield lambda: subprocess.run(["mount", "-o", "remount,size=300m", str(place)], check=True)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.skipif(not sys.platform.startswith("linux") or os.geteuid() != 0, reason="only root mounts a disk")
@pytest.mark.parametrize("scheme", ["rest", "catalog"])
def test_full_disk_accepts_no_event_and_loses_none(gms, tmp_path, scheme):
    with small_disk(tmp_path / "disk") as grow:
        file = tmp_path / "disk" / "runs.db"
        to = ["--to", f"catalog:{file}"] if scheme == "catalog" else ["--to", f"rest:{gms.url}", "--ledger", str(file)]
        with serving(*to, *FREE) as server:
            with Load().on(server) as load:
                until(load.seen(503))  # a smaller batch may still fit, and be taken
                why = until(lambda: (output := health(server))["status"] == "refusing" and output["why"])
                assert "full" in why
                until(lambda: load.answers[503] > 200)  # and what is left of room is used up
                grow()
                until(load.seen(200))
                until(lambda: load.answers[200] > 500)
                until(lambda: health(server)["status"] == "ok", seconds=60)
            assert set(load.answers) == {200, 503}
            assert load.longest < PATIENT
            until(lambda: is_delivered(server), seconds=60)
            counted = metrics(server)
            assert counted["events_total"] == load.answers[200] == len(load.taken)
            assert counted['requests_total{status="503"}'] == load.answers[503]
            code, stated = server.end()
        assert code == 0
        assert len([line for line in stated if "events are sent away" in line]) <= 5, "not one for each request"
        assert [line for line in stated if "events are accepted again" in line]
        if scheme == "rest":
            assert load.taken == runs(gms)
        else:
            with Catalog(file, readonly=True) as catalog:
                assert load.taken == set(catalog.entities("dataProcessInstance"))


def test_end_in_the_middle_loses_nothing_that_was_answered(gms, tmp_path):
    ledger = ("--to", f"rest:{gms.url}", "--ledger", str(tmp_path / "runs.db"))
    with serving(*ledger, *FREE) as server:
        with Load().on(server) as load:
            until(lambda: load.answers[200] > 300)
            code, stated = server.end()
        assert code == 0
        assert not [line for line in stated if "ERROR" in line or "Traceback" in line]
    assert set(load.answers) <= {200, 503}
    with serving(*ledger, *FREE) as server:
        until(lambda: is_delivered(server))
        assert server.end()[0] == 0
    assert load.taken <= runs(gms)


def test_receivers_sharing_a_ledger_lose_and_repeat_nothing(gms, tmp_path):
    ledger = ("--to", f"rest:{gms.url}", "--ledger", str(tmp_path / "runs.db"))
    with serving(*ledger, *FREE) as one, serving(*ledger, *FREE) as other:
        with Load(pause=0.1).on(one, other) as load:
            words = [sys.executable, "-m", "dh_bridge", "emit", str(EXAMPLES), *ledger]
            emit = subprocess.run(words, capture_output=True, text=True, check=False)
            assert emit.returncode == 0, emit.stderr
            until(lambda: load.answers[200] > 500)
        assert set(load.answers) == {200}
        assert load.longest < PATIENT
        until(lambda: is_delivered(one) and is_delivered(other))
        proposals = metrics(one)["proposals_total"] + metrics(other)["proposals_total"]
        assert one.end()[0] == other.end()[0] == 0
    (emitted,) = re.findall(r"^proposals +([\d,]+)$", emit.stderr, re.MULTILINE)
    assert len(gms.proposals) == proposals + int(emitted.replace(",", ""))
    assert load.taken <= runs(gms)
