"""Requests and connections made to stop ``serve``: what one sender costs is bounded, and others are answered meanwhile."""

from __future__ import annotations

import gzip
import http.client
import os
import re
import socket
import stat
import threading
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from http import HTTPStatus
from pathlib import Path

import pytest
from support.receivers import ask, metrics, post, served, serving, settle, until
from support.sample_events import dataset, event, packed

from dh_bridge.catalog.store import Catalog
from dh_bridge.errors import SinkError
from dh_bridge.event_log import EventLog
from dh_bridge.ledger.ledger_log import log_folder
from dh_bridge.receiver import connections, folding, web
from dh_bridge.receiver.accept_queue import AcceptQueue
from dh_bridge.receiver.bodies import FREE_BYTES, BodyBudget, RequestError
from dh_bridge.receiver.dispatch import Dispatcher, sender_of
from dh_bridge.session import Session

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
    monkeypatch.setattr(web, "max_connections", lambda: 20 if limit == "_most" else 1000)
    monkeypatch.setattr(web, "MAX_CLIENT_CONNECTIONS", 20 if limit == "CLIENT_CONNECTIONS" else 1000)
    with served(f"catalog:{tmp_path / 'shop.db'}") as found, ExitStack() as stack:
        (retained,) = opened(stack, found, 1)
        retained.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY)
        assert answered(retained).startswith(b"HTTP/1.1 200")
        for _ in range(3):
            opened(stack, found, 40, data)
            assert healthy(found)
            assert post(found, event())[0] == 200
        retained.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY)
        assert answered(retained).startswith(b"HTTP/1.1 200"), "it sent whole requests"


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
    assert b'{"error":"the request did not arrive in time"}' in answer
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
    monkeypatch.setattr(web, "max_connections", lambda: 5)
    free, inside = threading.Event(), []

    def take(_intake, events, _patience):
        inside.append(events)
        free.wait(60)
        return [None] * len(events)

    with served(f"catalog:{tmp_path / 'shop.db'}") as found, ExitStack() as stack:
        monkeypatch.setattr(AcceptQueue, "take", take)
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


@pytest.mark.parametrize(
    "forwarded", ["a:b:c", "x", "1.2.3", "8.8.8.8, unknown", "6.6.6.6,", "8.8.8.8 9.9.9.9", "[x]:1", "9" * 5000]
)
def test_sender_behind_a_proxy_without_address_is_the_proxy(forwarded):
    assert sender_of("10.0.0.1", forwarded, "10.0.0.1") == "10.0.0.1"


@pytest.mark.parametrize(
    ("forwarded", "sender"),
    [("8.8.8.8:1234", "8.8.8.8"), ("[2001:db8::1]:443", "2001:db8::/64"), ("2001:DB8::2", "2001:db8::/64")],
)
def test_port_and_spelling_of_a_forwarded_address_do_not_matter(forwarded, sender):
    assert sender_of("10.0.0.1", forwarded, "10.0.0.1") == sender


class Task:
    def __init__(self, sender, work):
        self.sender = sender
        self.service = work

    def cancel(self):
        pass


def test_dispatcher_keeps_threads_free_for_other_senders():
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


def test_body_budget_is_shared_and_released():
    budget = BodyBudget(100, 60)
    with (
        budget.reservation("a", "5") as first,
        budget.reservation("a", "5") as second,
        budget.reservation("b", "5") as other,
    ):
        first(50)
        with pytest.raises(RequestError) as error:
            second(20)
        assert (error.value.status, error.value.headers) == (HTTPStatus.SERVICE_UNAVAILABLE, (("Retry-After", "5"),))
        other(50)
        with pytest.raises(RequestError):
            second(1)
    with budget.reservation("b", "5") as grow:
        grow(60)


def test_small_requests_pass_when_the_budget_is_used_up(tmp_path, monkeypatch):
    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        monkeypatch.setattr(BodyBudget, "reservation", no_budget)
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


class Held:
    """A ledger whose fold waits while it holds an event of the job ``heavy``."""

    def __init__(self, monkeypatch):
        self.free, self.inside = threading.Event(), threading.Event()
        add = Session.add

        def held(session, item):
            if item.name == "heavy":
                self.inside.set()
                assert self.free.wait(60)
            return add(session, item)

        monkeypatch.setattr(Session, "add", held)

    @contextmanager
    def sending(self, found):
        """Send the heavy event, and let it be folded at the end of the block."""
        assert post(found, event(job="heavy"))[0] == 200
        try:
            assert self.inside.wait(20)
            yield
        finally:
            self.free.set()


def has(path, *jobs):
    """Return whether a catalogue has runs of these jobs."""
    with Catalog(path, readonly=True) as catalog:
        urns = [*catalog.entities("dataFlow"), *catalog.entities("dataJob")]
    return all(any(job in urn for urn in urns) for job in jobs)


def test_small_events_are_acknowledged_during_a_slow_event(tmp_path, monkeypatch):
    held, path = Held(monkeypatch), tmp_path / "shop.db"
    secret = event(job="small", job_facets={"sql": {"query": "SELECT 1 -- password=hunter2"}})
    with served(f"catalog:{path}") as found:
        assert post(found, event(job="first"))[0] == 200
        settle(found)
        with held.sending(found):
            status, answer, _ = post(found, secret)
            assert (status, answer["successful"]) == (200, 1)
            assert not has(path, "small")
            (segment,) = log_folder(path).glob("*.log")
            assert stat.S_IMODE(segment.stat().st_mode) == 0o600
            with EventLog(log_folder(path), max_bytes=1 << 30) as event_log:
                stored = event_log.read_after(2, max_events=9, max_bytes=1 << 20).events[0].event.event
            assert b"SELECT 1" in stored
            assert b"hunter2" not in stored
        until(lambda: has(path, "small"))


def test_acknowledged_events_are_retried_after_ledger_errors(tmp_path, monkeypatch):
    monkeypatch.setattr(folding, "FIRST_PAUSE_SECONDS", 0.05)
    path, add, failures = tmp_path / "shop.db", Session.add, []

    def failing(session, item):
        if len(failures) < 3:
            failures.append(item)
            raise SinkError("the disk is full", retryable=True)
        return add(session, item)

    monkeypatch.setattr(Session, "add", failing)
    with served(f"catalog:{path}") as found:
        assert post(found, event(job="small"))[0] == 200
        settle(found)
        assert has(path, "small")
    assert len(failures) == 3


def test_slow_event_is_reported(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(folding, "SLOW_EVENT_SECONDS", 0.0)
    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        assert post(found, event())[0] == 200
        settle(found)
        until(lambda: metrics(found)["slow_events_total"] == 1)
    assert [
        line
        for line in caplog.messages
        if re.match(r"merging a batch of events took \d+\.\d s of CPU time \(events: 1\)", line)
    ]


HEAVY = {
    "a text": lambda: event(job_facets={"sql": {"query": "SELECT a FROM t WHERE k = 'v' -- note: k=v\n" * 200_000}}),
    "columns": lambda: event(
        outputs=[
            dataset(
                "d.s.big",
                facets={
                    "schema": {
                        "fields": [
                            {"name": f"c{n}", "type": "int", "description": "a column: " * 10} for n in range(40_000)
                        ]
                    }
                },
            )
        ]
    ),
    "inputs": lambda: event(inputs=[dataset(f"d.s.t{n}") for n in range(9_999)]),
    "texts": lambda: event(run_facets={"x": {"texts": [["a=b", {"k": "password is x" * 20}]] * 25_000}}),
    "names": lambda: event(inputs=[dataset("d.s." + "token=x:y@ " * 5_000 + str(n)) for n in range(180)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", HEAVY)
def test_event_of_ten_megabytes_delays_no_other_sender(tmp_path, shape):
    heavy = packed([HEAVY[shape]()])[0]
    with serving("--to", f"catalog:{tmp_path / 'shop.db'}", "--listen", "127.0.0.1:0") as server:
        over, waited, answers = threading.Event(), [], []

        def small(sender):
            while not over.wait(0.05):
                began = time.monotonic()
                answers.append(post(server, event(job=f"j{sender}_{len(answers) % 20}"))[0])
                waited.append(time.monotonic() - began)

        def large():
            with closing(http.client.HTTPConnection(*server.address, timeout=120)) as connection:
                connection.request("POST", "/api/v1/lineage", heavy)
                answers.append(connection.getresponse().status)
            over.set()

        senders = [*(threading.Thread(target=small, args=(n,)) for n in range(8)), threading.Thread(target=large)]
        for thread in senders:
            thread.start()
        for thread in senders:
            thread.join()
    assert set(answers) <= {200, 503}
    assert answers.count(503) <= 1, "the heavy event alone may be sent away"
    assert max(waited) < 2.0


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
def test_request_of_any_shape_is_cheap_and_blocks_no_sender(tmp_path):
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
