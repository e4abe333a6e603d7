"""What waits, while it waits and while it is delivered: the numbers move, requests go on, and the end breaks off in order."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import pytest
from support.gms import Fault, Gms
from support.receivers import QUICK, dump_of, health, metrics, points, post, served, settle, until
from support.sample_events import dataset, event

from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.event_log import EventLog
from dh_bridge.event_log.segment_writer import SegmentWriter
from dh_bridge.receiver import backlog, outage_log, sending
from dh_bridge.sinks.rest.sink import RestSink

START = event(outputs=[dataset("d.s.a")])
EVENTS = [
    event(run=f"018cc251-f400-734d-88b3-{n:012x}", job=f"j{n}", outputs=[dataset(f"d.s.t{n}")]) for n in range(250)
]
"""They come to more proposals than are delivered at a time (1,000), twice."""

PATIENT = {**QUICK, "timeout": 60}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(sending, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(backlog, "MIN_INTERVAL_SECONDS", 0.0)
    monkeypatch.setattr("dh_bridge.ledger.outbox_relay.FIRST_PAUSE_SECONDS", 0.1)


class Held:
    """Lets a server take so many proposals, and then none until ``go`` is set."""

    def __init__(self, most):
        self.left = most
        self.reached, self.go = threading.Event(), threading.Event()

    def __call__(self, _proposal):
        self.left -= 1
        if self.left < 0:
            self.reached.set()
            self.go.wait(60)


@pytest.fixture
def server(tmp_path):
    with Gms(tmp_path / "gms.db") as gms:
        yield gms


def senders():
    return [one for one in threading.enumerate() if one.name == "dh_bridge.sender"]


def test_backlog_metrics_change_during_delivery(server, tmp_path):
    server.poison = held = Held(1_000)
    with served(f"rest:{server.url}", tmp_path / "runs.db", rest=PATIENT) as found:
        server.stop()
        assert post(found, *EVENTS)[0] == 200
        settle(found)
        whole = found.metrics["proposals"]
        assert whole > 2_000
        until(lambda: health(found)["waiting"] == whole)
        server.start()
        assert held.reached.wait(20)
        until(lambda: metrics(found)["delivered_total"] == 1_000)
        assert health(found)["waiting"] == metrics(found)["waiting"] == whole - 1_000
        held.go.set()
        until(lambda: (metrics(found)["delivered_total"], health(found)["waiting"]) == (whole, 0))


def test_backlog_is_counted_from_startup(server, tmp_path):
    with served(f"rest:{server.url}", tmp_path / "runs.db", rest=PATIENT) as found:
        server.stop()
        assert post(found, START)[0] == 200
        settle(found)
    waited = found.metrics.read_backlog().number
    assert waited == found.metrics["proposals"] > 0
    assert f"waiting    {waited:>9,}" in found.metrics.summary_lines()
    server.start()
    server.poison = held = Held(0)
    with served(f"rest:{server.url}", tmp_path / "runs.db", rest=PATIENT) as found:
        assert health(found)["waiting"] == waited
        held.go.set()


def test_slow_server_delays_no_sender_and_its_delay_is_shown(server, tmp_path):
    server.poison = held = Held(0)
    with served(f"rest:{server.url}", tmp_path / "runs.db", rest=PATIENT) as found:
        assert post(found, START)[0] == 200
        assert held.reached.wait(20)
        for one in EVENTS[:20]:
            began = time.monotonic()
            assert post(found, one)[0] == 200
            assert time.monotonic() - began < 2.0
        settle(found)
        until(lambda: health(found)["waiting_seconds"] >= 1)
        assert health(found)["waiting"] == metrics(found)["waiting"] == found.metrics["proposals"]
        assert metrics(found)["waiting_seconds"] >= 1
        held.go.set()
        until(lambda: health(found)["waiting"] == 0)
        assert health(found)["waiting_seconds"] == 0


@pytest.mark.parametrize("until_then", [True, False])
def test_at_the_end_a_long_delivery_breaks_off_in_order(server, tmp_path, monkeypatch, until_then):
    """Of the sinks only that of REST has a deadline."""
    if not until_then:
        monkeypatch.setattr(RestSink, "kind", replace(RestSink.kind, has_deadline=False))
    monkeypatch.setattr(sending, "_LAST_DELIVERY_SECONDS", 0.5)
    monkeypatch.setattr(sending, "_MARGIN_SECONDS", 5.0)
    server.poison = lambda _: time.sleep(0.003)
    with served(f"rest:{server.url}", tmp_path / "runs.db", rest=QUICK) as found:
        assert post(found, *EVENTS)[0] == 200
        settle(found)
        until(lambda: server.proposals)
    assert not senders()
    waits = found.metrics.read_backlog().number
    assert waits > 0
    assert waits + found.metrics["delivered"] == found.metrics["proposals"]
    server.poison = lambda _: None
    with served(f"rest:{server.url}", tmp_path / "runs.db", rest=QUICK) as found:
        until(lambda: health(found)["waiting"] == 0)
    with served(f"catalog:{tmp_path / 'whole.db'}", datahub_version="1.4") as found:
        assert post(found, *EVENTS)[0] == 200
        settle(found)
    assert sorted(server.dump()) == sorted(dump_of(tmp_path / "whole.db"))


def test_at_the_end_nobody_waits_for_what_a_server_asks_to_wait(server, tmp_path, monkeypatch):
    monkeypatch.setattr(sending, "_LAST_DELIVERY_SECONDS", 1.0)
    monkeypatch.setattr(sending, "_MARGIN_SECONDS", 5.0)
    server.faults = [Fault(status=503, headers={"Retry-After": "1"})] * 100
    with served(f"rest:{server.url}", tmp_path / "runs.db", rest={**QUICK, "retries": 50}) as found:
        assert post(found, START)[0] == 200
        until(lambda: len(server.faults) < 100)
        began = time.monotonic()
    assert time.monotonic() - began < 5.0
    assert not senders()
    assert found.metrics.read_backlog().number == found.metrics["proposals"]


# -- what goes wrong again and again -------------------------------------------------------------------------------------


def test_lasting_failure_is_logged_at_start_and_end(tmp_path, monkeypatch, caplog):
    def full(*_, **__):
        raise SinkError("cannot be written: no room", location="runs.db")

    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        with monkeypatch.context() as patched:
            patched.setattr(EventLog, "append", full)
            assert [post(found, START)[0] for _ in range(5)] == [503] * 5
            output = {"status": "refusing", "waiting": 0, "waiting_seconds": 0, "why": "cannot be written: no room"}
            assert health(found) == output
            assert caplog.messages == ["events are rejected with status 503: runs.db: cannot be written: no room"]
            patched.setattr(outage_log, "REPEAT_SECONDS", 0.0)
            monkeypatch.setattr(outage_log.time, "monotonic", lambda now=time.monotonic: now() + 1_000)
            assert post(found, START)[0] == 503
            assert len(caplog.messages) == 2
        assert [post(found, START)[0] for _ in range(2)] == [200] * 2
        until(lambda: caplog.messages[2:] == ["events are accepted again"])
        assert health(found)["status"] == "ok"


def test_acknowledged_events_are_synced_to_disk(tmp_path, monkeypatch):
    sync, synced = SegmentWriter.sync, []

    def noted(self):
        sync(self)
        synced.append(self.next_position - 1)

    monkeypatch.setattr(SegmentWriter, "sync", noted)
    for target, place in (
        (f"catalog:{tmp_path / 'shop.db'}", None),
        (f"file:{tmp_path / 'o.ndjson'}", tmp_path / "l.db"),
    ):
        with served(target, place) as found:
            assert post(found, START)[0] == 200
            assert synced.pop() == 1, "a cut of power takes nothing back"


# -- settings ------------------------------------------------------------------------------------------------------------


def test_new_entities_over_the_hourly_limit_are_held(server, tmp_path):
    with served(f"rest:{server.url}", tmp_path / "runs.db", rest=QUICK, max_new_entities_per_hour=0) as found:
        assert post(found, START)[0] == 200
        settle(found)
        until(lambda: 0 < found.metrics["delivered"] == found.metrics["proposals"] - health(found)["waiting"])
        assert health(found)["waiting"] > 0
    assert {one.entity_type for one in server.proposals} == {"dataProcessInstance"}
    with served(f"rest:{server.url}", tmp_path / "runs.db", rest=QUICK) as found:
        until(lambda: health(found)["waiting"] == 0)
    assert "dataset" in {one.entity_type for one in server.proposals}


def test_state_read_merges_with_the_stored_aspects(server, tmp_path):
    """A bridge with a ledger of its own has named another output of the run."""
    other = event("COMPLETE", "2026-11-20T10:01:00Z", outputs=[dataset("d.s.b")])
    for name, one in (("here", START), ("there", other)):
        with served(f"rest:{server.url}", tmp_path / f"{name}.db", state="read") as found:
            assert post(found, one)[0] == 200
            settle(found)
            until(lambda found=found: health(found)["waiting"] == 0)
    with Catalog(server.place, readonly=True) as catalog:
        (run,) = catalog.entities("dataProcessInstance")
        assert len(catalog.aspect(run, "dataProcessInstanceOutput")["outputs"]) == 2


def test_state_read_refuses_a_target_that_cannot_be_read(tmp_path):
    with (
        pytest.raises(SettingsError, match="cannot read aspects from file"),
        served(f"file:{tmp_path / 'o.ndjson'}", tmp_path / "l.db", state="read"),
    ):
        pass


def test_filters_count_what_they_leave_out(tmp_path):
    with served(f"catalog:{tmp_path / 'shop.db'}", filters={"jobs": ["!tmp.*"]}) as found:
        assert post(found, event(job="tmp.x"), START)[1]["successful"] == 2
        settle(found)
        assert metrics(found)["filtered_total"] == 1
    assert points(tmp_path / "shop.db") == ["STARTED"]


def test_stream_heartbeat_follows_the_setting(tmp_path):
    facets = {"jobType": {"processingType": "STREAMING", "integration": "FLINK", "jobType": "JOB"}}
    beats = [event("RUNNING", f"2026-11-20T{hour:02d}:30:00Z", job_facets=facets) for hour in range(1, 9)]
    for heartbeat, count in (("off", 0), ("hour", 8), ("day", 1)):
        file = tmp_path / f"{heartbeat}.db"
        with served(f"catalog:{file}", runs={"heartbeat": heartbeat}) as found:
            for one in beats:
                assert post(found, one)[0] == 200
        assert len(points(file)) == count
