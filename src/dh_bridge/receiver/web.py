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
from dh_bridge.sinks.base import Closing

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.receiver.app import Receiver
    from dh_bridge.receiver.connections import Connection
    from dh_bridge.settings.receiver import ReceiverSettings

CONNECTIONS = 500
"""Connections that are open at a time; those beyond are answered about health alone."""
CLIENT_CONNECTIONS = 250
"""Connections of one address: for another one, the one that has been silent longest is closed."""
_FILES = 32
"""Files that are open beside connections and the bodies of their requests."""
_ACCEPTED = 64
"""Connections that are accepted in a round of the loop."""
_HEALTH = ("/health", "/metrics")
_LOOK = 0.2
"""Seconds after which the thread looks whether it is to end."""
_CLOCK = 0.5
"""Seconds between two looks at the deadlines of connections."""


class Web(Closing):
    """Listens for an application; ``url`` is where, and ``exposed`` whether other machines reach it.

    A SettingsError when waitress is not installed, a SinkError when it cannot listen.
    """

    def __init__(self, app: Receiver, settings: ReceiverSettings) -> None:
        try:
            from waitress import create_server, wasyncore  # noqa: PLC0415 - an extra

            from dh_bridge.receiver import connections  # noqa: PLC0415 - of it
        except ImportError:
            raise SettingsError(
                "the web server is not installed", where="dh-bridge serve", now="pip install 'dh-bridge[server]'"
            ) from None
        self._loop = wasyncore
        self._sockets: dict[int, Any] = {}
        self._ended = Event()
        self._connection = partial(connections.Connection, app)
        self._most = most_connections()
        self._proxy = settings.trusted_proxy
        self._accepted = 0
        self._dispatcher = Dispatcher(settings.threads, self._sender_of, _at_once)
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
                f"cannot listen: {error}", where=f"receiver.listen {settings.listen}", now="another port, or host?"
            ) from error
        for listener in self._sockets.values():
            if hasattr(listener, "task_dispatcher"):
                listener.channel_class = self._open
                listener.handle_accept = partial(self._accept, listener.handle_accept)
        # of a name that has several addresses waitress listens on all of them
        several = getattr(self._server, "effective_listen", None)
        places = several or [(self._server.effective_host, self._server.effective_port)]
        self.exposed = not all(ip_address(host.partition("%")[0]).is_loopback for host, _ in places)
        host, port = places[0]
        self.url = f"http://[{host}]:{port}" if ":" in str(host) else f"http://{host}:{port}"
        self._thread = Thread(target=self._run, name="dh_bridge.web", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let go of all sockets."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        next_look = 0.0
        while not self._ended.is_set():
            self._loop.loop(_LOOK, True, self._sockets, 1)  # noqa: FBT003 - waitress' own signature: polls, one round
            if (now := time.monotonic()) >= next_look:
                next_look = now + _CLOCK
                for connection in self._connections():
                    connection.look_at_clock(now)
        self._dispatcher.shutdown()
        self._loop.close_all(self._sockets)

    def _connections(self) -> list[Connection]:
        """Return the open connections that are not about to be closed."""
        return [one for one in self._sockets.values() if hasattr(one, "look_at_clock") and not one.will_close]

    def _accept(self, accept: Callable[[], None]) -> None:
        """Accept several connections in a round: it takes as long as there are connections."""
        for _ in range(_ACCEPTED):
            before = self._accepted
            accept()
            if self._accepted == before:
                return

    def _open(self, server: Any, socket: Any, address: tuple[Any, ...], *more: Any, **options: Any) -> Connection:
        """Make room for a connection, and return it."""
        self._accepted += 1
        clients: dict[str, list[Connection]] = {}
        connections = self._connections()
        for connection in connections:
            clients.setdefault(sender_of(connection.addr[0], "", None), []).append(connection)
        same = clients.get(sender_of(address[0], "", None), [])
        full, victim = len(connections) >= self._most, None
        if len(same) >= CLIENT_CONNECTIONS and address[0] != self._proxy:
            victim = _close_silent(same)
        elif full:
            victim = next(filter(None, map(_close_silent, sorted(clients.values(), key=len, reverse=True))), None)
        spare = full if victim is None else victim.spare
        return self._connection(server, socket, address, *more, spare=spare, **options)

    def _sender_of(self, connection: Connection) -> str:
        return sender_of(connection.addr[0], connection.forwarded, self._proxy)


def most_connections() -> int:
    """Return the number of connections that may be open, each with a file for the body of its request."""
    try:
        import resource  # noqa: PLC0415 - not on Windows
    except ImportError:
        return CONNECTIONS
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return CONNECTIONS if files == resource.RLIM_INFINITY else min(CONNECTIONS, max(_FILES, files // 2 - _FILES))


def _close_silent(connections: list[Connection]) -> Connection | None:
    """Close the connection that has been silent longest, first of those without a whole request; return it."""
    silent = [one for one in connections if not one.busy]
    if not silent:
        return None
    victim = min(silent, key=lambda one: (one.answered > 0, one.since))
    victim.will_close = True
    return victim


def _at_once(connection: Connection) -> bool:
    """Return whether the next request of a connection needs no ledger."""
    if connection.path in _HEALTH:
        return True
    if connection.spare:
        connection.refuse("too many connections: send it again later")
    return connection.requests[0].error is not None
