"""Bodies of requests: read and unzipped in pieces, within one budget of bytes for all requests in flight."""

from __future__ import annotations

import zlib
from collections import Counter
from contextlib import contextmanager
from http import HTTPStatus
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Grow = Callable[[int], None]

_WINDOW_BITS = {"gzip": 31, "x-gzip": 31, "deflate": 15}
"""Encoding of a body -> what zlib calls it."""
_READ_BYTES = 16 * 1024
"""Bytes that are read at once, so that what follows a zipped part is not copied whole."""
_MAX_GROWTH_BYTES = 256 * 1024
"""Bytes that a zipped body grows by at once: so far it may exceed the budget."""
_MAX_PARTS = 10_000
"""Zipped parts of a body, at most."""
FREE_BYTES = 1024 * 1024
"""Bytes of each body that need no budget: small requests pass while large ones use it up."""


class RequestError(Exception):
    """A request that brings nothing: a status, a text, and headers of the answer."""

    def __init__(self, status: HTTPStatus, text: str, *headers: tuple[str, str]) -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.headers = headers


class BodyBudget:
    """Counts the bytes of all bodies in memory.

    Args:
        total: Bytes of all bodies together.
        per_sender: Bytes of the bodies of one sender.
    """

    def __init__(self, total: int, per_sender: int) -> None:
        self._total = total
        self._per_sender = per_sender
        self._lock = Lock()
        self._senders: Counter[str] = Counter()

    @contextmanager
    def reservation(self, sender: str, retry_after: str) -> Iterator[Grow]:
        """Yield a function that reserves more bytes for a body of ``sender``; all of them are free again afterwards.

        The function never waits: it raises a RequestError (503) when the budget, or the sender's share of it, is used up.
        """
        reserved = 0

        def grow(size: int) -> None:
            nonlocal reserved
            with self._lock:
                if self._senders.total() + size > self._total or self._senders[sender] + size > self._per_sender:
                    raise RequestError(
                        HTTPStatus.SERVICE_UNAVAILABLE,
                        "too many large requests at once: send this request again later",
                        ("Retry-After", retry_after),
                    )
                self._senders[sender] += size
                reserved += size

        try:
            yield grow
        finally:
            with self._lock:
                self._senders[sender] -= reserved
                if not self._senders[sender]:
                    del self._senders[sender]


def read_body(environ: Mapping[str, Any], limit: int, grow: Grow) -> bytes:
    """Return the body of a request, unzipped.

    Args:
        environ: The request (WSGI).
        limit: Bytes before and after unzipping, at most.
        grow: Reserves bytes of the budget; see :meth:`BodyBudget.reservation`.

    Raises:
        RequestError: There is no body, it is too large, cannot be unzipped, or there is no budget for it.
    """
    if "CONTENT_LENGTH" not in environ:  # HTTP/1.0 has no chunks
        raise RequestError(HTTPStatus.LENGTH_REQUIRED, "Content-Length is missing")
    length = int(environ.get("CONTENT_LENGTH") or 0)
    if length > limit:
        raise _too_large_error(limit)
    stream: BinaryIO = environ["wsgi.input"]
    encoding = str(environ.get("HTTP_CONTENT_ENCODING", "")).strip().lower()
    if encoding in ("", "identity"):
        grow(max(0, length - FREE_BYTES))
        return stream.read(length)
    if encoding not in _WINDOW_BITS:
        raise RequestError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"unknown Content-Encoding {encoding!r}: use gzip or deflate"
        )
    return _unzip(stream, encoding, limit, grow)


def _unzip(stream: BinaryIO, encoding: str, limit: int, grow: Grow) -> bytes:
    """Return the content of ``stream``, which may be several zipped parts, as gzip's own files may be."""
    body = BytesIO()
    part, part_count = zlib.decompressobj(_WINDOW_BITS[encoding]), 1
    has_data = False
    while pending := stream.read(_READ_BYTES):
        has_data = True
        while pending:
            if part.eof:
                part, part_count = zlib.decompressobj(_WINDOW_BITS[encoding]), part_count + 1
                if part_count > _MAX_PARTS:
                    raise RequestError(
                        HTTPStatus.BAD_REQUEST, f"the body has more than {_MAX_PARTS:,} parts of {encoding}"
                    )
            try:
                data = part.decompress(pending, _MAX_GROWTH_BYTES)
            except zlib.error as error:
                raise RequestError(HTTPStatus.BAD_REQUEST, f"the body is not valid {encoding}: {error}") from None
            if body.tell() + len(data) > limit:
                raise _too_large_error(limit)
            grow(min(len(data), max(0, body.tell() + len(data) - FREE_BYTES)))
            body.write(data)
            pending = part.unused_data or part.unconsumed_tail
    if has_data and not part.eof:
        raise RequestError(HTTPStatus.BAD_REQUEST, f"the body is truncated: the end of its {encoding} data is missing")
    return body.getvalue()


def _too_large_error(limit: int) -> RequestError:
    return RequestError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body has more than {limit:,} bytes (receiver.body_bytes)"
    )
