"""A small web server for the console alone: Python's own, on loopback, a thread for each request."""

from __future__ import annotations

import logging
import secrets
from contextlib import contextmanager
from socketserver import ThreadingMixIn
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from dh_bridge.console.app import ConsoleApp
from dh_bridge.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.console.source import ConsoleSource

log = logging.getLogger("dh_bridge.console")

_HOST = "127.0.0.1"
_READ_TIMEOUT = 30.0
"""Seconds in which a request must arrive."""


class RunningConsole(NamedTuple):
    """The address of a running console: with the token (``url``), and without it (``address``)."""

    url: str
    address: str


@contextmanager
def run_console(source: ConsoleSource, *, port: int = 0) -> Iterator[RunningConsole]:
    """Serve the console on 127.0.0.1 until the block ends.

    Args:
        source: The catalogue or ledger that is shown.
        port: The port; 0 selects a free one.

    Yields:
        The addresses of the page.

    Raises:
        SinkError: The port cannot be used.
    """
    token = secrets.token_urlsafe(24)
    try:
        server = make_server(_HOST, port, _unready, server_class=_ThreadingServer, handler_class=_QuietHandler)
    except OSError as error:
        raise SinkError(
            f"cannot listen: {error.strerror}", location=f"--port {port}", remedy="use another port"
        ) from error
    port = server.server_port
    server.set_app(ConsoleApp(source, token, hosts={f"{name}:{port}" for name in (_HOST, "localhost")}))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="dh_bridge.console", daemon=True)
    thread.start()
    address = f"http://{_HOST}:{port}/"
    try:
        yield RunningConsole(f"{address}#token={token}", address)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _unready(_environ: Any, _start_response: Any) -> list[bytes]:
    raise RuntimeError("the server has no application yet")


class _ThreadingServer(ThreadingMixIn, WSGIServer):
    daemon_threads = True
    block_on_close = False

    def server_bind(self) -> None:
        """Bind without a look-up of the host's name, which takes seconds on some machines."""
        super(WSGIServer, self).server_bind()
        self.setup_environ()

    def handle_error(self, _request: Any, client_address: Any) -> None:
        """Log a connection that broke."""
        log.debug("connection of %s ended early", client_address)


class _QuietHandler(WSGIRequestHandler):
    timeout = _READ_TIMEOUT

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the signature of the standard library
        """Log a request, instead of writing it to stderr."""
        log.debug(format, *arguments)
