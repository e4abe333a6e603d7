"""What producers' HTTP clients do, and what goes wrong on the way: each gets an answer of ours, and each answer is counted."""

from __future__ import annotations

import gzip
import io
import json
import socket
import tempfile
import zlib

import pytest
from pydantic import ValidationError
from support.receivers import ask, dialogue, metrics, points, post, served, settle, until
from support.sample_events import event, packed

from dh_bridge import Settings
from dh_bridge.receiver import answers, app, connections

BODY = packed([event()])[0]
HALF = len(BODY) // 2
TO = b"POST /api/v1/lineage HTTP/1.1\r\nHost: x\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CLOSE = b"Connection: close\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
TAKEN = b'{"received":1,"successful":1,"failed":[]}\n'


def in_chunks(body, *, at=HALF):
    return b"".join(b"%x\r\n%s\r\n" % (len(one), one) for one in (body[:at], body[at:])) + b"0\r\n\r\n"


@pytest.fixture
def catalogue(tmp_path):
    with served(f"catalog:{tmp_path / 'shop.db'}", receiver={"body_bytes": 100_000}) as found:
        yield found


@pytest.mark.parametrize(
    "request_",
    [
        TO + CLOSE + CHUNKED + b"\r\n" + in_chunks(BODY),
        TO + CLOSE + CHUNKED + b"Content-Encoding: gzip\r\n\r\n" + in_chunks(gzip.compress(BODY)),
        TO + CLOSE + CHUNKED + b"Trailer: X-Sum\r\n\r\n" + in_chunks(BODY)[:-2] + b"X-Sum: 1\r\n\r\n",
        TO.replace(b"1.1", b"1.0") + LENGTH + b"\r\n" + BODY,
        TO + CLOSE + LENGTH + b"Content-Type: application/json; charset=utf-8\r\n\r\n" + BODY,
        TO + CLOSE + LENGTH + b"Content-Type: text/plain; charset=iso-8859-1\r\n\r\n" + BODY,
        TO + CLOSE + b"Content-Length: %d\r\n\r\n\xef\xbb\xbf" % (len(BODY) + 3) + BODY,
        TO.replace(b"lineage", b"lineage/?source=spark&x") + CLOSE + LENGTH + b"\r\n" + BODY,
        TO.replace(b"/api", b"//api") + CLOSE + LENGTH + b"\r\n" + BODY,
        TO.replace(b"/api", b"http://bridge:5000/api") + CLOSE + LENGTH + b"\r\n" + BODY,
        TO + CLOSE + LENGTH + b"Cookie: " + b"c" * 200_000 + b"\r\n\r\n" + BODY,
        TO + LENGTH + b"Connection: close, Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAA\r\n\r\n" + BODY,
    ],
    ids=[
        "chunks", "gzip in chunks", "trailer", "HTTP/1.0", "charset", "another charset", "BOM", "query", "slashes", "absolute",
        "long header", "asks for HTTP/2",
    ],
)  # fmt: skip
def test_event_is_accepted_in_any_http_framing(catalogue, tmp_path, request_):
    with socket.create_connection(catalogue.address, timeout=10) as sender:
        sender.sendall(request_)
        answer = b""
        while not answer.endswith(TAKEN):
            piece = sender.recv(65536)
            assert piece, answer
            answer += piece
    assert answer[9:15] == b"200 OK"
    settle(catalogue)
    assert points(tmp_path / "shop.db") == ["STARTED"]


@pytest.mark.parametrize("how", [LENGTH, CHUNKED])
def test_expect_continue_gets_100_continue(catalogue, how):
    body = BODY if how is LENGTH else in_chunks(BODY)
    answer = dialogue(catalogue, TO + CLOSE + how + b"Expect: 100-continue\r\n\r\n", body)
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert answer.endswith(TAKEN)


def test_expect_continue_with_an_oversized_body_gets_413(catalogue):
    answer = dialogue(catalogue, TO + b"Content-Length: 999999999999\r\nExpect: 100-continue\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"100 Continue" not in answer


def test_requests_on_one_connection_are_answered_in_their_order(catalogue):
    good, bad = TO + LENGTH + b"\r\n" + BODY, TO + b"Content-Length: 1\r\n\r\n{"
    answer = dialogue(catalogue, good + bad + good + TO.replace(b"POST", b"PUT") + CLOSE + b"\r\n")
    statuses = [line.split()[1] for line in answer.splitlines() if line.startswith(b"HTTP/1.1 ")]
    assert statuses == [b"200", b"400", b"200", b"405"]


@pytest.mark.parametrize(
    ("request_", "status", "why"),
    [
        (
            TO + b"Content-Length: 100001\r\n\r\n" + b" " * 100_001,
            413,
            "the body has more than 100,000 bytes (receiver.body_bytes)",
        ),
        (
            TO + CHUNKED + b"\r\n186a1\r\n" + b" " * 100_001,
            413,
            "the body has more than 100,000 bytes (receiver.body_bytes)",
        ),
        (TO + CHUNKED + b"\r\nZZ\r\n", 400, "chunk size"),
        (TO + CHUNKED + b"\r\n2\r\n[]]]\r\n", 400, "Chunk not properly terminated"),
        (TO + b"Transfer-Encoding: gzip, chunked\r\n\r\n", 501, "Transfer-Encoding"),
        (TO + b"Content-Length: +5\r\n\r\nabcde", 400, "Content-Length"),
        (TO + LENGTH + LENGTH + b"\r\n" + BODY, 400, "Content-Length"),
        (TO + b"X: " + b"x" * 300_000 + b"\r\n\r\n", 431, "header"),
        (b"post /api/v1/lineage HTTP/1.1\r\n\r\n", 400, "post"),
        (b"POST /api/v1/lineage HTTP/1.0\r\n\r\n" + BODY, 411, "Content-Length"),
        (b"POST /api/v1/lineage HTTP/1.0\r\n" + CHUNKED + b"\r\n" + in_chunks(BODY), 411, "Content-Length"),
        (TO + CLOSE + b"Content-Encoding: gzip\r\n" + LENGTH + b"\r\n" + BODY, 400, "the body is not valid gzip"),
        (TO.replace(b"/api/v1/lineage", b"/api/v2/events") + CLOSE + LENGTH + b"\r\n" + BODY, 404, "not found"),
        (
            b"OPTIONS /api/v1/lineage HTTP/1.1\r\nOrigin: x\r\n" + CLOSE + b"\r\n",
            405,
            "method OPTIONS not allowed: use POST",
        ),
    ],
)
def test_unreadable_request_gets_a_json_error_and_is_counted(catalogue, request_, status, why):
    head, _, body = dialogue(catalogue, request_).partition(b"\r\n\r\n")
    assert head.split()[1] == b"%d" % status
    assert b"Content-Type: application/json" in head
    assert b"Connection: close" in head
    assert why in json.loads(body)["error"]
    found = metrics(catalogue)
    assert {name: number for name, number in found.items() if name.startswith("requests")} == {
        f'requests_total{{status="{status}"}}': 1
    }
    assert post(catalogue, event())[0] == 200


def test_oversized_body_gets_413_while_it_is_still_sent(catalogue):
    status, stated, _ = ask(catalogue, b" " * 20_000_000)  # more than the sockets hold
    assert (status, stated) == (413, {"error": "the body has more than 100,000 bytes (receiver.body_bytes)"})


def test_connection_of_an_endless_sender_is_closed(catalogue, monkeypatch):
    monkeypatch.setattr(connections, "_LINGER_SECONDS", 0.3)
    with socket.create_connection(catalogue.address, timeout=10) as sender:
        sender.sendall(TO + b"Content-Length: 999999999\r\n\r\n")
        assert sender.recv(65536).startswith(b"HTTP/1.1 413 ")

        def cut():
            try:
                return not sender.send(b" ")
            except OSError:
                return True

        until(cut, seconds=5)


class Full(io.BytesIO):
    """A file on a disk with room for a million bytes; what could not be written is tried once more when it is closed."""

    def write(self, data):
        if self.tell() + len(data) > 1_000_000:
            raise OSError(28, "No space left on device")
        return super().write(data)

    def close(self):
        super().close()
        raise OSError(28, "No space left on device")


def nowhere():
    raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")


@pytest.mark.parametrize(
    ("file", "why"), [(Full, "No space left on device"), (nowhere, "No usable temporary directory")]
)
def test_body_that_cannot_be_buffered_gets_503(tmp_path, monkeypatch, caplog, file, why):
    body = BODY.ljust(3_000_000)
    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        with monkeypatch.context() as patched:
            patched.setattr(tempfile, "TemporaryFile", lambda *_: file())
            status, stated, headers = ask(found, body)
            assert (status, headers["Retry-After"]) == (503, "5")
            assert why in stated["error"]
            assert ask(found, BODY.ljust(400_000))[0] == 200, "what is smaller needs no file"
        assert ask(found, body)[0] == 200
        assert metrics(found)['requests_total{status="503"}'] == 1
    assert [line for line in caplog.messages if why in line and "TMPDIR" in line]
    assert "Traceback" not in caplog.text


def test_bomb_is_stopped_by_its_size_and_by_its_events(tmp_path, monkeypatch):
    monkeypatch.setattr(app, "_MAX_EVENTS", 1000)
    letters = []
    with served(f"catalog:{tmp_path / 'shop.db'}", bury=letters.append, receiver={"body_bytes": 1_000_000}) as found:
        for body in (b"[" + b" " * 2_000_000 + b"]", b"[" + b"{}," * 1000 + b"{}]"):
            for encoding, zipped in (("gzip", gzip.compress), ("deflate", zlib.compress)):
                status, stated, _ = ask(found, zipped(body), Content_Encoding=encoding)
                assert (status, "more than 1,0" in stated["error"]) == (413, True)
        assert not letters
        assert post(found, *[event()] * 1000)[0] == 200


@pytest.mark.parametrize("member", ['""', "[]", "{}", "0", '{"a":0}'])
def test_values_of_an_event_are_bounded(tmp_path, member, monkeypatch):
    most = 1000
    monkeypatch.setattr("dh_bridge.receiver.app.MAX_EVENT_VALUES", most)
    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        members = b",".join([member.encode()] * most)
        body = BODY[:-1] + b', "inputs": [%s]}' % members
        error = {"error": "an event has more than 1,000 JSON values"}
        for sent in (body, b"[%s,%s]" % (BODY, body), BODY + b"\n" + body):
            assert ask(found, sent)[:2] == (413, error)
        many = b"[%s]" % b",".join([member.encode()] * 9 * most)
        assert ask(found, many)[:2] == (
            413,
            {"error": "the request has more than 8,000 JSON values"},
        )
        assert metrics(found)["events_total"] == 0
        columns = {"schema": {"fields": [{"name": f"c{number}", "type": "a,b:c"} for number in range(150)]}}
        assert post(found, event(inputs=[{"namespace": "n", "name": "t", "facets": columns}]))[0] == 200


def test_bytes_and_datasets_of_an_event_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(app, "_MAX_EVENT_BYTES", 5_000)
    monkeypatch.setattr(app, "_MAX_DATASETS", 10)
    with served(f"catalog:{tmp_path / 'shop.db'}") as found:
        assert post(found, event(job="j" * 5_000))[:2] == (413, {"error": "an event has more than 5,000 bytes"})
        tables = [{"namespace": "n", "name": f"t{number}"} for number in range(11)]
        status, answer, _ = post(found, event(inputs=tables[:6], outputs=tables[6:]))
        assert (status, answer["failed"][0]["error"]) == (400, "the event has more than 10 inputs and outputs")
        assert post(found, event(inputs=tables[:5], outputs=tables[5:10]))[0] == 200


def test_answer_lists_a_thousand_failures_and_counts_all(catalogue, monkeypatch):
    monkeypatch.setattr(answers, "_MAX_FAILURES", 10)
    long_time = packed([event("START", "t" * 3_000)])[0]
    status, answer, _ = ask(catalogue, b"\n".join([long_time] * 20 + [BODY]))
    assert (status, answer["received"], answer["successful"], len(answer["failed"])) == (207, 21, 1, 10)
    assert max(len(failure["error"]) for failure in answer["failed"]) <= 500


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    ("listen", "exposed"),
    [
        ("127.0.0.1:0", False), ("LocalHost:0", False), ("[::1]:0", False), ("[0:0:0:0:0:0:0:1]:0", False),
        ("0.0.0.0:0", True), ("*:0", True), ("[::]:0", True),
    ],
)  # fmt: skip
def test_receiver_recognises_an_exposed_listen_address(tmp_path, listen, exposed):
    if "[" in listen and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    with served(f"catalog:{tmp_path / 'shop.db'}", receiver={"listen": listen}) as found:
        assert found.is_exposed is exposed
        assert post(found, event())[0] == 200


@pytest.mark.parametrize("listen", ["5000", "localhost", "http://localhost:5000", "localhost:5000/"])
def test_listen_address_without_host_and_port_is_refused(listen):
    with pytest.raises(ValidationError, match="should be HOST:PORT"):
        Settings(receiver={"listen": listen})


def test_port_that_there_is_not_is_refused():
    assert Settings(receiver={"listen": "127.0.0.1:65535"}).receiver.listen == "127.0.0.1:65535"
    with pytest.raises(ValidationError, match="beyond 65,535"):
        Settings(receiver={"listen": "127.0.0.1:65536"})
