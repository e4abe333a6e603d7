"""Answers of hostile servers cost a bounded time and a bounded memory: GMS, an identity provider, a schema registry."""

from __future__ import annotations

import gzip
import json
import ssl
import time

import pytest
from realparts.certificates import loopback_certificate
from support.raw_server import RawServer, answer

from dh_bridge.errors import SinkError
from dh_bridge.sinks.base import SinkOptions, open_sink
from dh_bridge.sinks.kafka.options import RegistryOptions
from dh_bridge.sinks.kafka.registry import SchemaRegistry
from dh_bridge.sinks.rest.connection import GmsConnection
from dh_bridge.sinks.rest.options import RestOptions

SOON = 10.0
"""Seconds that separate a bounded wait from the 20 s for which the servers go on."""
CONFIG = {"noCode": "true", "versions": {"acryldata/datahub": {"version": "v1.4.0"}}}
OAUTH = {"client_id": "bridge", "client_secret": "geheim"}


def ask_gms(url):
    with open_sink(f"rest:{url}", SinkOptions(rest={"retries": 0, "timeout": 0.5})) as sink:
        return sink.version()


def ask_provider(url):
    oauth = {**OAUTH, "token_endpoint": url}
    with open_sink("rest:http://127.0.0.1:9", SinkOptions(rest={"retries": 0, "timeout": 0.5, "oauth": oauth})) as sink:
        return sink.version()


def ask_registry(url):
    registry = SchemaRegistry(RegistryOptions(url=url, timeout=0.5))
    try:
        return registry.schema(1)
    finally:
        registry.close()


ASKING = pytest.mark.parametrize("ask", [ask_gms, ask_provider, ask_registry])


@pytest.fixture(autouse=True)
def _registry_without_pauses(monkeypatch):
    monkeypatch.setattr("urllib3.util.retry.Retry.sleep", lambda *_: None)


@pytest.fixture
def small(monkeypatch):
    """Let an answer have 1 MiB at most, so that the tests are quick."""
    monkeypatch.setattr("dh_bridge.sinks.bounded_http.MAX_RESPONSE_BYTES", 1 << 20)


def failure(ask, script):
    """Return the error of a question to a server that does as ``script`` says, and the server; it has to come soon."""
    with RawServer(script) as server:
        began = time.monotonic()
        with pytest.raises(SinkError) as caught:
            ask(server.url)
        assert time.monotonic() - began < SOON
    return caught.value, server


@ASKING
@pytest.mark.parametrize(
    ("start", "dripped"),
    [
        (b"", b"HTTP/1.1 200 OK\r\n"),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: x\r\n"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b" "),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", b" "),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0"),
    ],
    ids=["status", "header", "continue", "body", "length", "chunk", "chunk-size"],
)
def test_dripping_answer_ends_with_the_timeout(ask, start, dripped):
    def script(server, connection, _head):
        connection.sendall(start)
        server.drip(connection, dripped)

    error, _ = failure(ask, script)
    assert error.retryable
    assert "no response within 0.5 s" in str(error) or ask is ask_registry  # which asks four times


@ASKING
@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * 65536 + b"\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"0" * 65536),
        (b"HTTP/1.1 503 Busy\r\n\r\n", b"x" * 65536),
    ],
    ids=["body", "chunks", "chunk-size", "error"],
)
def test_endless_answer_is_cut_off(ask, start, piece):
    def script(server, connection, _head):
        connection.sendall(start)
        server.pour(connection, piece)

    error, server = failure(ask, script)
    assert server.sent < 1 << 27, "of 256 MB"
    assert "the response has more than" in str(error) or "connection failed" in str(error)  # urllib3 limits one itself


@ASKING
@pytest.mark.usefixtures("small")
def test_zipped_answer_is_bounded_when_unzipped(ask):
    bomb = gzip.compress(b" " * (1 << 27))
    error, _ = failure(ask, lambda _s, connection, _h: connection.sendall(answer(bomb, "Content-Encoding: gzip")))
    assert "the response has more than" in str(error)
    assert not error.retryable


@pytest.mark.parametrize("members", [1, 3])
def test_zipped_answer_is_read(members):
    text = json.dumps(CONFIG).encode()
    pieces = [text] if members == 1 else [text[:5], text[5:9], text[9:]]
    body = b"".join(map(gzip.compress, pieces))
    with RawServer(lambda _s, connection, _h: connection.sendall(answer(body, "Content-Encoding: gzip"))) as server:
        assert ask_gms(server.url) == "1.4.0"


@ASKING
@pytest.mark.parametrize(
    ("body", "encoding"),
    [(b"x", "gzip"), (gzip.compress(b"{}", mtime=0)[:-9], "gzip"), (b"{}", "br"), (b"{}", "gzip, gzip")],
)
def test_body_in_a_broken_or_unknown_encoding_is_an_error(ask, body, encoding):
    def script(_server, connection, _head):
        connection.sendall(answer(body, f"Content-Encoding: {encoding}"))

    error, _ = failure(ask, script)
    assert "connection failed" in str(error)


@ASKING
@pytest.mark.parametrize("depth", [300, 900, 100_000])
@pytest.mark.parametrize(
    "key", ["noCode", "versions", "datahub", "access_token", "expires_in", "error", "message", "schema"]
)
def test_deeply_nested_answer_is_no_answer(ask, key, depth):
    body = b'{"%s": %s%s}' % (key.encode(), b"[" * depth, b"]" * depth)
    error, _ = failure(ask, lambda _s, connection, _h: connection.sendall(answer(body)))
    assert len(str(error)) < 1000


def test_deeply_nested_schema_is_none():
    body = json.dumps({"schema": '{"type":"array","items":' * 400 + '"int"' + "}" * 400}).encode()
    error, _ = failure(ask_registry, lambda _s, connection, _h: connection.sendall(answer(body)))
    assert "no Avro schema" in str(error)


def test_deeply_nested_aspect_is_not_read():
    value = b"[" * 500 + b"]" * 500
    body = b'[{"urn": "urn:li:tag:x", "tagProperties": {"value": {"name": %s}}}]' % value
    with (
        RawServer(lambda _s, connection, _h: connection.sendall(answer(body))) as server,
        open_sink(f"rest:{server.url}", SinkOptions(rest={"retries": 0})) as sink,
        pytest.raises(SinkError, match="nested too deeply"),
    ):
        sink.read({"urn:li:tag:x": ["tagProperties"]})


@pytest.mark.parametrize("secure", [False, True])
def test_server_that_reads_slowly_ends_the_request(secure, tmp_path):
    context, ca = None, None
    if secure:
        certificate, key = loopback_certificate()
        (tmp_path / "ca.pem").write_text(certificate)
        (tmp_path / "key.pem").write_text(key)
        ca = str(tmp_path / "ca.pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(ca, tmp_path / "key.pem")
    with RawServer(lambda server, connection, _h: server.sip(connection), context) as server:
        options = RestOptions(server=server.url, retries=0, timeout=0.5, ca_bundle=ca)
        connection = GmsConnection(options)
        began = time.monotonic()
        with pytest.raises(SinkError) as caught:
            connection.send("POST", "/aspects", b"x" * 15_000_000)
        assert time.monotonic() - began < SOON
        assert caught.value.retryable
        connection.close()


def test_connection_is_reused_after_a_complete_response():
    connections = []

    def script(_server, connection, _head):
        connections.append(connection)
        for _ in range(3):
            connection.sendall(answer(json.dumps(CONFIG).encode()))
            connection.recv(65536)

    with RawServer(script) as server:
        connection = GmsConnection(RestOptions(server=server.url, retries=0, timeout=5.0))
        assert [connection.send("GET", "/config").status for _ in range(3)] == [200] * 3
        connection.close()
    assert len(connections) == 1
