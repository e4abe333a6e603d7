"""Who the REST sink says it is: a token, one in a file, one that an identity provider lends."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs

import pytest
from support.gms import Gms

from dh_bridge.datahub.proposal import upsert
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sinks.base import SinkOptions, open_sink
from dh_bridge.sinks.rest.login import TokenAuth
from dh_bridge.sinks.rest.options import OAuthOptions, RestOptions

OAUTH = {"client_id": "bridge", "client_secret": "geheim"}
TAG = upsert("tag", "urn:li:tag:x", "tagProperties", {"name": "x"})


class Provider:
    """An identity provider on loopback: lends t1, t2 …, or answers what ``says`` has next."""

    def __init__(self):
        self.forms, self.says = [], []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                provider.forms.append((form, self.headers.get("Authorization")))
                provider.headers = {name.lower() for name in self.headers}
                lent = (200, {"access_token": f"t{len(provider.forms)}", "expires_in": 3600, "token_type": "Bearer"})
                status, body = provider.says.pop(0) if provider.says else lent
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/token"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def provider():
    found = Provider()
    yield found
    found.close()


@pytest.fixture
def gms(tmp_path):
    with Gms(tmp_path / "gms.db", version="1.7.0", token="t1") as server:  # noqa: S106 - none
        yield server


def opened(gms, **rest):
    return open_sink(f"rest:{gms.url}", SinkOptions(rest={"retries": 0, **rest}))


def test_token_is_borrowed_once_with_the_client_s_credentials(gms, provider):
    oauth = {**OAUTH, "token_endpoint": provider.url, "scope": "a b", "audience": "datahub"}
    with opened(gms, oauth=oauth) as sink:
        assert sink.emit([TAG]).delivered_count == 1
        assert sink.emit([TAG]).delivered_count == 1
    ((form, authorization),) = provider.forms
    assert form == {
        "grant_type": ["client_credentials"], "client_id": ["bridge"], "client_secret": ["geheim"], "scope": ["a b"],
        "audience": ["datahub"],
    }  # fmt: skip
    assert authorization is None
    assert {one.headers["Authorization"] for one in gms.requests} == {"Bearer t1"}


def test_rejected_token_is_requested_again_once(gms, provider):
    gms.token = "t2"  # noqa: S105 - none
    with opened(gms, oauth={**OAUTH, "token_endpoint": provider.url}) as sink:
        assert sink.emit([TAG]).delivered_count == 1
        gms.token = "t9"  # noqa: S105 - none
        with pytest.raises(SinkError, match="401") as caught:
            sink.emit([TAG])
    assert not caught.value.retryable
    assert len(provider.forms) == 3


@pytest.mark.parametrize(
    ("status", "body", "retryable", "words"),
    [
        (
            401,
            {"error": "invalid_client", "error_description": "geheim"},
            False,
            "no token in the response: HTTP 401: invalid_client",
        ),
        (503, {}, True, "no token in the response: HTTP 503"),
        (429, {}, True, "no token in the response: HTTP 429"),
        (200, {"token": "x"}, False, "no token in the response"),
        (200, ["x"], False, "no token in the response"),
    ],
)
def test_provider_that_lends_nothing_is_named(gms, provider, status, body, retryable, words):
    provider.says = [(status, body)]
    with (
        opened(gms, oauth={**OAUTH, "token_endpoint": provider.url}) as sink,
        pytest.raises(SinkError, match=words) as caught,
    ):
        sink.emit([TAG])
    assert caught.value.retryable is retryable
    assert caught.value.location == "DATAHUB_AUTH_TYPE"
    assert caught.value.remedy == ("try again later" if retryable else "check the variables DATAHUB_AUTH_*")
    assert "geheim" not in str(caught.value)
    assert gms.writes == []


def test_identity_provider_gets_no_server_headers(gms, provider):
    headers = {"X-Gateway-Key": "geheim", "Cookie": "session=geheim", "authorization": "Basic geheim", "accept": "a/b"}
    with opened(gms, oauth={**OAUTH, "token_endpoint": provider.url}, headers=headers) as sink:
        assert sink.emit([TAG]).delivered_count == 1
    assert gms.requests[-1].headers["X-Gateway-Key"] == "geheim"
    assert provider.headers == {
        "host", "user-agent", "accept", "accept-encoding", "connection", "content-type", "content-length",
    }  # fmt: skip


def test_provider_that_is_busy_is_asked_again(gms, provider, monkeypatch):
    monkeypatch.setattr("dh_bridge.sinks.rest.connection.sleep", lambda _: None)
    provider.says = [(503, {}), (429, {})]
    gms.token = "t3"  # noqa: S105 - none
    with opened(gms, oauth={**OAUTH, "token_endpoint": provider.url}, retries=2) as sink:
        assert sink.emit([TAG]).delivered_count == 1
    assert len(provider.forms) == 3


def test_provider_that_refuses_is_not_asked_again(gms, provider):
    provider.says = [(401, {"error": "invalid_client"})]
    with opened(gms, oauth={**OAUTH, "token_endpoint": provider.url}, retries=2) as sink, pytest.raises(SinkError):
        sink.emit([TAG])
    assert len(provider.forms) == 1


def test_provider_that_is_gone_may_come_back(gms, provider):
    provider.close()
    with opened(gms, oauth={**OAUTH, "token_endpoint": provider.url}) as sink, pytest.raises(SinkError) as caught:
        sink.emit([TAG])
    assert (caught.value.retryable, caught.value.location) == (True, "DATAHUB_AUTH_TYPE")
    provider.close = lambda: None


def test_token_is_renewed_before_it_ends():
    now, asked = [0.0], []

    def post(_url, _form):
        asked.append(now[0])
        return 200, json.dumps({"access_token": f"t{len(asked)}", "expires_in": 3600}).encode()

    options = RestOptions(oauth=OAuthOptions(token_endpoint="https://idp/token", **OAUTH))  # noqa: S106 - none
    login = TokenAuth(options, post, clock=lambda: now[0])
    for moment, token in ((0, "t1"), (3299, "t1"), (3300, "t2"), (6599, "t2"), (6600, "t3")):
        now[0] = moment
        assert login.token() == token


def test_token_without_an_end_is_asked_for_each_time():
    asked = []

    def post(*stated):
        asked.append(stated)
        return 200, b'{"access_token": "t"}'

    options = RestOptions(oauth=OAuthOptions(token_endpoint="https://idp/token", **OAUTH))  # noqa: S106 - none
    login = TokenAuth(options, post)
    assert [login.token(), login.token(), len(asked)] == ["t", "t", 2]


@pytest.mark.parametrize("expires_in", [[3600], {}, "soon", "nan", "", True, None])
def test_token_with_an_unreadable_lifetime_is_requested_again(gms, provider, expires_in):
    provider.says = [(200, {"access_token": "t1", "expires_in": expires_in})] * 20
    with opened(gms, oauth={**OAUTH, "token_endpoint": provider.url}) as sink:
        requests = [(sink.emit([TAG]).delivered_count, len(provider.forms)) for _ in range(2)]
    assert requests[0][0] == requests[1][0] == 1
    assert requests[1][1] > requests[0][1]


def test_file_s_token_is_read_each_time(gms, tmp_path):
    file = tmp_path / "token"
    file.write_text("t1\n")
    with opened(gms, token_file=str(file)) as sink:
        assert sink.emit([TAG]).delivered_count == 1
        file.write_text("t2")
        gms.token = "t2"  # noqa: S105 - none
        assert sink.emit([TAG]).delivered_count == 1
        file.unlink()
        with pytest.raises(SinkError, match=r"rest\.token_file"):
            sink.emit([TAG])


def test_token_file_is_read_without_a_byte_order_mark(gms, tmp_path):
    (tmp_path / "token").write_text("t1\n", encoding="utf-8-sig")
    with opened(gms, token_file=str(tmp_path / "token")) as sink:
        assert sink.emit([TAG]).delivered_count == 1


@pytest.mark.parametrize("token", ["t☃1", "geheim\n# renewed every hour"])
def test_token_invalid_in_a_header_is_an_error_without_it(gms, token):
    with opened(gms, token=token) as sink, pytest.raises(SinkError, match="and the token") as caught:
        sink.emit([TAG])
    assert token[:6] not in str(caught.value)
    assert not caught.value.retryable


def test_token_and_oauth_exclude_each_other(gms, provider):
    with pytest.raises(SettingsError, match="token and oauth exclude each other"):
        opened(gms, token="t", oauth={**OAUTH, "token_endpoint": provider.url})  # noqa: S106 - none


def test_endpoint_is_an_address(gms):
    with pytest.raises(SettingsError, match="is not a URL"):
        opened(gms, oauth={**OAUTH, "token_endpoint": "idp"})
