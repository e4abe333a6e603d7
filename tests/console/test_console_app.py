"""Who may ask the console: tokens, hosts, origins, methods; and what its answers forbid."""

from __future__ import annotations

import io
import json
from wsgiref.util import setup_testing_defaults

import pytest

from dh_bridge.console import ConsoleApp

TOKEN = "t0ken"  # noqa: S105 - of this test alone
HOST = "127.0.0.1:5080"


@pytest.fixture
def ask(demo):
    app = ConsoleApp(demo, TOKEN, hosts={HOST})

    def request(path, *, method="GET", query="", token=TOKEN, host=HOST, body=b"", **headers):
        environ = {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body)), "QUERY_STRING": query}
        setup_testing_defaults(environ)
        environ |= {"PATH_INFO": path, "REQUEST_METHOD": method, "HTTP_HOST": host}
        environ |= {f"HTTP_{name.upper()}": value for name, value in headers.items()}
        if token is not None:
            environ["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        answer = {}

        def start_response(status, response_headers):
            answer.update(status=int(status.split()[0]), headers=dict(response_headers))

        answer["body"] = b"".join(app(environ, start_response))
        return answer

    return request


@pytest.mark.parametrize("token", [None, "", "wrong", "t0ke", "ÿ"])
def test_api_needs_the_token(ask, token):
    answer = ask("/api/overview", token=token)
    assert answer["status"] == 401
    assert "token" in json.loads(answer["body"])["error"]


def test_page_itself_needs_no_token(ask):
    answer = ask("/", token=None)
    assert answer["status"] == 200
    assert answer["headers"]["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("path", ["/", "/js/main.js", "/api/overview"])
def test_foreign_host_is_rejected(ask, path):
    assert ask(path, host="evil.example:5080")["status"] == 403


def test_foreign_origin_is_rejected(ask):
    assert ask("/api/overview", origin="http://evil.example")["status"] == 403
    assert ask("/api/overview", origin=f"http://{HOST}")["status"] == 200
    assert ask("/api/overview", sec_fetch_site="cross-site")["status"] == 403
    assert ask("/api/overview", sec_fetch_site="same-origin")["status"] == 200


def test_every_answer_forbids_other_origins_and_inline_scripts(ask):
    for path in ("/", "/js/main.js", "/api/overview", "/api/none", "/none"):
        headers = ask(path)["headers"]
        policy = headers["Content-Security-Policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("path", ["/none", "/../app.py", "/js/../../app.py", "/static/index.html", "/api/none"])
def test_unknown_paths_are_not_found(ask, path):
    assert ask(path)["status"] == 404


def test_methods_are_checked(ask):
    assert ask("/", method="POST")["status"] == 405
    assert ask("/api/overview", method="POST")["status"] == 405
    assert ask("/api/overview", method="DELETE")["headers"]["Allow"] == "GET"
    assert ask("/", method="HEAD")["body"] == b""


def test_unchanged_file_is_not_sent_again(ask):
    etag = ask("/js/main.js")["headers"]["ETag"]
    assert ask("/js/main.js", if_none_match=etag)["status"] == 304


@pytest.mark.parametrize(
    ("path", "query", "error"),
    [
        ("/api/lineage", "", "the parameter urn is missing"),
        ("/api/lineage", "urn=x&direction=sideways", "direction: unknown value 'sideways'"),
        ("/api/lineage", "urn=x&depth=-1", "depth: expected a number"),
        ("/api/runs", "since=yesterday", "since: expected a date such as 2026-11-21, got 'yesterday'"),
        ("/api/runs", "page=xyz", "'xyz' is not a page of this list"),
        ("/api/search", "limit=%C2%B2", "limit: expected a number"),
    ],
)
def test_wrong_parameters_are_named(ask, path, query, error):
    answer = ask(path, query=query)
    assert answer["status"] == 400
    assert error in json.loads(answer["body"])["error"]


@pytest.mark.parametrize("path", ["/api/lineage", "/api/entity", "/api/columns", "/api/run", "/api/check"])
def test_unknown_entity_is_not_found(ask, path):
    assert ask(path, query="urn=urn:li:dataset:(urn:li:dataPlatform:hive,none,PROD)")["status"] == 404
