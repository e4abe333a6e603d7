"""Bounded HTTP for the sinks.

No server can hold a request for longer than its timeout, or fill the memory with its response.

``requests`` applies a timeout to each read of a socket: a server that sends one byte now and then holds a request for ever.
Here the timeout covers the whole response with its headers, and the bytes of a response are limited before and after
decompression.
"""

from __future__ import annotations

import io
import zlib
from functools import cache
from http.client import HTTPResponse
from math import inf
from time import monotonic
from typing import TYPE_CHECKING, Any

from requests.adapters import HTTPAdapter
from urllib3.exceptions import HTTPError, ReadTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from socket import socket

    import requests

MAX_RESPONSE_BYTES = 64 * 1024 * 1024
"""Bytes of a response with its headers, and of its decompressed body; the largest are responses with 100 entities."""
PIECE_BYTES = 64 * 1024
ACCEPT_ENCODING = "gzip"
"""The only accepted encoding of responses, since the size of its output can be bounded during decompression."""

_GZIP_WINDOW_BITS = 31  # zlib's name for it


class ResponseTooLargeError(OSError):
    """A response with more than MAX_RESPONSE_BYTES."""

    def __init__(self) -> None:
        super().__init__(f"more than {MAX_RESPONSE_BYTES:,} bytes")


class BoundedAdapter(HTTPAdapter):
    """The transport of a ``requests`` session, for ``session.mount``: its timeout for reading is that of the whole answer.

    Sending a request takes no longer than the timeout for connecting, again as a whole. The body of an answer must be read by
    :func:`read_response`, of a response with ``stream=True``.
    """

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Make the pools of direct connections."""
        super().init_poolmanager(*args, **kwargs)
        _bound_pools(self.poolmanager)

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        """Return the pools of connections through a proxy."""
        return _bound_pools(super().proxy_manager_for(*args, **kwargs))


def read_response(response: requests.Response) -> bytes:
    """Return the whole body of a response.

    Raises:
        TimeoutError: The answer takes longer than the timeout.
        AnswerTooLargeError: The body, as sent or unzipped, is too large.
        OSError: The connection broke, or the body cannot be unzipped.
    """
    encoding = response.headers.get("Content-Encoding", "").strip().lower()
    try:
        pieces = response.raw.stream(PIECE_BYTES, decode_content=False)
        if encoding in ("gzip", "x-gzip"):
            pieces = _unzip(pieces)
        elif encoding not in ("", "identity"):
            raise OSError("unexpected Content-Encoding")  # noqa: TRY301 - closed as all others
        return _join(pieces)
    except ReadTimeoutError as error:
        response.close()
        raise TimeoutError("timed out") from error
    except (HTTPError, zlib.error) as error:
        response.close()
        if any(isinstance(inner, ResponseTooLargeError) for inner in error.args):
            raise ResponseTooLargeError from error
        raise OSError(str(error)) from error
    except OSError:
        response.close()
        raise


def _join(pieces: Iterable[bytes]) -> bytes:
    body = bytearray()
    for piece in pieces:
        body += piece
        if len(body) > MAX_RESPONSE_BYTES:
            raise ResponseTooLargeError
    return bytes(body)


def _unzip(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the unzipped bytes, PIECE_BYTES at a time, of one gzip member or several."""
    decoder = zlib.decompressobj(_GZIP_WINDOW_BITS)
    for piece in pieces:
        remaining = piece
        while remaining:
            if decoder.eof:
                decoder = zlib.decompressobj(_GZIP_WINDOW_BITS)
            yield decoder.decompress(remaining, PIECE_BYTES)
            remaining = decoder.unused_data if decoder.eof else decoder.unconsumed_tail
    yield decoder.flush()
    if not decoder.eof:
        raise zlib.error("the gzip stream ends early")


class _BoundedFile(io.RawIOBase):
    """The bytes that a socket receives until its deadline, up to MAX_RESPONSE_BYTES."""

    def __init__(self, sock: socket) -> None:
        self._sock = sock
        self._file = sock.makefile("rb", buffering=0)
        timeout = sock.gettimeout()
        self._deadline = inf if timeout is None else monotonic() + timeout
        self._bytes_left = MAX_RESPONSE_BYTES

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read into ``buffer``, as RawIOBase says."""
        _limit_timeout(self._sock, self._deadline)
        count = self._file.readinto(buffer) or 0
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise ResponseTooLargeError
        return count

    def fileno(self) -> int:
        """Return the socket's number."""
        return self._file.fileno()

    def close(self) -> None:
        """Let the socket be closed."""
        self._file.close()
        super().close()


class _BoundedSocket:
    """The one method of a socket that http.client's response calls."""

    def __init__(self, sock: socket) -> None:
        self._sock = sock

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_BoundedFile(self._sock))


class _BoundedResponse(HTTPResponse):
    def __init__(self, sock: socket, *args: Any, **kwargs: Any) -> None:
        super().__init__(_BoundedSocket(sock), *args, **kwargs)  # type: ignore[arg-type]


class _BoundedConnection:
    """Mixin for a connection of urllib3: each response, and the sending of each request, has one deadline."""

    sock: Any
    response_class = _BoundedResponse

    def send(self, data: Any) -> None:
        """Send bytes in pieces: TLS has a timeout for each record alone."""
        send = super().send  # type: ignore[misc]  # of http.client
        if not isinstance(data, bytes) or len(data) <= PIECE_BYTES or self.sock is None:
            send(data)
            return
        timeout = self.sock.gettimeout()
        deadline = inf if timeout is None else monotonic() + timeout
        view = memoryview(data)
        for start in range(0, len(view), PIECE_BYTES):
            _limit_timeout(self.sock, deadline)
            send(view[start : start + PIECE_BYTES])


def _limit_timeout(sock: socket, deadline: float) -> None:
    """Let the next operation of a socket end by ``deadline``, a moment of the monotonic clock."""
    if deadline == inf:
        return
    timeout = deadline - monotonic()
    if timeout <= 0:
        raise TimeoutError("timed out")
    sock.settimeout(timeout)


def _bound_pools(manager: Any) -> Any:
    """Make all connections of a PoolManager bounded ones, also those through a proxy."""
    classes = manager.pool_classes_by_scheme
    manager.pool_classes_by_scheme = {scheme: _bounded_pool(pool) for scheme, pool in classes.items()}
    return manager


@cache
def _bounded_pool(pool: Any) -> Any:
    if issubclass(pool.ConnectionCls, _BoundedConnection):
        return pool
    connection = type(f"Bounded{pool.ConnectionCls.__name__}", (_BoundedConnection, pool.ConnectionCls), {})
    return type(f"Bounded{pool.__name__}", (pool,), {"ConnectionCls": connection})
