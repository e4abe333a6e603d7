"""The WSGI application: requests into events, what became of them into answers.

``POST /api/v1/lineage`` takes an event, an array of them, or one a line, and so does ``POST /api/v1/lineage/batch``; the same
below any other prefix, such as DataHub's own ``/openapi/openlineage``. 200: all are in the ledger; 207: some cannot be used; 400: none can;
503: send them again later. ``GET /health`` and ``GET /metrics`` tell how it is.
"""

from __future__ import annotations

import hmac
import logging
import zlib
from datetime import timezone
from http import HTTPStatus
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from dh_bridge.errors import EventError, SinkError
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.openlineage.read import events_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import tzinfo

    from dh_bridge.receiver.intake import Intake
    from dh_bridge.receiver.meters import Meters
    from dh_bridge.settings.receiver import ReceiverSettings

    Environ = Mapping[str, Any]
    StartResponse = Callable[[str, list[tuple[str, str]]], Any]

log = logging.getLogger("dh_bridge.receiver")

_ENDINGS = ("/lineage", "/lineage/batch")
_ZIPPED = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""Encoding of a body -> what zlib calls it."""
_PIECE, _PARTS = 16 * 1024, 10_000
"""Bytes that are unzipped at once, so that what stands behind a part is not copied whole; zipped parts of a body, at most."""
_EVENTS = 100_000
"""Events of one request, at most: of nothing but ``{}`` a body may hold millions, and each is a reason in the answer."""
_LEDGER_TIMEOUT = 30.0
"""Seconds that a request waits for the ledger before it is answered with 503."""
_OBJECT = 16
"""Bytes of an object in the largest body, at least on average: of ``{"inputs": [{},{}…`` each takes 370 bytes of memory."""


class Answer(NamedTuple):
    """A status, a body that is JSON or text, and headers beside its type."""

    status: HTTPStatus
    body: Any
    headers: tuple[tuple[str, str], ...] = ()


class _RefusedError(Exception):
    """A request that brings nothing; its argument is the answer."""

    def __init__(self, status: HTTPStatus, why: str, *headers: tuple[str, str]) -> None:
        super().__init__(why)
        self.answer = Answer(status, {"error": _plain(why)}, headers)


class Receiver:
    """Takes events over HTTP into an :class:`~dh_bridge.receiver.intake.Intake`; any WSGI server can run it.

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
        body = answer.body.encode() if text else _json(answer.body)
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
        except _RefusedError as refused:
            answer = refused.answer
        except SinkError as error:
            answer = Answer(
                HTTPStatus.SERVICE_UNAVAILABLE, {"error": _plain(str(error))}, (("Retry-After", self.again),)
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
        return _json({"error": _plain(why)})

    def _brought(self, environ: Environ, place: str) -> Answer:
        """Take the events of a request; answer with what became of them."""
        self._look_at_key(environ)
        if self.stopping:
            raise SinkError("it is being stopped", now="send it again", retryable=True)
        body = self._body(environ).strip()
        objects = self._settings.body_bytes // _OBJECT
        if body.count(b"{") > objects:
            raise _RefusedError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                f"more than {objects:,} JSON objects (receiver.body_bytes / {_OBJECT})",
            )
        try:
            found = list(events_of(body, place, self._zone, most=_EVENTS))
        except EventError as error:
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error)) from None
        events = [one for one in found if isinstance(one, Event)]
        taken = iter(self._intake.take(events, _LEDGER_TIMEOUT) if events else ())
        for letter in found:  # not before: who is told to send it all again brings them again
            if isinstance(letter, DeadLetter):
                self._meters.add(dead_letters=1)
                self._bury(letter)
        reasons = [one.reason if isinstance(one, DeadLetter) else next(taken) for one in found]
        failed = [{"index": at, "error": _plain(why)} for at, why in enumerate(reasons) if why is not None]
        said = {"received": len(found), "successful": len(found) - len(failed), "failed": failed}
        if not failed:
            return Answer(HTTPStatus.OK, said)
        return Answer(HTTPStatus.MULTI_STATUS if len(failed) < len(found) else HTTPStatus.BAD_REQUEST, said)

    def _look_at_key(self, environ: Environ) -> None:
        token = self._settings.token
        if token is None:
            return
        shown = str(environ.get("HTTP_AUTHORIZATION", ""))
        kind, _, key = shown.partition(" ")
        wanted = token.get_secret_value().encode()
        if kind.lower() != "bearer" or not hmac.compare_digest(key.strip().encode("latin-1", "replace"), wanted):
            raise _RefusedError(
                HTTPStatus.UNAUTHORIZED, "no key, or a wrong one (receiver.token)", ("WWW-Authenticate", "Bearer")
            )

    def _body(self, environ: Environ) -> bytes:
        """Return the body, unzipped."""
        most = self._settings.body_bytes
        if "CONTENT_LENGTH" not in environ:  # HTTP/1.0 knows no chunks
            raise _RefusedError(HTTPStatus.LENGTH_REQUIRED, "there is no body: send its Content-Length")
        length = int(environ.get("CONTENT_LENGTH") or 0)
        if length > most:
            raise _too_large(most)
        raw: bytes = environ["wsgi.input"].read(length)
        encoding = str(environ.get("HTTP_CONTENT_ENCODING", "")).strip().lower()
        if encoding in ("", "identity"):
            return raw
        if encoding not in _ZIPPED:
            raise _RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"no encoding of ours: {encoding!r} (gzip, deflate)")
        return _unzipped(raw, encoding, most)


def _unzipped(raw: bytes, encoding: str, most: int) -> bytes:
    """Return what is in ``raw``, which may be several zipped parts, as gzip's own files may; a bomb stops at ``most`` bytes."""
    body, rest, at = bytearray(), memoryview(raw), 0
    for _ in range(_PARTS):
        if at >= len(rest):
            return bytes(body)
        part = zlib.decompressobj(_ZIPPED[encoding])
        while not part.eof:
            piece = rest[at : at + _PIECE]
            if not piece:
                raise _RefusedError(
                    HTTPStatus.BAD_REQUEST, f"the body breaks off: the end of its {encoding} is missing"
                )
            try:
                body += part.decompress(piece, most + 1 - len(body))
            except zlib.error as error:
                raise _RefusedError(HTTPStatus.BAD_REQUEST, f"the body is no {encoding}: {error}") from None
            if len(body) > most:
                raise _too_large(most)
            at += len(piece) - len(part.unused_data)
    raise _RefusedError(HTTPStatus.BAD_REQUEST, f"the body has more than {_PARTS:,} parts of {encoding}")


def _too_large(most: int) -> _RefusedError:
    return _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"more than {most:,} bytes (receiver.body_bytes)")


def _json(body: Any) -> bytes:
    return orjson.dumps(body, option=orjson.OPT_APPEND_NEWLINE)


def _plain(text: str) -> str:
    """Return a text that JSON can hold: an event may have quoted half a character."""
    return text.encode("utf-8", "replace").decode()


def _not_by(method: str, allowed: str) -> Answer:
    return Answer(HTTPStatus.METHOD_NOT_ALLOWED, {"error": f"not by {method}"}, (("Allow", allowed),))
