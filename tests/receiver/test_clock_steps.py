"""``serve`` in a process whose wall clock is set back, and a receiver that says that nothing is delivered."""

from __future__ import annotations

import os

import pytest
from support.gms import Gms
from support.receivers import QUICK, health, post, served, serving, until
from support.sample_events import dataset, event

from dh_bridge.catalog.store import Catalog
from dh_bridge.receiver import sending

START = event(outputs=[dataset("d.s.a")])
FAKE = """
import os, time
_time, _time_ns = time.time, time.time_ns

def _offset():
    with open(os.environ["CLOCK_OFFSET"]) as file:
        return int(file.read())

time.time = lambda: _time() + _offset()
time.time_ns = lambda: _time_ns() + _offset() * 10**9
"""


@pytest.fixture
def server(tmp_path):
    with Gms(tmp_path / "gms.db") as gms:
        yield gms


@pytest.mark.slow
def test_delivery_goes_on_when_the_wall_clock_is_set_back(server, tmp_path):
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake" / "sitecustomize.py").write_text(FAKE)
    offset = tmp_path / "offset"
    offset.write_text("0")
    path = os.pathsep.join(filter(None, [str(tmp_path / "fake"), os.environ.get("PYTHONPATH", "")]))
    options = ("--to", f"rest:{server.url}", "--ledger", str(tmp_path / "runs.db"), "--listen", "127.0.0.1:0")
    variables = {"DH_BRIDGE_REST__RETRIES": "0", "PYTHONPATH": path, "CLOCK_OFFSET": str(offset)}
    with serving(*options, **variables) as found:
        server.stop()
        assert post(found, START)[0] == 200
        until(lambda: "refused" in _reasons(tmp_path / "runs.db"))
        offset.write_text("-86400")
        server.start()
        until(lambda: health(found)["waiting"] == 0, 60)
        assert health(found)["status"] == "ok"


def _reasons(place):
    with Catalog(place, readonly=True) as file:
        return " ".join(str(reason) for (reason,) in file.connection.execute("SELECT reason FROM outbox"))


def test_health_reports_a_stalled_delivery(server, tmp_path, monkeypatch):
    monkeypatch.setattr(sending, "STALL_SECONDS", 0.5)
    monkeypatch.setattr(sending, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr("dh_bridge.ledger.outbox_relay.FIRST_PAUSE_SECONDS", 0.1)
    with served(f"rest:{server.url}", tmp_path / "runs.db", rest=QUICK) as found:
        until(lambda: health(found)["status"] == "ok")
        server.stop()
        assert post(found, START)[0] == 200
        until(lambda: health(found)["status"] == "stalled")
        why = health(found)["why"]
        assert why.startswith("no proposal was delivered for ")
        assert "connection failed" in why
        server.start()
        until(lambda: health(found)["status"] == "ok")
        assert "why" not in health(found)


def test_health_is_ok_while_nothing_may_be_sent(server, tmp_path, monkeypatch):
    monkeypatch.setattr(sending, "STALL_SECONDS", 0.5)
    monkeypatch.setattr(sending, "IDLE_SECONDS", 0.1)
    with served(f"rest:{server.url}", tmp_path / "runs.db", rest=QUICK, max_new_entities_per_hour=0) as found:
        assert post(found, START)[0] == 200
        until(lambda: health(found)["waiting"] and found.metrics["delivered"])
        for _ in range(10):
            assert health(found)["status"] == "ok"
            sending.time.sleep(0.1)
