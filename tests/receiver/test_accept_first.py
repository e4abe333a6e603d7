"""``serve`` in two processes: an event is answered when it is in the log; another process merges and delivers it."""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from support import receivers
from support.gms import Gms
from support.receivers import QUICK, ask, dump_of, health, metrics, points, post, serving, until
from support.sample_events import dataset, event

from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.event_log import EventLog
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.ledger.log_cursor import read_cursor
from dh_bridge.ledger.log_failures import LogFailures
from dh_bridge.receiver import running

served = partial(receivers.served, has_processes=True)
START, COMPLETE = event("START"), event("COMPLETE", "2026-11-20T03:00:00Z")
KILLS = int(os.environ.get("TESTS_KILLS", "4"))
POISON = "01a1f6ae-0000-7000-8000-00000000dead"
#: Ends each process that processes the event, as a crash of the interpreter would.
SITECUSTOMIZE = f"""
import os
from dh_bridge.session import Session

add = Session.add


def add_or_die(self, event):
    if event.run_id == "{POISON}":
        os._exit(9)
    return add(self, event)


Session.add = add_or_die
"""


def run_event(number, kind="COMPLETE"):
    run = f"01a1f6ae-0000-7000-8000-{number:012}"
    return event(kind, run=run, job=f"etl.load_{number % 7}", outputs=[dataset("d.s.out")])


def logged(ledger):
    """Return the events in the log of a ledger."""
    with EventLog(log_folder(ledger), max_bytes=1 << 30) as event_log:
        batch = event_log.read_after(0, max_events=100_000, max_bytes=1 << 30)
    return [json.loads(logged_event.event) for _, logged_event in batch.events]


def cursor(ledger):
    """Return the position up to which a ledger has processed its log."""
    if not Path(ledger).exists():
        return 0
    try:
        with Catalog(ledger, readonly=True) as file:
            position = read_cursor(file.connection)
    except SinkError:  # it is being created
        return 0
    return 0 if position is None else position.position


def folding_process(found_metrics):
    """Return the id of the folding process of a receiver in this process."""
    return found_metrics.stall_reason.__self__.process_id


def test_event_is_answered_before_it_is_processed(tmp_path):
    target = tmp_path / "all.db"
    with served(f"catalog:{target}") as found:
        assert post(found, START)[0] == 200
        until(lambda: cursor(target) == 1)
        process = folding_process(found.metrics)
        os.kill(process, signal.SIGSTOP)
        try:
            assert post(found, COMPLETE)[:2] == (200, {"received": 1, "successful": 1, "failed": []})
            assert [item["eventType"] for item in logged(target)] == ["START", "COMPLETE"]
            assert until(lambda: metrics(found)["unfolded_events"]) == 1
            assert cursor(target) == 1
        finally:
            os.kill(process, signal.SIGCONT)
        until(lambda: sorted(points(target)) == ["COMPLETE", "STARTED"])
        until(lambda: metrics(found)["unfolded_events"] == 0)
        assert [metrics(found)[name] for name in ("accepted_total", "events_total")] == [2, 2]
        assert metrics(found)["log_bytes"] > 0


def test_folding_process_that_is_killed_is_started_again(tmp_path, caplog):
    target = tmp_path / "all.db"
    with served(f"catalog:{target}") as found:
        for number in range(3):
            process = folding_process(found.metrics)
            assert post(found, run_event(number))[0] == 200
            os.kill(process, signal.SIGKILL)
            assert post(found, run_event(number + 10))[0] == 200
            until(lambda process=process: folding_process(found.metrics) != process)
        until(lambda: cursor(target) == 6)
    assert "the folding process ended with code -9: it is started again in" in caplog.text


def test_event_that_ends_the_process_becomes_a_dead_event(tmp_path, monkeypatch):
    (tmp_path / "patched").mkdir()
    (tmp_path / "patched" / "sitecustomize.py").write_text(SITECUSTOMIZE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "patched"))
    monkeypatch.setattr("dh_bridge.receiver.folding_worker.FIRST_PAUSE_SECONDS", 0.01)
    target = tmp_path / "all.db"
    with served(f"catalog:{target}") as found:
        assert post(found, START, {**START, "run": {"runId": POISON}}, COMPLETE)[0] == 200
        until(lambda: cursor(target) == 3, seconds=60)
        assert sorted(points(target)) == ["COMPLETE", "STARTED"]
    with Catalog(target, readonly=True) as file:
        (failure,) = LogFailures(file.connection).iter_failures(is_dead=True)
    assert (failure.position, failure.tries) == (2, 3)
    assert failure.reason == "the process ended while it processed the event"


def test_new_ledger_accepts_while_the_server_is_down(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(running, "OPEN_SECONDS", 30.0)
    ledger = tmp_path / "runs.db"
    with served(f"rest:{_closed_address()}", ledger, rest=QUICK) as found:
        assert found.description is None
        assert post(found, START)[0] == 200
        assert health(found)["status"] == "stalled"
        assert "accepted events wait in the event log" in health(found)["why"]
    assert [item["eventType"] for item in logged(ledger)] == ["START"]
    assert "accepted events wait in the event log" in caplog.text
    with Gms(tmp_path / "later.db") as gms, served(f"rest:{gms.url}", ledger, rest=QUICK) as found:
        until(lambda: points(gms.place) == ["STARTED"])
        assert "DataHub 1.4" in found.description


def _closed_address():
    """Return the address of a port where nobody listens."""
    import socket  # noqa: PLC0415 - only here

    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def test_target_that_can_never_work_ends_the_start(tmp_path):
    (tmp_path / "notes.txt").write_text("no catalogue " * 20)
    with (
        pytest.raises(SinkError, match="not a catalogue or ledger"),
        served(f"catalog:{tmp_path / 'notes.txt'}"),
    ):
        pass
    with (
        pytest.raises(SettingsError, match="the receiver requires a ledger"),
        served("rest:http://127.0.0.1:1"),
    ):
        pass


def test_address_that_is_no_server_of_datahub_ends_the_start(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "OPEN_SECONDS", 30.0)
    with (
        Gms(tmp_path / "gms.db") as gms,
        pytest.raises(SinkError, match="nowhere"),
        served(f"rest:{gms.url}/nowhere", tmp_path / "runs.db", rest=QUICK),
    ):
        pass


def test_invalid_events_are_answered_at_once(tmp_path):
    target = tmp_path / "all.db"
    letters = []
    with served(f"catalog:{target}", naming={"unknown": "fail"}, bury=letters.append) as found:
        strange = event("START", outputs=[{"namespace": "nobody://knows", "name": "x"}])
        status, answer, _ = ask(found, json.dumps([START, {"eventTime": "x"}, strange]).encode())
        assert (status, answer["successful"], [item["index"] for item in answer["failed"]]) == (207, 1, [1, 2])
    assert len(logged(target)) == 1


def test_full_log_gets_503_and_recovers(tmp_path, monkeypatch):
    target = tmp_path / "all.db"
    with served(f"catalog:{target}") as found:
        assert post(found, START)[0] == 200
        with monkeypatch.context() as patched:
            patched.setattr(EventLog, "append", _raise_full)
            status, answer, headers = post(found, COMPLETE)
            assert (status, headers["Retry-After"]) == (503, "5")
            assert "the event log is full" in answer["error"]
            assert health(found)["status"] == "refusing"
        assert post(found, COMPLETE)[0] == 200
        assert health(found)["status"] == "ok"


def _raise_full(*_, **__):
    raise SinkError("the event log is full", retryable=True)


def test_requests_that_wait_share_a_sync(tmp_path, monkeypatch):
    target = tmp_path / "all.db"
    sizes, append = [], EventLog.append

    def slow_append(self, events, **options):
        sizes.append(len(events))
        time.sleep(0.3)
        return append(self, events, **options)

    monkeypatch.setattr(EventLog, "append", slow_append)
    with served(f"catalog:{target}") as found:
        senders = [threading.Thread(target=post, args=(found, run_event(number))) for number in range(9)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
    assert (sum(sizes), len(sizes) < 5) == (9, True)


def test_all_events_are_processed_before_the_end(tmp_path):
    target = tmp_path / "all.db"
    with served(f"catalog:{target}") as found:
        assert post(found, *(run_event(number) for number in range(200)))[0] == 200
    assert cursor(target) == 200


@pytest.mark.parametrize("damage", ["overwritten", "emptied"])
def test_damaged_ledger_loses_nothing_and_a_new_one_is_made_of_the_log(tmp_path, damage):
    target = tmp_path / "all.db"
    with served(f"catalog:{target}") as found:
        assert post(found, START)[0] == 200
        until(lambda: cursor(target) == 1)
        with closing(sqlite3.connect(target)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with target.open("r+b") as file:
            if damage == "emptied":
                file.truncate(0)
            else:
                file.write(os.urandom(target.stat().st_size))
        assert post(found, COMPLETE)[0] == 200
        assert until(lambda: health(found).get("why", "")).startswith("accepted events wait in the event log")
    for file in tmp_path.glob("all.db*"):
        if file.is_file():
            file.unlink()
    with served(f"catalog:{target}"):
        until(lambda: cursor(target) == 2)
        assert sorted(points(target)) == ["COMPLETE", "STARTED"]


def test_secrets_are_not_in_the_log(tmp_path):
    target = tmp_path / "all.db"
    with served(f"catalog:{target}") as found:
        post(found, event("START", job="jdbc:postgresql://h/db?password=hunter2"))
    assert "hunter2" not in json.dumps(logged(target))


class Client(threading.Thread):
    """Sends events one after the other; ``acknowledged`` are the numbers of those that were answered with 200."""

    def __init__(self):
        super().__init__(daemon=True)
        self.url = None
        self.acknowledged = []
        self.is_ending = False

    def run(self):
        number = 0
        while not self.is_ending:
            number += 1
            try:
                connection = http.client.HTTPConnection(urlsplit(self.url or "http://127.0.0.1:1").netloc, timeout=5)
                connection.request("POST", "/api/v1/lineage", json.dumps(run_event(number)).encode())
                if connection.getresponse().status == 200:
                    self.acknowledged.append(number)
                connection.close()
            except (OSError, http.client.HTTPException):
                time.sleep(0.05)


def child_of(process):
    """Return the folding process of ``dh-bridge serve``; None if it has none now."""
    out = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=False
    ).stdout
    return int(out.split()[0]) if out.split() else None


@pytest.mark.slow
def test_acknowledged_events_survive_kills_of_both_processes(tmp_path):
    """The accepting and the folding process are killed in turn, at any moment, while a client sends."""
    target = tmp_path / "all.db"
    chance = random.Random(KILLS)  # noqa: S311 - reproducible, not secret
    arguments = ("--to", f"catalog:{target}", "--listen", "127.0.0.1:0")
    client = Client()
    for number in range(KILLS):
        with serving(*arguments) as server:
            client.url = server.url
            if not client.is_alive():
                client.start()
            time.sleep(chance.uniform(0.2, 1.5))
            if number % 2 and (child := child_of(server.process.pid)) is not None:
                os.kill(child, signal.SIGKILL)
                time.sleep(chance.uniform(0.1, 1.0))
            server.process.kill()
            server.process.communicate()
    client.is_ending = True
    client.join()
    assert client.acknowledged
    with serving(*arguments) as server:
        total = logged(target)
        until(lambda: cursor(target) >= len(total), seconds=300)
        assert server.end()[0] == 0
    numbers = {int(item["run"]["runId"][-12:]) for item in total}
    assert set(client.acknowledged) <= numbers
    with Catalog(target, readonly=True) as file:
        runs = {int(urn[-12:]) for urn in file.entities("dataProcessInstance")}
    assert numbers == runs

    expected = tmp_path / "expected.db"
    (tmp_path / "events.ndjson").write_text("".join(json.dumps(item) + "\n" for item in total))
    emit = [sys.executable, "-m", "dh_bridge", "emit", str(tmp_path / "events.ndjson"), "--to", f"catalog:{expected}"]
    assert subprocess.run(emit, capture_output=True, check=False).returncode == 0
    assert dump_of(target) == dump_of(expected)
