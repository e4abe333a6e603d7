"""The WSGI application of the console: guards requests, serves the page and its read API.

Requests to ``api/`` need the token, as ``Authorization: Bearer TOKEN``. Browsers do not add this header by themselves, so no other
page can use the API. The page takes the token from the fragment of its address, which no browser sends. Requests with a foreign
``Host`` or ``Origin`` are rejected, which also stops DNS rebinding. The answers forbid the page to load anything from elsewhere.
"""

from __future__ import annotations

import hmac
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import msgspec

from dh_bridge.console.assets import find_asset
from dh_bridge.console.parameters import RequestParameters, UnknownEntityError
from dh_bridge.console.routes import ROUTES
from dh_bridge.errors import INTERNAL_ERROR, BridgeError, SinkError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from dh_bridge.console.source import ConsoleSource

    Environ = Mapping[str, Any]
    StartResponse = Callable[[str, list[tuple[str, str]]], Any]

log = logging.getLogger("dh_bridge.console")

_API_PREFIX = "api/"
_MAX_BODY_BYTES = 8 * 1024 * 1024
"""Bytes of a request's body, at most: an event that is pasted."""
_SECURITY_HEADERS = (
    (
        "Content-Security-Policy",
        "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
)
_encode = msgspec.json.Encoder().encode


class ConsoleResponse(NamedTuple):
    """An answer: its status, body, content type and further headers."""

    status: HTTPStatus
    body: bytes
    content_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = (("Cache-Control", "no-store"),)


class ConsoleApp:
    """Answers the requests of the page.

    Args:
        source: The catalogue or ledger that is shown.
        token: The token that each request to ``api/`` needs.
        hosts: The values of ``Host`` that are allowed; None allows all, for a server that other names lead to.
    """

    def __init__(self, source: ConsoleSource, token: str, *, hosts: Collection[str] | None) -> None:
        self._source = source
        self._token = token.encode()
        self._hosts = hosts

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request (WSGI)."""
        response = self.respond(environ)
        headers = [("Content-Type", response.content_type), ("Content-Length", str(len(response.body)))]
        start_response(
            f"{response.status.value} {response.status.phrase}", [*headers, *response.headers, *_SECURITY_HEADERS]
        )
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [response.body]

    def respond(self, environ: Environ) -> ConsoleResponse:
        """Return the answer to a request; ``PATH_INFO`` is relative to the page."""
        host = str(environ.get("HTTP_HOST", ""))
        if self._hosts is not None and host not in self._hosts:
            return _error(HTTPStatus.FORBIDDEN, f"unknown host {host!r} (use the address that the command printed)")
        path = str(environ.get("PATH_INFO", "")).lstrip("/")
        if path.startswith(_API_PREFIX):
            return self._respond_to_api(environ, path.removeprefix(_API_PREFIX), host)
        if environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            return _error(HTTPStatus.METHOD_NOT_ALLOWED, "method not allowed (use GET)", (("Allow", "GET, HEAD"),))
        asset = find_asset(path)
        if asset is None:
            return _error(HTTPStatus.NOT_FOUND, "not found")
        headers = (("Cache-Control", "no-cache"), ("ETag", asset.etag))
        if environ.get("HTTP_IF_NONE_MATCH") == asset.etag:
            return ConsoleResponse(HTTPStatus.NOT_MODIFIED, b"", asset.content_type, headers)
        return ConsoleResponse(HTTPStatus.OK, asset.content, asset.content_type, headers)

    def _respond_to_api(self, environ: Environ, name: str, host: str) -> ConsoleResponse:
        route = ROUTES.get(name)
        refusal = self._find_refusal(environ, host)
        if refusal is not None or route is None:
            return refusal or _error(HTTPStatus.NOT_FOUND, f"api/{name} does not exist (see ARCHITECTURE.md)")
        if environ["REQUEST_METHOD"] != route.method:
            headers = (("Allow", route.method),)
            return _error(HTTPStatus.METHOD_NOT_ALLOWED, f"method not allowed (use {route.method})", headers)
        try:
            body = _read_body(environ) if route.method == "POST" else b""
            parameters = RequestParameters(dict(parse_qsl(str(environ.get("QUERY_STRING", "")))), body)
            return ConsoleResponse(HTTPStatus.OK, _encode(route.answer(self._source, parameters)))
        except (ValueError, BridgeError) as error:
            return _error(_status_of(error), str(error))
        except Exception:
            log.exception("api/%s: %s", name, INTERNAL_ERROR)
            return _error(HTTPStatus.INTERNAL_SERVER_ERROR, "internal error: see the log of dh-bridge")

    def _find_refusal(self, environ: Environ, host: str) -> ConsoleResponse | None:
        """Return the answer to a request that may not use the API; None if it may."""
        origin = environ.get("HTTP_ORIGIN")
        if origin is not None and urlsplit(str(origin)).netloc != host:
            return _error(HTTPStatus.FORBIDDEN, f"requests of the origin {origin} are not allowed")
        if str(environ.get("HTTP_SEC_FETCH_SITE", "same-origin")) not in ("same-origin", "none"):
            return _error(HTTPStatus.FORBIDDEN, "requests of other sites are not allowed")
        scheme, _, token = str(environ.get("HTTP_AUTHORIZATION", "")).partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(token.strip().encode("latin-1"), self._token):
            return _error(
                HTTPStatus.UNAUTHORIZED,
                "the token is missing or wrong (open the address that the command printed, with its token)",
                (("WWW-Authenticate", "Bearer"),),
            )
        return None


def _status_of(error: ValueError | BridgeError) -> HTTPStatus:
    if isinstance(error, UnknownEntityError):
        return HTTPStatus.NOT_FOUND
    return HTTPStatus.SERVICE_UNAVAILABLE if isinstance(error, SinkError) else HTTPStatus.BAD_REQUEST


def _read_body(environ: Environ) -> bytes:
    length = str(environ.get("CONTENT_LENGTH") or "0")
    if not length.isdecimal() or int(length) > _MAX_BODY_BYTES:
        raise ValueError(f"the body is larger than {_MAX_BODY_BYTES:,} bytes (use dh-bridge explain for large files)")
    body: bytes = environ["wsgi.input"].read(int(length))
    return body


def _error(status: HTTPStatus, text: str, headers: tuple[tuple[str, str], ...] = ()) -> ConsoleResponse:
    encodable_text = text.encode("utf-8", "replace").decode()
    return ConsoleResponse(
        status, _encode({"error": encodable_text}), headers=(*headers, ("Cache-Control", "no-store"))
    )
