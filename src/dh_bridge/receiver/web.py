"""Waitress, a web server in pure Python, run by a thread of its own until it is closed."""

from __future__ import annotations

import sys
import time
from functools import partial
from ipaddress import ip_address
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.receiver.dispatch import Dispatcher, sender_of
from dh_bridge.sinks.base import Closable

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.receiver.app import Receiver
    from dh_bridge.receiver.connections import ClientConnection
    from dh_bridge.settings.receiver import ReceiverSettings

MAX_CONNECTIONS = 500
"""Connections that are open at a time; those beyond are answered about health alone."""
MAX_CLIENT_CONNECTIONS = 250
"""Connections of one address: for another one, the one that has been silent longest is closed."""
_RESERVED_FILES = 32
"""Files that are open beside connections and the bodies of their requests."""
_MAX_ACCEPTS_PER_ROUND = 64
"""Connections that are accepted in a round of the loop."""
_HEALTH_PATHS = ("/health", "/metrics")
_POLL_SECONDS = 0.2
"""Seconds after which the thread looks whether it is to end."""
_DEADLINE_CHECK_SECONDS = 0.5
"""Seconds between two looks at the deadlines of connections."""


class WebServer(Closable):
    """Listens for an application; ``url`` is where, and ``is_exposed`` whether other machines reach it.

    A SettingsError when waitress is not installed, a SinkError when it cannot listen.
    """

    def __init__(self, app: Receiver, settings: ReceiverSettings) -> None:
        try:
            from waitress import create_server, wasyncore  # noqa: PLC0415 - an extra

            from dh_bridge.receiver import connections  # noqa: PLC0415 - of it
        except ImportError:
            raise SettingsError(
                "the web server is not installed", location="dh-bridge serve", remedy="pip install 'dh-bridge[server]'"
            ) from None
        self.app = app
        self._loop = wasyncore
        self._sockets: dict[int, Any] = {}
        self._end_event = Event()
        self._connection = partial(connections.ClientConnection, app)
        self._max_connections = max_connections()
        self._proxy = settings.trusted_proxy
        self._accept_count = 0
        self._dispatcher = Dispatcher(settings.threads, self._sender_of, _needs_no_ledger)
        try:
            self._server = create_server(
                app, self._sockets, _dispatcher=self._dispatcher, listen=settings.listen, ident="dh-bridge",
                max_request_body_size=settings.body_bytes + 1, clear_untrusted_proxy_headers=False,
                connection_limit=sys.maxsize, channel_timeout=sys.maxsize, log_socket_errors=False,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            wasyncore.close_all(self._sockets)
            self._dispatcher.shutdown()
            raise SinkError(
                f"cannot listen: {error}",
                location=f"receiver.listen {settings.listen}",
                remedy="use another host or port",
            ) from error
        for listener in self._sockets.values():
            if hasattr(listener, "task_dispatcher"):
                listener.channel_class = self._open
                listener.handle_accept = partial(self._accept, listener.handle_accept)
        # of a name that has several addresses waitress listens on all of them
        effective_addresses = getattr(self._server, "effective_listen", None)
        addresses = effective_addresses or [(self._server.effective_host, self._server.effective_port)]
        self.is_exposed = not all(ip_address(host.partition("%")[0]).is_loopback for host, _ in addresses)
        host, port = addresses[0]
        self.url = f"http://[{host}]:{port}" if ":" in str(host) else f"http://{host}:{port}"
        self._thread = Thread(target=self._run, name="dh_bridge.web", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Close all sockets."""
        self._end_event.set()
        self._thread.join()

    def _run(self) -> None:
        next_look = 0.0
        while not self._end_event.is_set():
            self._loop.loop(_POLL_SECONDS, True, self._sockets, 1)  # noqa: FBT003 - waitress' own signature: polls, one round
            if (now := time.monotonic()) >= next_look:
                next_look = now + _DEADLINE_CHECK_SECONDS
                for connection in self._connections():
                    connection.check_deadlines(now)
        self._dispatcher.shutdown()
        self._loop.close_all(self._sockets)

    def _connections(self) -> list[ClientConnection]:
        """Return the open connections that are not about to be closed."""
        return [
            connection
            for connection in self._sockets.values()
            if hasattr(connection, "check_deadlines") and not connection.will_close
        ]

    def _accept(self, accept: Callable[[], None]) -> None:
        """Accept several connections in a round: it takes as long as there are connections."""
        for _ in range(_MAX_ACCEPTS_PER_ROUND):
            previous_count = self._accept_count
            accept()
            if self._accept_count == previous_count:
                return

    def _open(
        self, server: Any, socket: Any, address: tuple[Any, ...], *arguments: Any, **options: Any
    ) -> ClientConnection:
        """Make room for a connection, and return it."""
        self._accept_count += 1
        clients: dict[str, list[ClientConnection]] = {}
        connections = self._connections()
        for connection in connections:
            clients.setdefault(sender_of(connection.addr[0], "", None), []).append(connection)
        client_connections = clients.get(sender_of(address[0], "", None), [])
        is_full, victim = len(connections) >= self._max_connections, None
        if len(client_connections) >= MAX_CLIENT_CONNECTIONS and address[0] != self._proxy:
            victim = _close_idle(client_connections)
        elif is_full:
            victim = next(filter(None, map(_close_idle, sorted(clients.values(), key=len, reverse=True))), None)
        spare = is_full if victim is None else victim.spare
        return self._connection(server, socket, address, *arguments, spare=spare, **options)

    def _sender_of(self, connection: ClientConnection) -> str:
        return sender_of(connection.addr[0], connection.forwarded_for, self._proxy)


def max_connections() -> int:
    """Return the number of connections that may be open, each with a file for the body of its request."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return MAX_CONNECTIONS
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return (
        MAX_CONNECTIONS
        if files == resource.RLIM_INFINITY
        else min(MAX_CONNECTIONS, max(_RESERVED_FILES, files // 2 - _RESERVED_FILES))
    )


def _close_idle(connections: list[ClientConnection]) -> ClientConnection | None:
    """Close the connection that has been silent longest, first of those without a whole request; return it."""
    idle_connections = [connection for connection in connections if not connection.is_busy]
    if not idle_connections:
        return None
    victim = min(idle_connections, key=lambda connection: (connection.request_count > 0, connection.last_active))
    victim.will_close = True
    return victim


def _needs_no_ledger(connection: ClientConnection) -> bool:
    """Return whether the next request of a connection needs no ledger."""
    if connection.path in _HEALTH_PATHS:
        return True
    if connection.spare:
        connection.refuse("too many connections: send the request again later")
    return connection.requests[0].error is not None
