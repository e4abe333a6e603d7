"""The WSGI application: requests into events, what became of them into answers.

``POST /api/v1/lineage`` takes an event, an array of them, or one a line, and so does ``POST /api/v1/lineage/batch``; the same
below any other prefix, such as DataHub's own ``/openapi/openlineage``. 200: all are in the ledger or its inbox; 207: some cannot be used; 400: none can;
503: send them again later. ``GET /health`` and ``GET /metrics`` tell how it is.
"""

from __future__ import annotations

import hmac
import logging
from datetime import timezone
from http import HTTPStatus
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any

from dh_bridge.errors import EventError, SinkError
from dh_bridge.log_throttle import LogThrottle, kind_of
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.json_size import has_more_values
from dh_bridge.openlineage.read import events_of
from dh_bridge.receiver.answers import Answer, Outcome, plain, to_json
from dh_bridge.receiver.bodies import BodyBudget, RequestError, read_body
from dh_bridge.receiver.dispatch import sender_of
from dh_bridge.receiver.lanes import BYTES_PER_BATCH, EVENTS_PER_BATCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import tzinfo

    from dh_bridge.receiver.ingest_queue import Intake
    from dh_bridge.receiver.metrics import Meters
    from dh_bridge.settings.receiver import ReceiverSettings

    Environ = Mapping[str, Any]
    StartResponse = Callable[[str, list[tuple[str, str]]], Any]

log = logging.getLogger("dh_bridge.receiver")

_ENDINGS = ("/lineage", "/lineage/batch")
_EVENTS = 100_000
"""Events of one request, at most: each is a reason in the answer."""
_EVENT_BYTES = 16 * 1024 * 1024
"""Bytes of one event, at most."""
_DATASETS = 10_000
"""Inputs and outputs of one event, at most: each becomes several proposals."""
_LEDGER_TIMEOUT = 30.0
"""Seconds that a request waits for the ledger before it is answered with 503."""
_REQUEST_SHARE = 8
"""A request may hold as many values as this number of the largest events."""
_LARGE = 1024 * 1024
"""Bytes from which a body is large: such requests are parsed one at a time."""


class Receiver:
    """Takes events over HTTP into an :class:`~dh_bridge.receiver.ingest_queue.Intake`; any WSGI server can run it.

    ``zone`` is that of event times that name none. Once ``stopping`` is set, senders are told to come again.
    """

    again = "5"
    """Seconds after which a sender may try again."""

    def __init__(
        self,
        intake: Intake,
        meters: Meters,
        settings: ReceiverSettings,
        *,
        zone: tzinfo = timezone.utc,
        bury: Callable[[DeadLetter], None] = lambda _: None,
    ) -> None:
        self.stopping = False
        self._intake = intake
        self._meters = meters
        self._settings = settings
        self._zone = zone
        self._bury = bury
        self._lock = Lock()
        self._number = self._inside = 0
        self._budget = BodyBudget(2 * settings.body_bytes, settings.body_bytes)
        self._large = BoundedSemaphore(max(1, settings.threads // 2))
        self._large_turn = Lock()
        self._values = settings.event_values
        #: what is logged of requests that bring nothing
        self.refusals = LogThrottle(log, logging.WARNING)

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return bool(self._inside)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request (WSGI)."""
        with self._lock:
            self._inside += 1
            self._number += 1
            number = self._number
        try:
            answer = self._answered(environ, number)
        finally:
            with self._lock:
                self._inside -= 1
        text = isinstance(answer.body, str)
        body = answer.body.encode() if text else to_json(answer.body)
        kind = "text/plain; version=0.0.4; charset=utf-8" if text else "application/json"
        status = answer.status
        start_response(
            f"{status.value} {status.phrase}",
            [("Content-Type", kind), ("Content-Length", str(len(body))), *answer.headers],
        )
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]

    def _answered(self, environ: Environ, number: int) -> Answer:
        path = str(environ.get("PATH_INFO", "")).rstrip("/")
        method = environ["REQUEST_METHOD"]
        if path in ("/health", "/metrics"):
            return self._told(path) if method in ("GET", "HEAD") else _not_by(method, "GET, HEAD")
        try:
            answer = self._posted(environ, path, f"request {number}")
        except RequestError as error:
            self.refusals.log(
                kind_of(error.text), f"request {number} is refused with {error.status.value}: {error.text}"
            )
            answer = Answer(error.status, {"error": plain(error.text)}, error.headers)
        except SinkError as error:
            answer = Answer(
                HTTPStatus.SERVICE_UNAVAILABLE, {"error": plain(str(error))}, (("Retry-After", self.again),)
            )
        except Exception:
            log.exception("request %d: a mistake of dh-bridge, please report it", number)
            answer = Answer(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "a mistake of dh-bridge, see its log"})
        self._meters.answered(answer.status.value)
        return answer

    def _told(self, path: str) -> Answer:
        """Tell how it is: who ends is not there any more, but a full ledger is no reason to start it anew."""
        if path == "/metrics":
            return Answer(HTTPStatus.OK, self._meters.metrics())
        waits, refuses, stall = self._meters.waits(), self._intake.refuses, self._meters.stall()
        ends = self.stopping or not self._intake.alive
        status = "refusing" if refuses is not None else "ok" if stall is None else "stalled"
        status, why = "stopping" if ends else status, refuses or stall
        said = {"status": status, "waiting": waits.number, "waiting_seconds": waits.seconds}
        if status in ("refusing", "stalled"):
            said["why"] = why
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE if ends else HTTPStatus.OK, said)

    def _posted(self, environ: Environ, path: str, place: str) -> Answer:
        if not path.endswith(_ENDINGS):
            return Answer(HTTPStatus.NOT_FOUND, {"error": "nothing is here", "now": "POST /api/v1/lineage"})
        if environ["REQUEST_METHOD"] != "POST":
            return _not_by(environ["REQUEST_METHOD"], "POST")
        return self._brought(environ, place)

    def unread(self, code: int, why: str) -> bytes:
        """Count a request that the web server could not read, and return what it is told."""
        self._meters.answered(code)
        return to_json({"error": plain(why)})

    def _brought(self, environ: Environ, place: str) -> Answer:
        """Take the events of a request; answer with what became of them."""
        self._look_at_key(environ)
        if self.stopping:
            raise SinkError("it is being stopped", now="send it again", retryable=True)
        with self._budget.reserving(self._sender(environ), self.again) as grow:
            body = read_body(environ, self._settings.body_bytes, grow).strip()
            if len(body) <= _LARGE:
                return self._taken(body, place)
            if not self._large.acquire(blocking=False):
                raise _busy(self.again)
            try:
                return self._taken(body, place, large=True)
            finally:
                self._large.release()

    def _taken(self, body: bytes, place: str, *, large: bool = False) -> Answer:
        """Parse and fold a part of the events after another, so that few of their objects are in memory at a time."""
        limit = _REQUEST_SHARE * self._values
        if has_more_values(body, limit):
            raise _too_many_values("the request", limit)
        events = events_of(body, place, self._zone, most=_EVENTS, check=self._check)
        outcome = Outcome()
        while items := self._parsed(events, large=large):
            taken = iter(self._intake.take([item for item in items if isinstance(item, Event)], _LEDGER_TIMEOUT))
            outcome.letters += [item for item in items if isinstance(item, DeadLetter)]
            for item in items:
                outcome.add(item.reason if isinstance(item, DeadLetter) else next(taken))
        for letter in outcome.letters:  # not before: a sender that has to send all of it again sends them again
            self._meters.add(dead_letters=1)
            self._bury(letter)
        return outcome.answer()

    def _parsed(self, events: Iterator[Event | DeadLetter], *, large: bool) -> list[Event | DeadLetter]:
        """Return the next events; those of large requests are parsed in turn, as each would slow all others down."""
        if large and not self._large_turn.acquire(timeout=_LEDGER_TIMEOUT):
            raise _busy(self.again)
        try:
            items, size = [], 0
            for item in events:
                items.append(_bounded(item))
                size += len(item.raw)
                if len(items) >= EVENTS_PER_BATCH or size >= BYTES_PER_BATCH:
                    break
        except EventError as error:
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error)) from None
        finally:
            if large:
                self._large_turn.release()
        return items

    def _check(self, raw: bytes) -> None:
        """Refuse a request with an event that would take too much memory or time."""
        if len(raw) > _EVENT_BYTES:
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"an event has more than {_EVENT_BYTES:,} bytes")
        if has_more_values(raw, self._values):
            raise _too_many_values("an event", self._values)

    def _sender(self, environ: Environ) -> str:
        address, forwarded = environ.get("REMOTE_ADDR", ""), environ.get("HTTP_X_FORWARDED_FOR", "")
        return sender_of(str(address), str(forwarded), self._settings.trusted_proxy)

    def _look_at_key(self, environ: Environ) -> None:
        token = self._settings.token
        if token is None:
            return
        shown = str(environ.get("HTTP_AUTHORIZATION", ""))
        kind, _, key = shown.partition(" ")
        wanted = token.get_secret_value().encode()
        if kind.lower() != "bearer" or not hmac.compare_digest(key.strip().encode("latin-1", "replace"), wanted):
            raise RequestError(
                HTTPStatus.UNAUTHORIZED, "no key, or a wrong one (receiver.token)", ("WWW-Authenticate", "Bearer")
            )


def _bounded(item: Event | DeadLetter) -> Event | DeadLetter:
    """Return an event, or a dead letter where it names too many datasets."""
    if isinstance(item, DeadLetter) or len(item.inputs) + len(item.outputs) <= _DATASETS:
        return item
    return DeadLetter(item.place, f"more than {_DATASETS:,} inputs and outputs", item.raw)


def _busy(again: str) -> RequestError:
    return RequestError(
        HTTPStatus.SERVICE_UNAVAILABLE, "too many large requests at a time: send it again later", ("Retry-After", again)
    )


def _too_many_values(what: str, limit: int) -> RequestError:
    return RequestError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"{what} has more than {limit:,} JSON values (receiver.event_values)"
    )


def _not_by(method: str, allowed: str) -> Answer:
    return Answer(HTTPStatus.METHOD_NOT_ALLOWED, {"error": f"not by {method}"}, (("Allow", allowed),))
