"""The web door, in this process: what it answers to good and bad requests, and that what was answered gets into the ledger."""

from __future__ import annotations

import gzip
import io
import json
import socket
import sqlite3
import sys
import threading
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from support.gms import Fault, Gms
from support.pages import is_open
from support.receivers import QUICK, ask, dump_of, health, metrics, points, post, served, settle, until
from support.sample_events import T0, dataset, event, job_event, packed

from dh_bridge import Settings
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.event_log import EventLog
from dh_bridge.ledger import Ledger
from dh_bridge.ledger.batch_source import PendingEvents
from dh_bridge.ledger.delivery_lock import try_delivery_lock
from dh_bridge.ledger.outbox_relay import OutboxRelay
from dh_bridge.receiver import Receiver, app, folding, running, sending
from dh_bridge.session import Session

START = event(outputs=[dataset("d.s.a")])
END = event("COMPLETE", "2026-11-20T10:01:00Z", outputs=[dataset("d.s.a")])
WELL = {"status": "ok", "waiting": 0, "waiting_seconds": 0}


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(sending, "IDLE_SECONDS", 0.1)
    monkeypatch.setattr(folding, "POLL_SECONDS", 0.1)
    monkeypatch.setattr(folding, "FIRST_PAUSE_SECONDS", 0.1)


@pytest.fixture
def catalogue(tmp_path):
    """A receiver into a catalogue; ``post`` sends to it."""
    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        yield found


@pytest.mark.parametrize(
    "path",
    ["/api/v1/lineage", "/api/v1/lineage/", "/openapi/openlineage/api/v1/lineage", "/proxy/api/v1/lineage/batch"],
)
def test_event_is_answered_and_then_in_the_ledger(catalogue, tmp_path, path):
    assert post(catalogue, START, path=path)[:2] == (200, {"received": 1, "successful": 1, "failed": []})
    settle(catalogue)
    assert points(tmp_path / "shop.db") == ["STARTED"]


def test_single_events_and_one_batch_give_the_same_catalogue(catalogue, tmp_path):
    for one in (END, START, END, job_event()):
        assert post(catalogue, one)[0] == 200
    settle(catalogue)
    with served(f"catalog:{tmp_path / 'together.db'}") as together:
        assert post(together, START, END, job_event())[0] == 200
        settle(together)
    one, other = (sorted(dump_of(tmp_path / name)) for name in ("shop.db", "together.db"))
    assert one == other


def test_batch_accepts_good_events_and_names_the_bad_ones(tmp_path):
    letters = []
    with served(f"catalog:{tmp_path / 'shop.db'}", bury=letters.append) as found:
        status, stated, _ = post(found, START, {"eventTime": "yesterday"}, END)
        assert status == 207
        assert (stated["received"], stated["successful"]) == (3, 2)
        ((at, why),) = [(one["index"], one["error"]) for one in stated["failed"]]
        assert at == 1
        assert "eventTime" in why or "not an OpenLineage event" in why
        assert found.metrics["dead_letters"] == 1
    assert [letter.raw for letter in letters] == [b'{"eventTime": "yesterday"}']
    assert points(tmp_path / "shop.db") == ["STARTED", "COMPLETE"]


@pytest.mark.parametrize("path", ["/api/v1/lineage", "/api/v1/lineage/batch"])
@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson"])
def test_ndjson_is_accepted_under_any_content_type(tmp_path, kind, path):
    lines = b"\r\n".join([*packed([START]), b"", b'{"eventTime": "yesterday"}', *packed([END]), b"[]", b"{"])
    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        status, stated, _ = ask(found, lines, path=path, Content_Type=kind)
    assert (status, stated["received"], stated["successful"]) == (207, 5, 2)
    assert [(one["index"], one["error"].split(": ")[0]) for one in stated["failed"]] == [
        (1, "request 1:3"), (3, "request 1:5"), (4, "request 1:6"),
    ]  # fmt: skip
    assert points(tmp_path / "shop.db") == ["STARTED", "COMPLETE"]


def test_event_that_the_settings_refuse_is_named_like_the_rest(tmp_path):
    letters, odd = [], event(outputs=[dataset("t", "nowhere://x")])
    with served(f"catalog:{tmp_path / 'shop.db'}", bury=letters.append, naming={"unknown": "fail"}) as found:
        status, stated, _ = post(found, START, odd)
    assert (status, [one["index"] for one in stated["failed"]]) == (207, [1])
    assert [letter.raw for letter in letters] == packed([odd])


@pytest.mark.parametrize("body", [b"", b"{", b"[", b"3", b'"x"', b"\xff\xfe", b'[{"a": 1}]', b"[" * 100_000])
def test_request_without_a_valid_event_gets_400_and_a_reason(catalogue, body):
    status, stated, _ = ask(catalogue, body)
    assert status == 400
    assert stated["successful"] == 0
    assert stated["failed"][0]["error"]


def test_request_that_brings_nothing_is_no_mistake(catalogue):
    assert ask(catalogue, b"[]")[:2] == (200, {"received": 0, "successful": 0, "failed": []})


@pytest.mark.parametrize(
    ("encoding", "zipped"),
    [
        ("gzip", gzip.compress),
        ("GZIP", lambda body: gzip.compress(body[:10]) + gzip.compress(body[10:])),
        ("deflate", zlib.compress),
        ("identity", bytes),
    ],
)
def test_zipped_body_is_unzipped(catalogue, tmp_path, encoding, zipped):
    assert ask(catalogue, zipped(packed([START])[0]), Content_Encoding=encoding)[0] == 200
    settle(catalogue)
    assert points(tmp_path / "shop.db") == ["STARTED"]


@pytest.mark.parametrize(
    ("encoding", "body", "status", "why"),
    [
        ("gzip", b"plain", 400, "not valid gzip"),
        ("gzip", gzip.compress(packed([START])[0])[:-12], 400, "is truncated"),
        ("gzip", gzip.compress(b" " * 200_000), 413, "receiver.body_bytes"),
        ("br", b"x", 415, "'br'"),
    ],
)
def test_body_that_cannot_be_unzipped_is_refused(tmp_path, encoding, body, status, why):
    with served(f"catalog:{tmp_path / 'shop.db'}", receiver={"body_bytes": 100_000}) as found:
        answer = ask(found, body, Content_Encoding=encoding)
        assert answer[0] == status
        assert why in answer[1]["error"]
        assert ask(found, b" " * 200_000)[0] == 413
        assert post(found, START)[0] == 200, "the others go on"


def test_senders_show_their_key(tmp_path):
    with served(f"catalog:{tmp_path / 'shop.db'}", receiver={"token": "kéy"}) as found:
        for shown in ({}, {"Authorization": "Bearer key"}, {"Authorization": "Basic kéy"}, {"Authorization": "kéy"}):
            status, stated, headers = post(found, START, **shown)
            assert (status, headers["WWW-Authenticate"]) == (401, "Bearer")
            assert "kéy" not in json.dumps(stated, ensure_ascii=False)
        assert metrics(found)["accepted_total"] == 0
        assert post(found, START, Authorization="bearer k\u00c3\u00a9y")[0] == 200, "UTF-8, as HTTP hands it on"
        assert ask(found, path="/health", method="GET")[0] == 200


def test_token_is_read_without_surrounding_whitespace(tmp_path):
    with served(f"catalog:{tmp_path / 'shop.db'}", receiver={"token": " key\n"}) as found:
        assert post(found, START, Authorization="Bearer key")[0] == 200
        assert post(found, START, Authorization="Bearer ")[0] == 401


@pytest.mark.parametrize(
    ("method", "path", "status", "allowed"),
    [
        ("GET", "/api/v1/lineage", 405, "POST"),
        ("POST", "/health", 405, "GET, HEAD"),
        ("POST", "/", 404, None),
        ("POST", "/api/v1/namespaces", 404, None),
    ],
)
def test_unknown_path_or_method_is_answered_with_its_status(catalogue, method, path, status, allowed):
    answer = ask(catalogue, method=method, path=path)
    assert (answer[0], answer[2]["Allow"]) == (status, allowed)


def test_health_and_metrics_report_the_state(catalogue):
    post(catalogue, START)
    ask(catalogue, b"{")
    settle(catalogue)
    assert ask(catalogue, path="/health", method="GET")[:2] == (200, WELL)
    status, text, headers = ask(catalogue, path="/metrics", method="GET")
    assert status == 200
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    output = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert output['dh_bridge_requests_total{status="200"}'] == output['dh_bridge_requests_total{status="400"}'] == "1"
    assert output["dh_bridge_events_total"] == output["dh_bridge_dead_letters_total"] == "1"
    assert int(output["dh_bridge_proposals_total"]) == int(output["dh_bridge_delivered_total"]) > 5
    named = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
    assert named == {name.partition("{")[0] for name in output}


def test_concurrent_requests_are_accepted_in_one_batch(tmp_path, monkeypatch):
    sizes, append = [], EventLog.append
    first = threading.Event()

    def slow(self, events, **options):
        sizes.append(len(events))
        first.wait(10)
        return append(self, events, **options)

    monkeypatch.setattr(EventLog, "append", slow)
    with served(f"catalog:{tmp_path / 'shop.db'}") as found, ThreadPoolExecutor(12) as pool:
        asked = [pool.submit(post, found, event(run=f"018cc251-f400-734d-88b3-{n:012x}")) for n in range(12)]
        until(lambda: sizes)
        time.sleep(0.5)
        first.set()
        assert [one.result()[0] for one in asked] == [200] * 12
        settle(found)
    assert sum(sizes) == 12
    assert len(sizes) <= 3, "those that wait while one is appended are appended at once"


def test_event_that_is_beyond_us_ends_no_other(tmp_path, monkeypatch, caplog):
    add = Session.add

    def broken(self, item):
        if "poison" in item.name:
            raise ZeroDivisionError("boom")
        return add(self, item)

    monkeypatch.setattr(Session, "add", broken)
    letters = []
    with served(f"catalog:{tmp_path / 'shop.db'}", bury=letters.append) as found:
        assert post(found, START, event(job="poison"), END)[0] == 200
        until(lambda: letters)
        until(lambda: metrics(found)["unfolded_events"] == 0)
    assert [letter.raw for letter in letters] == packed([event(job="poison")])
    assert "boom" in letters[0].reason
    assert found.metrics["dead_letters"] == 1
    assert points(tmp_path / "shop.db") == ["STARTED", "COMPLETE"]
    assert "boom" in caplog.text


def test_full_outbox_rejects_no_event(tmp_path, monkeypatch):
    def full(_self):
        raise SinkError("the outbox is full", retryable=True)

    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        with monkeypatch.context() as patched:
            patched.setattr(OutboxRelay, "require_capacity", full)
            assert post(found, START)[0] == 200
            assert "the outbox is full" in until(lambda: health(found).get("why"))
            assert metrics(found)["unfolded_events"] == 1
        settle(found)
        until(lambda: health(found)["status"] == "ok")
    assert points(tmp_path / "shop.db") == ["STARTED"]


def test_full_log_gets_503_with_retry_after(tmp_path, monkeypatch):
    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        with monkeypatch.context() as patched:
            patched.setattr(EventLog, "append", full_log)
            status, stated, headers = post(found, START)
        assert (status, stated["error"], headers["Retry-After"]) == (503, "the event log is full", "5")
        assert post(found, START)[0] == 200


def full_log(*_, **__):
    raise SinkError("the event log is full", retryable=True)


def test_invalid_event_is_kept_once_however_often_it_is_sent(tmp_path, monkeypatch):
    buried = []
    with served(f"catalog:{tmp_path / 'shop.db'}", bury=buried.append) as found:
        with monkeypatch.context() as patched:
            patched.setattr(EventLog, "append", full_log)
            assert [post(found, START, {"no": "event"})[0] for _ in range(3)] == [503] * 3
        assert post(found, START, {"no": "event"})[0] == 207
        assert (len(buried), found.metrics["dead_letters"]) == (1, 1)


def test_ledger_read_error_loses_no_event(tmp_path, monkeypatch):
    def broken(_self, _source):
        raise sqlite3.OperationalError("disk I/O error")

    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        with monkeypatch.context() as patched:
            patched.setattr(Ledger, "process_source", broken)
            assert post(found, START)[0] == 200
            assert "disk I/O error" in until(lambda: health(found).get("why"))
        settle(found)
    assert points(tmp_path / "shop.db") == ["STARTED"]


def test_letters_that_cannot_be_kept_end_no_thread(tmp_path):
    full, letters = [True], []

    def bury(letter):
        if full:
            raise OSError("No space left on device")
        letters.append(letter)

    with served(f"catalog:{tmp_path / 'shop.db'}", bury=bury, naming={"unknown": "fail"}) as found:
        assert post(found, event(outputs=[dataset("t", "nowhere://x")]))[0] == 500
        full.clear()
        assert post(found, START)[0] == 200
        assert post(found, event(outputs=[dataset("t", "nowhere://x")]))[0] == 400
    assert len(letters) == 1


def hold_log(monkeypatch):
    """Let each append to the log wait for the event that is returned."""
    held, append = threading.Event(), EventLog.append
    monkeypatch.setattr(
        EventLog, "append", lambda self, events, **options: held.wait(20) and append(self, events, **options)
    )
    return held


def test_health_and_metrics_answer_while_the_log_is_busy(tmp_path, monkeypatch):
    held = hold_log(monkeypatch)
    with served(f"catalog:{tmp_path / 'shop.db'}", receiver={"threads": 2}) as found, ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(post, found, START) for _ in range(4)]
        time.sleep(0.3)
        began = time.monotonic()
        assert ask(found, path="/health", method="GET")[0] == ask(found, path="/metrics", method="GET")[0] == 200
        assert time.monotonic() - began < 2.0
        held.set()
        assert [one.result()[0] for one in asked] == [200] * 4


def test_abandoned_request_is_not_accepted(tmp_path, monkeypatch):
    held, appended, append = threading.Event(), [], EventLog.append

    def slow(self, events, **options):
        appended.extend(json.loads(one.event)["job"]["name"] for one in events)
        held.wait(20)
        return append(self, events, **options)

    monkeypatch.setattr(EventLog, "append", slow)
    monkeypatch.setattr(app, "_ACCEPT_TIMEOUT", 0.2)
    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        assert post(found, START)[0] == 503
        assert post(found, event(job="given.up"))[0] == 503
        held.set()
        until(lambda: post(found, END)[0] == 200)
    assert "given.up" not in appended


def test_many_events_are_merged_in_several_transactions(tmp_path, monkeypatch):
    folds, record = [], PendingEvents.record

    def recorded(self, translation, now):
        folds.append(len(self.batch.events))
        return record(self, translation, now)

    monkeypatch.setattr(PendingEvents, "record", recorded)
    with served(f"catalog:{tmp_path / 'shop.db'}", ledger={"batch": 2}) as found:
        assert post(found, *[START, END] * 3, END)[1]["successful"] == 7
        settle(found)
    assert [size for size in folds if size] == [2, 2, 2, 1]


def test_receiver_keeps_more_than_100_connections_open(catalogue):
    idle = [socket.create_connection(catalogue.address, timeout=10) for _ in range(130)]
    try:
        assert post(catalogue, START)[0] == 200
    finally:
        for one in idle:
            one.close()


def test_head_has_no_body_that_the_next_answer_would_begin_with(catalogue):
    with socket.create_connection(catalogue.address, timeout=10) as sender:
        for more in (b"", b"Connection: close\r\n"):
            sender.sendall(b"HEAD /health HTTP/1.1\r\nHost: x\r\n" + more + b"\r\n")
        answer = b"".join(iter(lambda: sender.recv(4096), b""))
    assert answer.count(b"HTTP/1.1 200 OK") == 2
    assert b"Content-Length: %d" % len(json.dumps(WELL, separators=(",", ":")) + "\n") in answer
    assert b"status" not in answer


def test_body_of_many_gzip_members_is_refused_quickly(catalogue):
    parts = gzip.compress(b"") * 200_000  # 4 MB
    began = time.monotonic()
    status, stated, _ = ask(catalogue, parts + gzip.compress(packed([START])[0]), Content_Encoding="gzip")
    assert (status, "parts" in stated["error"]) == (400, True)
    assert time.monotonic() - began < 2.0


def test_body_limit_follows_the_setting(tmp_path):
    body = packed([START])[0].ljust(2000)
    with served(f"catalog:{tmp_path / 'shop.db'}", receiver={"body_bytes": 2000}) as found:
        assert (ask(found, body)[0], ask(found, body + b" ")[0]) == (200, 413)


def test_catalogue_gets_what_another_list_of_writes_withheld(tmp_path):
    file = f"catalog:{tmp_path / 'shop.db'}"
    with served(file, writes={"entities": ["dataJob"]}) as found:
        assert post(found, START)[0] == 200
    with served(file) as found:
        for number in range(3):  # a step after each
            assert post(found, event(job="another", run=f"018cc251-f400-734d-88b3-{number:012x}"))[0] == 200
            settle(found)
        until(lambda: points(tmp_path / "shop.db"))
    assert points(tmp_path / "shop.db") == ["STARTED"]


@pytest.mark.parametrize(
    ("error", "stated"),
    [(SinkError("no room"), "wait in the event log: no room"), (ValueError("oh"), "the folding process ended")],
)
def test_that_what_was_withheld_waits_on_sends_no_event_away(tmp_path, monkeypatch, caplog, error, stated):
    def stuck(*_):
        raise error

    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        with monkeypatch.context() as patched:
            patched.setattr(Ledger, "render_withheld", stuck)
            assert post(found, START)[0] == 200
            until(lambda: stated in caplog.text)
            assert stated in until(lambda: health(found).get("why"))
            assert post(found, END)[0] == 200
        settle(found)
        until(lambda: ask(found, path="/health", method="GET")[1] == WELL)
    assert points(tmp_path / "shop.db") == ["STARTED", "COMPLETE"]


def test_request_waits_so_long_and_no_longer(tmp_path, monkeypatch):
    held = hold_log(monkeypatch)
    monkeypatch.setattr(app, "_ACCEPT_TIMEOUT", 0.3)
    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        status, stated, _ = post(found, START)
        assert (status, "busy" in stated["error"]) == (503, True)
        held.set()
        until(lambda: metrics(found)["accepted_total"] == 1)
        settle(found)
    assert points(tmp_path / "shop.db") == ["STARTED"], "what was being appended is folded all the same"


# -- servers -----------------------------------------------------------------------------------------------------------


def test_refusals_of_one_kind_are_one_line_and_a_count(tmp_path, caplog):
    with Gms(tmp_path / "gms.db") as gms:
        gms.poison = lambda proposal: "it holds 'x'" if proposal.aspect_name == "dataFlowInfo" else None
        with served(f"rest:{gms.url}", tmp_path / "runs.db", rest=QUICK) as found:
            for number in range(3):
                assert post(found, event(job=f"etl{number}.load"))[0] == 200
                until(lambda refused=number + 1: metrics(found)["refused_total"] == refused)
    assert [
        line.partition(": ")[0].rpartition(" ")[2] for line in caplog.messages if "the target rejected" in line
    ] == ["dataFlowInfo"]
    assert [line for line in caplog.messages if line.startswith("2 more like this: ")]


def test_no_request_waits_for_a_server(tmp_path):
    with Gms(tmp_path / "gms.db") as gms, served(f"rest:{gms.url}", tmp_path / "runs.db", rest=QUICK) as found:
        gms.faults = [Fault(linger=2.0)]
        began = time.monotonic()
        assert post(found, START)[0] == 200
        until(lambda: gms.requests and gms.requests[-1].method == "POST")
        assert post(found, END)[0] == 200
        assert time.monotonic() - began < 2.0
        until(lambda: points(gms.place) == ["STARTED", "COMPLETE"])
        settle(found)
        until(lambda: found.metrics["delivered"] == found.metrics["proposals"])


def test_server_that_is_down_gets_it_when_it_is_back(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("dh_bridge.ledger.outbox_relay.FIRST_PAUSE_SECONDS", 0.1)
    with Gms(tmp_path / "gms.db") as gms, served(f"rest:{gms.url}", tmp_path / "runs.db", rest=QUICK) as found:
        gms.stop()
        assert post(found, START)[0] == 200
        until(lambda: found.metrics.read_backlog().number > 0)
        assert ask(found, path="/health", method="GET")[1]["waiting"] > 0
        until(lambda: "delivery failed, proposals wait in the ledger" in caplog.text)
        gms.start()
        assert post(found, END)[0] == 200
        until(lambda: points(gms.place) == ["STARTED", "COMPLETE"])
        until(lambda: found.metrics.read_backlog().number == 0)
        until(lambda: "delivery works again" in caplog.text)


def test_missing_token_file_is_logged_and_read_once_restored(tmp_path, caplog):
    token = tmp_path / "token"
    token.write_text("t")
    with Gms(tmp_path / "gms.db") as gms:
        rest = {**QUICK, "token_file": str(token)}
        with served(f"rest:{gms.url}", tmp_path / "runs.db", rest=rest) as found:
            token.unlink()
            assert post(found, START)[0] == 200
            until(lambda: "rest.token_file" in caplog.text)
            token.write_text("t")
            until(lambda: points(gms.place) == ["STARTED"])
            until(lambda: "delivery works again" in caplog.text)
    assert "a bug in dh-bridge" not in caplog.text
    assert caplog.text.count("rest.token_file") == 1


def test_undelivered_proposals_are_sent_by_the_next_receiver(tmp_path):
    gms = Gms(tmp_path / "gms.db")
    with served(f"rest:{gms.url}", tmp_path / "runs.db", rest=QUICK) as found:
        gms.stop()
        assert post(found, START)[0] == 200
    gms.start()
    with served(f"rest:{gms.url}", tmp_path / "runs.db", rest=QUICK):
        until(lambda: points(gms.place) == ["STARTED"])
    gms.stop()


def test_permanent_refusal_is_counted_and_the_rest_delivered(tmp_path, caplog):
    with Gms(tmp_path / "gms.db") as gms, served(f"rest:{gms.url}", tmp_path / "runs.db", rest=QUICK) as found:
        gms.poison = lambda proposal: "no flows here" if proposal.entity_type == "dataFlow" else None
        assert post(found, START)[0] == 200
        until(lambda: found.metrics["refused"])
        until(lambda: points(gms.place) == ["STARTED"])
    assert "no flows here" in caplog.text


def test_delivery_is_retried_after_an_internal_error(tmp_path, monkeypatch, caplog):
    from dh_bridge.ledger.outbox_relay import OutboxRelay  # noqa: PLC0415 - what breaks

    deliver, failed = OutboxRelay.iter_deliveries_if_due, []

    def broken(self):
        if len(failed) < 2:
            failed.append(1)
            raise SinkError("disk full") if len(failed) == 1 else ZeroDivisionError("boom")
        return deliver(self)

    monkeypatch.setattr(OutboxRelay, "iter_deliveries_if_due", broken)
    with Gms(tmp_path / "gms.db") as gms, served(f"rest:{gms.url}", tmp_path / "runs.db", rest=QUICK) as found:
        assert post(found, START)[0] == 200
        until(lambda: points(gms.place) == ["STARTED"])
    assert "disk full" in caplog.text
    assert "boom" in caplog.text


def test_ledger_used_for_another_target_is_logged(tmp_path, caplog):
    for name in ("one", "two"):
        with served(f"file:{tmp_path / name}.ndjson", tmp_path / "runs.db") as found:
            assert post(found, event(job=name))[0] == 200
    stated = f"this ledger belongs to the target file:{tmp_path / 'one.ndjson'}: proposals that were sent there are not sent again"
    assert caplog.messages == [f"{stated} (use one ledger for each target)"]


def test_that_another_process_delivers_is_no_news(tmp_path, caplog):
    with served(f"file:{tmp_path / 'out.ndjson'}", tmp_path / "runs.db") as found:
        with try_delivery_lock(str(tmp_path / "runs.db"), timeout=5) as ours:
            assert ours
            assert post(found, START)[0] == 200
            time.sleep(0.5)
        until(lambda: found.metrics["delivered"] == found.metrics["proposals"] > 0)
    assert not caplog.messages


# -- doors -------------------------------------------------------------------------------------------------------------


def test_server_needs_a_ledger():
    with pytest.raises(SettingsError, match="pass the path of a file"), served("rest:http://127.0.0.1:9"):
        pass


def test_occupied_address_is_named_in_the_error(tmp_path, catalogue):
    taken = urlsplit(catalogue.url).netloc
    with pytest.raises(SinkError, match=taken), served(f"catalog:{tmp_path / 'other.db'}", receiver={"listen": taken}):
        pass


def test_missing_waitress_names_the_extra_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "waitress", None)
    with pytest.raises(SettingsError, match=r"dh-bridge\[server\]"), served(f"catalog:{tmp_path / 'shop.db'}"):
        pass


def test_shutdown_answers_active_requests_and_rejects_new_ones(tmp_path, monkeypatch):
    held = hold_log(monkeypatch)
    with ThreadPoolExecutor(2) as pool:
        with served(f"catalog:{tmp_path / 'shop.db'}") as found:
            inside = pool.submit(post, found, START)
            time.sleep(0.3)
            leaving = pool.submit(leave, found, held)
        assert inside.result()[0] == 200
        assert leaving.result() == (503, 503)


def leave(found, held):
    """Ask while it is being stopped, then let the one who is inside go."""
    until(lambda: ask(found, path="/health", method="GET")[0] == 503)
    answers = ask(found, path="/health", method="GET")[0], post(found, END)[0]
    held.set()
    return answers


def test_any_wsgi_server_can_run_it():
    app = Receiver(_Taking(), running.ReceiverMetrics(), Settings().receiver)
    stated = {}
    body = packed([event(T0)])[0]
    environ = {
        "REQUEST_METHOD": "POST", "PATH_INFO": "/lineage", "CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body),
    }  # fmt: skip
    (answer,) = app(environ, lambda status, headers: stated.update(status=status, **dict(headers)))
    assert (stated["status"], json.loads(answer)["successful"]) == ("200 OK", 1)
    assert stated["Content-Length"] == str(len(answer))


class _Taking:
    alive = True

    def take(self, events, _patience):
        return [None] * len(events)


def test_mistake_of_ours_is_an_answer_too(catalogue, monkeypatch, caplog):
    monkeypatch.setattr("dh_bridge.receiver.app.read_body", lambda *_: 1 / 0)
    assert post(catalogue, START)[0] == 500
    assert "ZeroDivisionError" in caplog.text


def test_before_listening_runs_while_the_port_is_closed(tmp_path):
    """`serve` waits for signals from then on: who sees the port open may end it at once."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = Settings(receiver={"listen": f"127.0.0.1:{port}"})
    seen = []
    with running.run_receiver(
        f"catalog:{tmp_path / 'c.db'}", settings, None, before_listening=lambda: seen.append(is_open(port))
    ):
        assert (seen, is_open(port)) == ([False], True)
