"""Requests and connections made to stop ``serve``: what one sender costs is bounded, and others are answered meanwhile."""

from __future__ import annotations

import gzip
import os
import re
import socket
import threading
import time
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, suppress
from http import HTTPStatus
from pathlib import Path

import pytest
from receiving import ask, metrics, post, served, serving, until
from samples import dataset, event, packed

from dh_bridge.openlineage.events import Event
from dh_bridge.receiver import connections, ingest_queue, lanes, web
from dh_bridge.receiver.bodies import FREE_BYTES, BodyBudget, RequestError
from dh_bridge.receiver.dispatch import Dispatcher, sender_of

BODY = packed([event()])[0]
HEAD = b"POST /api/v1/lineage HTTP/1.1\r\nHost: x\r\n"
LONG = os.environ.get("TESTS_FAULTS") == "long"


@pytest.fixture
def catalogue(tmp_path):
    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        yield found


def opened(stack, found, number, data=b""):
    """Open connections that send nothing more than ``data``."""
    clients = [stack.enter_context(socket.create_connection(found.address, timeout=10)) for _ in range(number)]
    for client in clients:
        client.sendall(data)
    return clients


def answered(client):
    """Return the answer to one request on an open connection."""
    answer = b""
    while not answer.endswith(b"}\n"):
        answer += (piece := client.recv(65536))
        assert piece, answer
    return answer


def healthy(found):
    return ask(found, path="/health", method="GET")[0] == 200


# connections


@pytest.mark.parametrize("data", [b"", b"POST", HEAD + b"X: ", HEAD + b"Content-Length: 100\r\n\r\n{"])
@pytest.mark.parametrize("limit", ["_most", "CLIENT_CONNECTIONS"])
def test_silent_connections_keep_nobody_out(tmp_path, monkeypatch, data, limit):
    monkeypatch.setattr(web, "most_connections", lambda: 20 if limit == "_most" else 1000)
    monkeypatch.setattr(web, "CLIENT_CONNECTIONS", 20 if limit == "CLIENT_CONNECTIONS" else 1000)
    with served(f"catalog:{tmp_path / 'shop.db'}") as found, ExitStack() as stack:
        (kept,) = opened(stack, found, 1)
        kept.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY)
        assert answered(kept).startswith(b"HTTP/1.1 200")
        for _ in range(3):
            opened(stack, found, 40, data)
            assert healthy(found)
            assert post(found, event())[0] == 200
        kept.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY)
        assert answered(kept).startswith(b"HTTP/1.1 200"), "it sent whole requests"


@pytest.mark.parametrize(
    ("start", "limit"),
    [
        (b"POST /api", "HEADER_SECONDS"),
        (HEAD + b"X-Slow: ", "HEADER_SECONDS"),
        (HEAD + b"Content-Length: 100000\r\n\r\n", "BODY_SECONDS"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nFFFF\r\n", "BODY_SECONDS"),
    ],
)
def test_request_that_drips_is_ended_with_408(catalogue, monkeypatch, start, limit):
    monkeypatch.setattr(connections, limit, 0.5)
    with socket.create_connection(catalogue.address, timeout=10) as client:
        client.sendall(start)
        client.settimeout(0.05)
        answer = b""
        end = time.monotonic() + 10
        while not answer and time.monotonic() < end:
            with suppress(TimeoutError):
                client.send(b"x")
                answer = client.recv(65536)
        client.settimeout(10)
        answer += b"".join(iter(lambda: client.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b'{"error":"the request did not come in time"}' in answer
    assert metrics(catalogue)['requests_total{status="408"}'] == 1


def test_silent_connection_is_closed(catalogue, monkeypatch):
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.3)
    with socket.create_connection(catalogue.address, timeout=10) as client:
        assert client.recv(1) == b""


@pytest.mark.parametrize("chunks", [b"1;" + b"x" * 10_000, b"0\r\n" + b"X" * 100_000])
def test_lines_between_chunks_are_bounded(catalogue, chunks):
    with socket.create_connection(catalogue.address, timeout=10) as client:
        client.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunks)
        assert client.recv(65536).startswith(b"HTTP/1.1 400 ")


def test_health_is_answered_while_all_connections_are_busy(tmp_path, monkeypatch):
    monkeypatch.setattr(web, "most_connections", lambda: 5)
    free, inside = threading.Event(), []

    def take(_intake, events, _patience):
        inside.append(events)
        free.wait(60)
        return [None] * len(events)

    with served(f"catalog:{tmp_path / 'shop.db'}") as found, ExitStack() as stack:
        monkeypatch.setattr(ingest_queue.Intake, "take", take)
        busy = opened(stack, found, 5, HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY)
        try:
            until(lambda: len(inside) == 5)
            assert healthy(found)
            status, answer, headers = post(found, event())
            assert (status, headers["Retry-After"]) == (503, "5")
            assert "too many connections" in answer["error"]
        finally:
            free.set()
        assert all(answered(client).startswith(b"HTTP/1.1 200") for client in busy)
        assert post(found, event())[0] == 200


# senders


def test_sender_is_the_address_that_a_trusted_proxy_saw():
    assert sender_of("10.0.0.1", "8.8.8.8", None) == "10.0.0.1"
    assert sender_of("10.0.0.1", "6.6.6.6, 8.8.8.8", "10.0.0.1") == "8.8.8.8"
    assert sender_of("10.0.0.2", "8.8.8.8", "10.0.0.1") == "10.0.0.2"
    assert sender_of("10.0.0.1", "", "10.0.0.1") == "10.0.0.1"
    assert (
        sender_of("2001:db8::1", "", None)
        == sender_of("2001:db8::ffff", "", None)
        != sender_of("2001:db9::1", "", None)
    )
    assert sender_of("::1%lo", "", None)
    assert sender_of("10.0.0.1", "a:b:c", "10.0.0.1") == "a:b:c"


class Task:
    def __init__(self, sender, work):
        self.sender = sender
        self.service = work

    def cancel(self):
        pass


def test_one_sender_does_not_take_all_threads():
    free, answered = threading.Event(), []
    dispatcher = Dispatcher(4, lambda task: task.sender, lambda task: task.sender == "health")
    try:
        for _ in range(100):
            dispatcher.add_task(Task("attacker", free.wait))
        for sender in ("a", "b", "health"):
            dispatcher.add_task(Task(sender, lambda sender=sender: answered.append(sender)))
        until(lambda: len(answered) == 3)
    finally:
        free.set()
        dispatcher.shutdown()


def test_budget_of_bodies_is_shared_and_given_back():
    budget = BodyBudget(100, 60)
    with budget.reserving("a", "5") as first, budget.reserving("a", "5") as second, budget.reserving("b", "5") as other:
        first(50)
        with pytest.raises(RequestError) as error:
            second(20)
        assert (error.value.status, error.value.headers) == (HTTPStatus.SERVICE_UNAVAILABLE, (("Retry-After", "5"),))
        other(50)
        with pytest.raises(RequestError):
            second(1)
    with budget.reserving("b", "5") as grow:
        grow(60)


def test_small_requests_pass_when_the_budget_is_used_up(tmp_path, monkeypatch):
    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        monkeypatch.setattr(BodyBudget, "reserving", no_budget)
        assert ask(found, BODY.ljust(FREE_BYTES))[0] == 200
        large = BODY.ljust(FREE_BYTES + 1)
        assert ask(found, large)[0] == 503
        assert ask(found, gzip.compress(large), Content_Encoding="gzip")[0] == 503


@contextmanager
def no_budget(_budget, _sender, again):
    def grow(size):
        if size:
            raise RequestError(HTTPStatus.SERVICE_UNAVAILABLE, "used up", ("Retry-After", again))

    yield grow


# time


def test_slow_event_is_interrupted_for_others_reported_and_taken_when_nobody_waits(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(ingest_queue, "FOLD_SECONDS", 0.1)
    heavy = packed(
        [event(run="018cc251-f400-734d-88b3-00000000beef", inputs=[dataset(f"d.s.t{n}") for n in range(3_000)])]
    )[0]
    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        answers, over = [], threading.Event()

        def small():
            while not over.is_set():
                answers.append(post(found, event(job=f"j{len(answers) % 10}"))[0])

        senders = [threading.Thread(target=small) for _ in range(3)]
        slow = threading.Thread(target=lambda: answers.append(("heavy", ask(found, heavy)[0])))
        for thread in (*senders, slow):
            thread.start()
        until(lambda: metrics(found)["slow_events_total"] > 0)
        assert ("heavy", 200) not in answers
        over.set()
        slow.join()
        for thread in senders:
            thread.join()
    assert ("heavy", 200) in answers
    assert set(answers) == {200, ("heavy", 200)}
    assert [line for line in caplog.messages if "an event was interrupted for other senders after" in line]


def test_large_request_has_its_turn_among_small_ones(monkeypatch):
    monkeypatch.setattr(lanes, "_LIVELY", 0.05)
    queue = lanes.Lanes(500)
    small, large = (lanes.Brought([Event("run", 0, "", b"x" * size)], Future()) for size in (10, lanes.SMALL_BYTES + 1))
    queue.put(large)
    queue.put(small)
    queue.rest(0.1, interrupted=True)
    turns = []

    def turn():
        queue.put(small)
        turns.append(queue.take())
        queue.rest(0.01, interrupted=False)
        return [large] in turns

    until(turn, seconds=10)
    assert turns[0] == [small, small]
    queue.close()
    while queue.take() is not None:
        pass


def test_request_of_many_events_goes_on_where_it_was_interrupted(tmp_path, monkeypatch):
    monkeypatch.setattr(ingest_queue, "FOLD_SECONDS", 0.05)
    monkeypatch.setattr("dh_bridge.receiver.lanes.Lanes.fast_waiting", True)
    monkeypatch.setattr("dh_bridge.receiver.app._LEDGER_TIMEOUT", 60.0)
    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        events = [event(run=f"018cc251-f400-734d-88b3-{n:012x}", outputs=[dataset(f"d.s.t{n}")]) for n in range(200)]
        status, answer, _ = post(found, *events)
        assert (status, answer["successful"]) == (200, 200)


# memory

SHAPES = {
    "empty texts": b'""',
    "empty arrays": b"[]",
    "empty objects": b"{}",
    "numbers": b"0",
    "objects": b'{"a":0}',
    "datasets": b'{"namespace":"n","name":"t"}',
}


OTHER_SHAPES = {
    "keys": lambda: BODY[:-1] + b',"x":{%s}}' % b",".join(b'"k%d":{}' % n for n in range(3_000_000)),
    "a text": lambda: BODY[:-1] + b',"x":"%s"}' % (b"a,:[{" * 12_000_000),
    "deep": lambda: BODY[:-1] + b',"inputs":' + b"[" * 30_000_000 + b"]" * 30_000_000 + b"}",
    "lines": lambda: b"{}\n" * 20_000_000,
    "an array": lambda: b"[" + b"[]," * 20_000_000 + b"[]]",
    "members": lambda: b"[" + b",".join([b'{"x":[%s]}' % b",".join([b"{}"] * 99_000)] * 190) + b"]",
}


def attack(shape):
    """Return a body of sixty megabytes."""
    if shape in OTHER_SHAPES:
        return OTHER_SHAPES[shape]()
    member = SHAPES[shape]
    return BODY[:-1] + b',"inputs":[' + (member + b",") * (60_000_000 // (len(member) + 1)) + member + b"]}"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc")
def test_request_of_any_shape_takes_little_memory_and_delays_nobody(tmp_path):
    shapes = [*SHAPES, *OTHER_SHAPES]
    with serving("--to", f"catalog:{tmp_path / 'shop.db'}", "--listen", "127.0.0.1:0") as server:
        over, waited = threading.Event(), []

        def small():
            while not over.wait(0.02):
                began = time.monotonic()
                assert post(server, event())[0] == 200
                assert healthy(server)
                waited.append(time.monotonic() - began)

        sender = threading.Thread(target=small)
        sender.start()
        try:
            for shape in shapes if LONG else shapes[::3]:
                zipped = gzip.compress(attack(shape), 1)
                assert ask(server, zipped, Content_Encoding="gzip")[0] in (400, 413), shape
        finally:
            over.set()
            sender.join()
        status = Path(f"/proc/{server.process.pid}/status").read_text()
    assert int(re.search(r"VmHWM:\s+(\d+)", status)[1]) < 800 * 1024
    assert max(waited) < 10.0
