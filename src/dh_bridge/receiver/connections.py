"""Waitress' connections, with deadlines: every answer is JSON and counted, and reaches a sender that is still sending.

Only :mod:`dh_bridge.receiver.web` imports this, as waitress is an extra.
"""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.task import ErrorTask
from waitress.utilities import BadRequest, Error, RequestEntityTooLarge

if TYPE_CHECKING:
    from dh_bridge.log_throttle import LogThrottle
    from dh_bridge.receiver.app import Receiver

_LINGER_SECONDS = 5.0
"""Seconds in which the rest of a body is thrown away: closed at once, the connection would be reset, and the answer lost."""
HEADER_SECONDS = 10.0
"""Seconds from the opening of a connection, or the first byte of a later request, to the end of its headers."""
BODY_SECONDS = 30.0
"""Seconds that a body may take, and one more for each BODY_BYTES_PER_SECOND bytes of it that came."""
BODY_BYTES_PER_SECOND = 500_000
RESPONSE_SECONDS = 30.0
"""Seconds that a client may take to read an answer."""
IDLE_SECONDS = 120.0
"""Seconds that a connection may be silent between two requests."""
_MAX_CHUNK_LINE_BYTES, _MAX_TRAILER_BYTES = 4 * 1024, 64 * 1024
"""Bytes of the line before a chunk, and behind the last chunk, at most."""


class _NoRoomError(Error):  # type: ignore[misc]  # waitress has no types
    """A request without room: on the disk that buffers large bodies, or among the connections."""

    code = 503
    reason = "Service Unavailable"


class _TooSlowError(Error):  # type: ignore[misc]
    """A request that did not come within its deadline."""

    code = 408
    reason = "Request Timeout"


class _Parser(HTTPRequestParser):  # type: ignore[misc]
    """Reads one request."""

    def __init__(self, refusals: LogThrottle, adjustments: Any) -> None:
        super().__init__(adjustments)
        self._refusals = refusals

    def received(self, data: bytes) -> int:
        """Take some of its bytes; return how many."""
        try:
            consumed: int = super().received(data)
        except OSError as error:  # no temporary folder, or a full one: no request could be answered
            reason = f"cannot store the body of the request: {error.strerror or error}"
            self._refusals.log(
                reason, f"request rejected with status 503: {reason}. Check the folder for temporary files (TMPDIR)"
            )
            self.error, self.completed = _NoRoomError(reason), True
            return len(data)
        except ValueError:  # int() refuses a length of thousands of digits
            self.error, self.completed = BadRequest("a header contains an invalid number"), True
            return len(data)
        if isinstance(self.error, RequestEntityTooLarge):
            self.error.body = (
                f"the body has more than {self.adj.max_request_body_size - 1:,} bytes (receiver.body_bytes)"
            )
        if self.chunked and not self.completed and self.body_rcv is not None:
            chunks = self.body_rcv
            if len(chunks.control_line) > _MAX_CHUNK_LINE_BYTES or len(chunks.trailer) > _MAX_TRAILER_BYTES:
                self.error, self.completed = BadRequest("the header or trailer of a chunk is too long"), True
        return consumed

    def close(self) -> None:
        """Close its body."""
        with suppress(OSError):  # closing writes the rest of a body to the full disk once more
            super().close()


class _ErrorResponse(ErrorTask):  # type: ignore[misc]
    """The answer to a request that cannot be read."""

    def execute(self) -> None:
        """Answer it."""
        error = self.request.error
        body = self.channel.receiver.unreadable_response(error.code, error.body)
        self.status = f"{error.code} {error.reason}"
        self.content_length = len(body)
        self.response_headers.append(("Content-Type", "application/json"))
        if isinstance(error, _NoRoomError):
            self.response_headers.append(("Retry-After", self.channel.receiver.retry_after))
        self.set_close_on_finish()
        self.channel.must_linger = True
        self.write(body)


class ClientConnection(HTTPChannel):  # type: ignore[misc]
    """One connection of a sender to ``receiver``.

    ``spare`` connections exceed the limit: they only get responses to health requests.
    """

    error_task_class = _ErrorResponse
    request: Any
    will_close: bool
    close_when_flushed: bool

    def __init__(self, receiver: Receiver, *server: Any, spare: bool = False, **options: Any) -> None:
        self.receiver = receiver
        self.parser_class = partial(_Parser, receiver.refusals)
        self.spare = spare
        self.request_count = 0  # requests that came
        self.last_active = time.monotonic()  # of the opening, or of the last request
        self.must_linger = False  # whether the answer is to be waited for before the connection is closed
        self._linger_until = 0.0  # answered, and read until then
        self._deadline = self.last_active + HEADER_SECONDS
        self._body_since: float | None = None
        self._response_since: float | None = None
        super().__init__(*server, **options)

    @property
    def is_busy(self) -> bool:
        """Whether a request is being answered."""
        return bool(self.requests or self.total_outbufs_len)

    @property
    def path(self) -> str:
        """The path of the next request; empty for one that cannot be read."""
        return str(getattr(self.requests[0], "path", "")).rstrip("/") if self.requests else ""

    @property
    def forwarded_for(self) -> str:
        """The header in which a proxy names the client of the next request."""
        return str(self.requests[0].headers.get("X_FORWARDED_FOR", "")) if self.requests else ""

    def refuse(self, text: str) -> None:
        """Answer the next request with 503."""
        if self.requests and self.requests[0].error is None:
            self.requests[0].error = _NoRoomError(text)

    def check_deadlines(self, now: float) -> None:
        """End a request that did not come in time, and close a connection that is silent (called twice a second)."""
        if self.total_outbufs_len:
            self._response_since = self._response_since or now
            self.will_close = self.will_close or now - self._response_since > RESPONSE_SECONDS
            return
        self._response_since = None
        if self.requests or self._linger_until or self.close_when_flushed or self.will_close:
            self._deadline = now + HEADER_SECONDS
        elif now > self._deadline:
            self._time_out()

    def _time_out(self) -> None:
        with self.requests_lock:
            request, self.request = self.request, None
            if request is None or self.requests:
                self.will_close = True
                return
            if not request.headers_finished:
                request.parse_header(b"GET / HTTP/1.1\r\n")  # as waitress does where the headers are too long
            request.error, request.completed = _TooSlowError("the request did not arrive in time"), True
            request.connection_close = True
            self.requests.append(request)
        self.server.add_task(self)

    def _set_deadline(self, *, is_new_request: bool) -> None:
        """Note what the connection waits for: headers, a body, or the next request."""
        now = time.monotonic()
        request = self.request
        if request is None:
            self.request_count, self.last_active, self._body_since = self.request_count + 1, now, None
            self._deadline = now + IDLE_SECONDS
        elif not request.headers_finished:
            self._body_since = None
            if is_new_request:
                self._deadline = now + HEADER_SECONDS
        else:
            self._body_since = self._body_since or now
            self._deadline = self._body_since + BODY_SECONDS + request.body_bytes_received / BODY_BYTES_PER_SECOND

    def send_continue(self) -> None:
        """Send 100 Continue to a sender that expects it, unless its request would be rejected."""
        if self.request.error is None:
            super().send_continue()

    def readable(self) -> bool:
        """Whether to accept connections (called every round)."""
        if not self._linger_until:
            return bool(super().readable())
        self.will_close = self.will_close or time.monotonic() >= self._linger_until
        return not self.will_close

    def received(self, data: bytes) -> bool:
        """Accept a connection."""
        if self._linger_until:
            return False
        previous_request = self.request
        is_consumed = bool(super().received(data))
        self._set_deadline(
            is_new_request=self.request is not previous_request and bool(self.request_count or previous_request)
        )
        return is_consumed

    def handle_write(self) -> None:
        """Send what there is to send, and close when that was all, or begin to linger."""
        if self.must_linger and self.close_when_flushed and not (self.total_outbufs_len or self.will_close):
            self.must_linger = self.close_when_flushed = False
            self._linger_until = time.monotonic() + _LINGER_SECONDS
            with suppress(OSError):  # it is gone already
                self.socket.shutdown(socket.SHUT_WR)
            return
        super().handle_write()
