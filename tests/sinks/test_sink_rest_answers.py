"""What the REST sink makes of single answers and failures, those that a server on loopback cannot show, too."""

from __future__ import annotations

import json
import socket
import threading
from urllib.parse import quote

import pytest
import requests
import responses
from support.sink_contract import proposals
from urllib3.exceptions import MaxRetryError, NewConnectionError

from dh_bridge.errors import SinkError
from dh_bridge.sinks.base import Delivery, SinkOptions, StoredAspect, open_sink
from dh_bridge.sinks.rest.backoff import retry_after_seconds
from dh_bridge.sinks.rest.responses import parse_response

URL = "http://gms:8080"
CONFIG = {"noCode": "true", "versions": {"acryldata/datahub": {"version": "v1.4.0"}}}
TAKEN = {"value": "success"}
BATCH = f"{URL}/aspects?action=ingestProposalBatch"


@pytest.fixture
def web():
    with responses.RequestsMock() as mock:
        yield mock


def emitted(**rest):
    with open_sink(f"rest:{URL}", SinkOptions(rest={"retries": 0, **rest})) as sink:
        return sink.emit(proposals()[:1])


def failed(**rest):
    with pytest.raises(SinkError) as caught:
        emitted(**rest)
    return caught.value


@pytest.mark.parametrize(
    ("error", "retryable", "words"),
    [
        (requests.ConnectTimeout(), True, "no connection within 10 s"),
        (requests.ReadTimeout(), True, "no response within 30 s"),
        (
            requests.exceptions.SSLError("self-signed certificate"),
            False,
            "certificate of the server is not trusted: self-signed",
        ),
        (
            requests.exceptions.ChunkedEncodingError("Connection broken"),
            True,
            "connection failed: Connection broken",
        ),
        (requests.exceptions.ContentDecodingError("bad gzip"), True, "connection failed: bad gzip"),
        (requests.exceptions.ProxyError("no proxy"), True, "connection failed: no proxy"),
        (requests.exceptions.InvalidHeader("x"), False, "cannot send the request: InvalidHeader"),
        (OSError(24, "Too many open files"), True, "connection failed: Too many open files"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_each_failure_of_the_connection_is_one_of_two_kinds(web, error, retryable, words):
    web.get(f"{URL}/config", body=error)
    found = failed()
    assert words in str(found)
    assert found.retryable is retryable
    assert found.location == f"rest:{URL}"


def test_innermost_error_reason_is_shown(web):
    inner = MaxRetryError(None, "/config", NewConnectionError(None, "[Errno -2] Name or service not known"))
    web.get(f"{URL}/config", body=requests.ConnectionError(inner))
    assert "Name or service not known" in str(failed())


@pytest.mark.parametrize(
    ("status", "body", "words", "retryable"),
    [
        (200, "<html>DataHub</html>", "not a DataHub metadata service", False),
        (200, "[]", "not a DataHub metadata service", False),
        (200, '{"noCode": "false"}', "not a DataHub metadata service", False),
        (404, "", "not a DataHub metadata service", False),
        (401, "", "HTTP 401", False),
        (403, "", "HTTP 403", False),
        (503, "", "HTTP 503", True),
    ],
)
def test_response_not_from_gms_is_an_error(web, status, body, words, retryable):
    web.get(f"{URL}/config", status=status, body=body)
    found = failed()
    assert words in str(found)
    assert found.retryable is retryable


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize(
    ("location", "words"),
    [
        ("https://gms:8443/config", "redirected to https://gms:8443 (use that address"),
        ("https://gms/api/gms/config/", "redirected to https://gms/api/gms (use that address"),
        ("https://login/auth?state=geheim#at", "redirected to https://login/auth (use that address"),
        ("https://ann:geheim@gms/config", "redirected to https://gms (use that address"),
        ("/gms/config", "redirected to /gms (use that address"),
        ("/config", "redirected to / (use that address"),
        ("", "redirected (use that address"),
    ],
)
def test_redirect_is_an_error_with_its_location(web, status, location, words):
    web.get(f"{URL}/config", status=status, headers={"Location": location} if location else {})
    found = failed()
    assert f"HTTP {status}, {words}" in str(found)
    assert "geheim" not in str(found)
    assert not found.retryable


def test_page_is_no_success(web):
    web.get(f"{URL}/config", json=CONFIG)
    web.post(BATCH, body="<!doctype html><title>DataHub</title>", content_type="text/html")
    found = failed()
    assert "the response is a web page, as of DataHub's web interface" in str(found)
    assert not found.retryable


@pytest.mark.parametrize("value", ["success", "urn:li:tag:x"])
def test_value_of_an_action_is_an_acknowledgement(web, value):
    web.get(f"{URL}/config", json=CONFIG)
    web.post(BATCH, json={"value": value})
    assert emitted() == Delivery(1, [])


@pytest.mark.parametrize(("status", "body"), [(200, ""), (200, "{}"), (201, ""), (202, ""), (204, "")])
def test_empty_success_of_a_gateway_is_no_acknowledgement(web, status, body):
    web.get(f"{URL}/config", json=CONFIG)
    web.post(BATCH, status=status, body=body)
    found = failed()
    assert f"HTTP {status}: not a response of DataHub to proposals" in str(found)
    assert "whether a gateway requires a login" in str(found)


@pytest.mark.parametrize(
    ("body", "words"),
    [("please log in", "please log in"), ('{"message": "session expired", "status": 401}', "session expired")],
)
def test_gateway_s_200_is_no_acknowledgement(web, body, words):
    web.get(f"{URL}/config", json=CONFIG)
    web.post(BATCH, body=body, content_type="text/plain")
    found = failed()
    assert f"HTTP 200: {words}: not a response of DataHub to proposals" in str(found)
    assert not found.retryable


def test_address_that_is_none_is_an_answer_like_another(web):
    web.get(f"{URL}/config", json=CONFIG)
    web.post(BATCH, status=302, headers={"Location": "http://[bad"})
    assert failed().location == f"rest:{URL}"


def test_certificates_and_timeouts_are_those_of_the_settings(web, tmp_path):
    for name in ("ca.pem", "me.pem", "me.key"):
        (tmp_path / name).write_text("")
    seen = {}

    def sees(request):
        seen.update(request.req_kwargs)
        return 200, {}, '{"noCode": "true"}'

    web.add_callback(responses.GET, f"{URL}/config", sees)
    web.post(BATCH, json=TAKEN)
    emitted(
        ca_bundle=str(tmp_path / "ca.pem"),
        client_certificate=[str(tmp_path / "me.pem"), str(tmp_path / "me.key")],
        timeout=7.0,
    )
    assert seen["verify"] == str(tmp_path / "ca.pem")
    assert seen["cert"] == (str(tmp_path / "me.pem"), str(tmp_path / "me.key"))
    assert seen["timeout"] == (7.0, 7.0)


@pytest.mark.parametrize(("direct", "proxies"), [("", {"http": "http://proxy:3128"}), ("gms", {})])
def test_proxies_and_authorities_are_those_of_the_environment(web, direct, proxies, monkeypatch, tmp_path):
    for name in (
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", direct)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "company.pem"))
    web.get(f"{URL}/config", json=CONFIG)
    web.post(BATCH, json=TAKEN)
    emitted()
    for call in web.calls:
        found = call.request.req_kwargs
        assert {key: value for key, value in found["proxies"].items() if key == "http"} == proxies
        assert found["verify"] == str(tmp_path / "company.pem")


class Proxy:
    """A proxy on loopback that answers everybody who asks for a tunnel with the same line."""

    def __init__(self, answer):
        self.asked = []
        self._answer = f"HTTP/1.1 {answer}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self):
        while True:
            connection, _ = self._socket.accept()
            with connection:
                stated = connection.recv(65536)
                if stated:
                    self.asked.append(stated.split()[:2])
                    connection.sendall(self._answer)
                else:
                    return

    def close(self):
        with socket.create_connection(self._socket.getsockname()):
            pass  # who says nothing ends it
        self._thread.join()
        self._socket.close()


@pytest.mark.parametrize(
    ("answer", "retryable", "words"),
    [
        (
            "407 Proxy Authentication Required",
            False,
            "Tunnel connection failed: 407 .*a user and a password: set HTTPS_PROXY",
        ),
        ("503 Service Unavailable", True, "Tunnel connection failed: 503"),
    ],
)
def test_proxy_that_wants_a_login_is_not_asked_again(answer, retryable, words, monkeypatch, naps):
    proxy = Proxy(answer)
    try:
        for name in ("ALL_PROXY", "NO_PROXY", "all_proxy", "no_proxy", "HTTPS_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("https_proxy", proxy.url)
        with (
            open_sink("rest:https://gms.example.com", SinkOptions(rest={"retries": 2})) as sink,
            pytest.raises(SinkError, match=words) as caught,
        ):
            sink.emit(proposals()[:1])
    finally:
        proxy.close()
    assert caught.value.retryable is retryable
    assert proxy.asked == [[b"CONNECT", b"gms.example.com:443"]] * (3 if retryable else 1)
    assert len(naps) == (2 if retryable else 0)


@pytest.mark.parametrize(("rest", "seen"), [({}, True), ({"verify": False}, False)])
def test_server_certificate_is_verified_unless_disabled(web, rest, seen, monkeypatch):
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.delenv("CURL_CA_BUNDLE", raising=False)
    web.get(f"{URL}/config", json=CONFIG)
    web.post(BATCH, json=TAKEN)
    emitted(**rest)
    assert web.calls[0].request.req_kwargs["verify"] is seen


@pytest.mark.parametrize(
    ("content", "words", "ours"),
    [
        (b'{"message": "no  such\\n aspect", "exceptionClass": "X"}', "no such aspect", True),
        (b'{"error": "Rate limit exceeded"}', "Rate limit exceeded", False),
        (b'{"detail": "d"}', "d", False),
        (b'{"message": 5}', "Bad Gateway", True),
        (b"[1]", "Bad Gateway", False),
        (b"<html><body><h1>502</h1> nginx</body></html>", "502 nginx", False),
        (b"plain", "plain", False),
        (b"\xff\xfe", "��", False),
        (b"", "Bad Gateway", False),
        (b'{"message": "' + b"x" * 1000 + b'"}', "x" * 399 + "…", True),
    ],
)
def test_server_message_is_short_plain_text(content, words, ours):
    found = parse_response(502, {}, content, "Bad Gateway")
    assert (found.message, found.is_restli_error) == (words, ours)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        (" 0.5 ", 0.5),
        ("-3", 0.0),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_a_number_or_a_date(text, seconds):
    assert retry_after_seconds({"Retry-After": text}, clock=lambda: 40.0) == seconds


def test_retry_after_is_a_date_of_the_server_s_clock():
    headers = {"Date": "Thu, 01 Jan 1970 00:00:50 GMT", "Retry-After": "Thu, 01 Jan 1970 00:01:00 GMT"}
    assert retry_after_seconds(headers, clock=lambda: 1_000_000.0) == 10.0


def test_without_retry_after_nothing_is_asked():
    assert retry_after_seconds({}) is None


ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"


@pytest.mark.parametrize("body", [None, 5, "no", {"error": "maintenance"}, [{"foo": 1}], [{"urn": 1}], ["x"], [None]])
@pytest.mark.parametrize("batches", [True, False])
def test_malformed_read_response_does_not_mean_absent(web, body, batches):
    asked = f"{URL}/openapi/v3/entity/dataset/batchGet"
    if batches:
        web.post(asked, body=json.dumps(body))
    else:
        web.post(asked, status=404)
        web.get(f"{URL}/entitiesV2/{quote(ORDERS, safe='')}", body=json.dumps(body))
    with (
        open_sink(f"rest:{URL}") as sink,
        pytest.raises(SinkError, match=r"not (a list of entities|an entity) \(check that this is"),
    ):
        sink.read({ORDERS: []})


def test_gateway_404_page_does_not_mean_absent(web):
    web.post(f"{URL}/openapi/v3/entity/dataset/batchGet", status=404)
    web.get(f"{URL}/entitiesV2/{quote(ORDERS, safe='')}", status=404, body="<html>not here</html>")
    with open_sink(f"rest:{URL}") as sink, pytest.raises(SinkError, match="HTTP 404: not here"):
        sink.read({ORDERS: []})


@pytest.mark.parametrize(
    "body",
    [
        {"timestamp": 1, "status": 404, "error": "Not Found", "path": "/entitiesV2"},
        {"exceptionClass": "x.RoutingException", "message": "No root resource defined for path '/entitiesV2'"},
        "not here",
    ],
)
def test_missing_endpoint_does_not_mean_absent_entity(web, body):
    web.post(f"{URL}/openapi/v3/entity/dataset/batchGet", status=404)
    web.get(f"{URL}/entitiesV2/{quote(ORDERS, safe='')}", status=404, json=body)
    with open_sink(f"rest:{URL}") as sink, pytest.raises(SinkError, match=r"HTTP 404.*check that this is the address"):
        sink.read({ORDERS: []})


@pytest.mark.parametrize(
    "body", ["", '{"status": 404, "exceptionClass": "x.RestLiServiceException"}', '{"message": "no"}']
)
def test_absent_entity_is_recognised_in_several_forms(web, body):
    web.post(f"{URL}/openapi/v3/entity/dataset/batchGet", status=404)
    web.get(f"{URL}/entitiesV2/{quote(ORDERS, safe='')}", status=404, body=body)
    with open_sink(f"rest:{URL}") as sink:
        assert sink.read({ORDERS: []}) == {}


@pytest.mark.parametrize("stated", [None, "text", 5, [], {}])
def test_malformed_writer_metadata_is_tolerated(web, stated):
    held = {"value": {"removed": False}, "systemMetadata": stated, "auditStamp": stated, "created": {"actor": "a"}}
    web.post(f"{URL}/openapi/v3/entity/dataset/batchGet", json=[{"urn": ORDERS, "status": held, "x": 1}])
    with open_sink(f"rest:{URL}") as sink:
        assert sink.read({ORDERS: []}) == {ORDERS: {"status": StoredAspect({"removed": False}, None, None, "a")}}
