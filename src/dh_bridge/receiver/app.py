"""The WSGI application: reads events from requests, and answers with their results.

``POST /api/v1/lineage`` takes an event, an array of them, or one per line, and so does ``POST /api/v1/lineage/batch``; the same
below any other prefix, such as DataHub's own ``/openapi/openlineage``. 200: all are in the event log; 207: some are
invalid; 400: all are invalid; 503: send them again later. ``GET /health`` and ``GET /metrics`` report the state.
"""

from __future__ import annotations

import hmac
import logging
from datetime import timezone
from http import HTTPStatus
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any

from dh_bridge.errors import INTERNAL_ERROR, EventError, SinkError
from dh_bridge.log_throttle import LogThrottle, kind_of
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.json_size import has_more_values
from dh_bridge.openlineage.read import events_of
from dh_bridge.receiver.answers import ReceiverResponse, RequestOutcome, encodable_text, to_json
from dh_bridge.receiver.bodies import BodyBudget, RequestError, read_body
from dh_bridge.receiver.dispatch import sender_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import tzinfo

    from dh_bridge.console import ConsoleApp
    from dh_bridge.receiver.accept_queue import AcceptQueue
    from dh_bridge.receiver.metrics import ReceiverMetrics
    from dh_bridge.settings.receiver import ReceiverSettings

    Environ = Mapping[str, Any]
    StartResponse = Callable[[str, list[tuple[str, str]]], Any]

log = logging.getLogger("dh_bridge.receiver")

_CONSOLE_PATH = "/console"
_PATH_SUFFIXES = ("/lineage", "/lineage/batch")
_MAX_EVENTS = 100_000
"""Events of one request, at most: each is a reason in the answer."""
_MAX_EVENT_BYTES = 16 * 1024 * 1024
"""Bytes of one event, at most."""
MAX_EVENT_VALUES = 300_000
"""JSON values of one event, at most; keys count, too."""
_MAX_DATASETS = 10_000
"""Inputs and outputs of one event, at most: each becomes several proposals."""
_ACCEPT_TIMEOUT = 30.0
"""Seconds that a request waits for the event log before it is answered with 503."""
_EVENTS_PER_PART, _BYTES_PER_PART = 500, 1024 * 1024
"""Events of a request, and their bytes, that are parsed and accepted at a time."""
_REQUEST_VALUES_FACTOR = 8
"""A request may hold as many values as this number of the largest events."""
_LARGE_BODY_BYTES = 1024 * 1024
"""Bytes from which a body is large: such requests are parsed one at a time."""


class Receiver:
    """Passes events of HTTP requests to an :class:`~dh_bridge.receiver.accept_queue.AcceptQueue`.

    Any WSGI server can run it.

    ``zone`` is that of event times without one. Once ``is_stopping`` is set, requests get 503.
    """

    retry_after = "5"
    """Seconds after which a sender may try again."""

    def __init__(
        self,
        queue: AcceptQueue,
        metrics: ReceiverMetrics,
        settings: ReceiverSettings,
        *,
        zone: tzinfo = timezone.utc,
        on_dead_letter: Callable[[DeadLetter], None] = lambda _: None,
    ) -> None:
        self.is_stopping = False
        self._queue = queue
        self._metrics = metrics
        self._settings = settings
        self._zone = zone
        self._on_dead_letter = on_dead_letter
        self._lock = Lock()
        self._request_count = self._active_requests = 0
        self._budget = BodyBudget(2 * settings.body_bytes, settings.body_bytes)
        self._large_requests = BoundedSemaphore(max(1, settings.threads // 2))
        self._large_parse_lock = Lock()
        #: answers requests below /console/; None if there is no console
        self.console: ConsoleApp | None = None
        #: log of requests without usable events
        self.refusals = LogThrottle(log, logging.WARNING)

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered."""
        return bool(self._active_requests)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request (WSGI)."""
        path = str(environ.get("PATH_INFO", ""))
        if self.console is not None and (path == _CONSOLE_PATH or path.startswith(f"{_CONSOLE_PATH}/")):
            return _answer_console(self.console, environ, start_response, path.removeprefix(_CONSOLE_PATH))
        with self._lock:
            self._active_requests += 1
            self._request_count += 1
            number = self._request_count
        try:
            response = self._respond(environ, number)
        finally:
            with self._lock:
                self._active_requests -= 1
        is_text = isinstance(response.body, str)
        body = response.body.encode() if is_text else to_json(response.body)
        content_type = "text/plain; version=0.0.4; charset=utf-8" if is_text else "application/json"
        status = response.status
        start_response(
            f"{status.value} {status.phrase}",
            [("Content-Type", content_type), ("Content-Length", str(len(body))), *response.headers],
        )
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def _respond(self, environ: Environ, number: int) -> ReceiverResponse:
        path = str(environ.get("PATH_INFO", "")).rstrip("/")
        method = environ["REQUEST_METHOD"]
        if path in ("/health", "/metrics"):
            return (
                self._status_response(path) if method in ("GET", "HEAD") else _method_not_allowed(method, "GET, HEAD")
            )
        try:
            response = self._respond_to_post(environ, path, f"request {number}")
        except RequestError as error:
            self.refusals.log(
                kind_of(error.text), f"request {number} rejected with status {error.status.value}: {error.text}"
            )
            response = ReceiverResponse(error.status, {"error": encodable_text(error.text)}, error.headers)
        except SinkError as error:
            response = ReceiverResponse(
                HTTPStatus.SERVICE_UNAVAILABLE,
                {"error": encodable_text(str(error))},
                (("Retry-After", self.retry_after),),
            )
        except Exception:
            log.exception("request %d: %s", number, INTERNAL_ERROR)
            response = ReceiverResponse(
                HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "internal error: see the log of dh-bridge"}
            )
        self._metrics.count_request(response.status.value)
        return response

    def _status_response(self, path: str) -> ReceiverResponse:
        """Report the health: 503 while stopping, but not for a full log, which a restart would not fix."""
        if path == "/metrics":
            return ReceiverResponse(HTTPStatus.OK, self._metrics.to_prometheus())
        backlog, refusal, stall = (
            self._metrics.read_backlog(),
            self._queue.refusal_reason,
            self._metrics.stall_reason(),
        )
        is_ending = self.is_stopping or not self._queue.is_alive
        status = "refusing" if refusal is not None else "ok" if stall is None else "stalled"
        status, reason = "stopping" if is_ending else status, refusal or stall
        content = {"status": status, "waiting": backlog.number, "waiting_seconds": backlog.seconds}
        if status in ("refusing", "stalled"):
            content["why"] = reason
        return ReceiverResponse(HTTPStatus.SERVICE_UNAVAILABLE if is_ending else HTTPStatus.OK, content)

    def _respond_to_post(self, environ: Environ, path: str, location: str) -> ReceiverResponse:
        if not path.endswith(_PATH_SUFFIXES):
            return ReceiverResponse(HTTPStatus.NOT_FOUND, {"error": "not found", "hint": "POST /api/v1/lineage"})
        if (method := environ["REQUEST_METHOD"]) != "POST":
            return _method_not_allowed(method, "POST")
        return self._accept_request(environ, location)

    def unreadable_response(self, code: int, reason: str) -> bytes:
        """Count a request that the web server could not read, and return its answer."""
        self._metrics.count_request(code)
        return to_json({"error": encodable_text(reason)})

    def _accept_request(self, environ: Environ, location: str) -> ReceiverResponse:
        """Take the events of a request; answer with what became of them."""
        self._check_token(environ)
        if self.is_stopping:
            raise SinkError("the receiver is stopping", remedy="send the request again", retryable=True)
        with self._budget.reservation(self._sender(environ), self.retry_after) as grow:
            body = read_body(environ, self._settings.body_bytes, grow).strip()
            if len(body) <= _LARGE_BODY_BYTES:
                return self._accept_body(body, location)
            if not self._large_requests.acquire(blocking=False):
                raise _overload_error(self.retry_after)
            try:
                return self._accept_body(body, location, is_large=True)
            finally:
                self._large_requests.release()

    def _accept_body(self, body: bytes, location: str, *, is_large: bool = False) -> ReceiverResponse:
        """Parse and accept the events in parts, so that few of their objects are in memory at a time."""
        limit = _REQUEST_VALUES_FACTOR * MAX_EVENT_VALUES
        if has_more_values(body, limit):
            raise _too_many_values_error("the request", limit)
        events = events_of(body, location, self._zone, max_events=_MAX_EVENTS, check=self._check)
        outcome = RequestOutcome()
        while items := self._next_events(events, is_large=is_large):
            reasons = iter(self._queue.take([item for item in items if isinstance(item, Event)], _ACCEPT_TIMEOUT))
            for item in items:
                reason = item.reason if isinstance(item, DeadLetter) else next(reasons)
                outcome.add(reason)
                if reason is not None:
                    outcome.dead_letters.append(DeadLetter(item.location, reason, item.raw))
        for letter in outcome.dead_letters:  # not before: a sender that has to send all of it again sends them again
            self._metrics.add(dead_letters=1)
            self._on_dead_letter(letter)
        return outcome.to_response()

    def _next_events(self, events: Iterator[Event | DeadLetter], *, is_large: bool) -> list[Event | DeadLetter]:
        """Return the next events; those of large requests are parsed one after the other, because each would slow all others down."""
        if is_large and not self._large_parse_lock.acquire(timeout=_ACCEPT_TIMEOUT):
            raise _overload_error(self.retry_after)
        try:
            items, size = [], 0
            for item in events:
                items.append(_limit_datasets(item))
                size += len(item.raw)
                if len(items) >= _EVENTS_PER_PART or size >= _BYTES_PER_PART:
                    break
        except EventError as error:
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error)) from None
        finally:
            if is_large:
                self._large_parse_lock.release()
        return items

    def _check(self, raw: bytes) -> None:
        """Refuse a request with an event that would take too much memory or time."""
        if len(raw) > _MAX_EVENT_BYTES:
            raise RequestError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"an event has more than {_MAX_EVENT_BYTES:,} bytes"
            )
        if has_more_values(raw, MAX_EVENT_VALUES):
            raise _too_many_values_error("an event", MAX_EVENT_VALUES)

    def _sender(self, environ: Environ) -> str:
        address, forwarded = environ.get("REMOTE_ADDR", ""), environ.get("HTTP_X_FORWARDED_FOR", "")
        return sender_of(str(address), str(forwarded), self._settings.trusted_proxy)

    def _check_token(self, environ: Environ) -> None:
        token = self._settings.token
        if token is None:
            return
        header = str(environ.get("HTTP_AUTHORIZATION", ""))
        kind, _, key = header.partition(" ")
        expected = token.get_secret_value().encode()
        if kind.lower() != "bearer" or not hmac.compare_digest(key.strip().encode("latin-1", "replace"), expected):
            raise RequestError(
                HTTPStatus.UNAUTHORIZED,
                "the token is missing or wrong (receiver.token): send it as Authorization: Bearer TOKEN",
                ("WWW-Authenticate", "Bearer"),
            )


def _limit_datasets(item: Event | DeadLetter) -> Event | DeadLetter:
    """Return an event, or a dead letter if it has too many datasets."""
    if isinstance(item, DeadLetter) or len(item.inputs) + len(item.outputs) <= _MAX_DATASETS:
        return item
    return DeadLetter(item.location, f"the event has more than {_MAX_DATASETS:,} inputs and outputs", item.raw)


def _overload_error(retry_after: str) -> RequestError:
    return RequestError(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "too many large requests at once: send this request again later",
        ("Retry-After", retry_after),
    )


def _too_many_values_error(subject: str, limit: int) -> RequestError:
    return RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{subject} has more than {limit:,} JSON values")


def _answer_console(console: ConsoleApp, environ: Environ, start_response: StartResponse, path: str) -> Iterable[bytes]:
    """Answer a request below /console/; the files of the page are relative to it, so it needs the slash."""
    if not path:
        status = HTTPStatus.PERMANENT_REDIRECT
        start_response(f"{status.value} {status.phrase}", [("Location", "console/"), ("Content-Length", "0")])
        return []
    return console({**environ, "PATH_INFO": path}, start_response)


def _method_not_allowed(method: str, allowed: str) -> ReceiverResponse:
    return ReceiverResponse(
        HTTPStatus.METHOD_NOT_ALLOWED, {"error": f"method {method} not allowed: use {allowed}"}, (("Allow", allowed),)
    )
