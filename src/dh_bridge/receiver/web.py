"""Waitress, a web server in pure Python, run by a thread of its own until it is closed."""

from __future__ import annotations

import logging
from functools import partial
from ipaddress import ip_address
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.sinks.base import Closing

if TYPE_CHECKING:
    from dh_bridge.receiver.app import Receiver
    from dh_bridge.settings.receiver import ReceiverSettings

_CONNECTIONS = 500
"""Connections that are open at a time: senders keep theirs, and waitress' own 100 would keep the 101st out."""
_TOLD = ("/health", "/metrics")
_LOOK = 0.2
"""Seconds after which the thread looks whether it is to end."""


class _Lanes:
    """Waitress' threads, and one more for those who only ask how it is: all others may be waiting for the ledger."""

    def __init__(self, many: Any) -> None:
        self._many = many
        self._one = type(many)()
        self._one.set_thread_count(1)

    def add_task(self, channel: Any) -> None:
        """Hand the next request of a connection to a thread."""
        path = getattr(channel.requests[0], "path", "")  # none, of a request that cannot be read
        lane = self._one if path.rstrip("/") in _TOLD else self._many
        lane.add_task(channel)

    def shutdown(self) -> None:
        """End the threads."""
        for lane in (self._many, self._one):
            lane.shutdown()


class Web(Closing):
    """Listens for an application; ``url`` is where, and ``exposed`` whether other machines reach it.

    A SettingsError when waitress is not installed, a SinkError when it cannot listen.
    """

    def __init__(self, app: Receiver, settings: ReceiverSettings) -> None:
        try:
            from waitress import create_server, wasyncore  # noqa: PLC0415 - an extra

            from dh_bridge.receiver.connections import Connection  # noqa: PLC0415 - of it
        except ImportError:
            raise SettingsError(
                "the web server is not installed", where="dh-bridge serve", now="pip install 'dh-bridge[server]'"
            ) from None
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # that a request waits its turn is no news
        self._loop = wasyncore
        self._sockets: dict[int, Any] = {}
        self._ended = Event()
        try:
            self._server = create_server(
                app, self._sockets, listen=settings.listen, threads=settings.threads, ident="dh-bridge",
                max_request_body_size=settings.body_bytes + 1, clear_untrusted_proxy_headers=True,
                connection_limit=_CONNECTIONS, log_socket_errors=False,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            wasyncore.close_all(self._sockets)
            raise SinkError(
                f"cannot listen: {error}", where=f"receiver.listen {settings.listen}", now="another port, or host?"
            ) from error
        self._lanes = _Lanes(self._server.task_dispatcher)
        for one in self._sockets.values():
            if hasattr(one, "task_dispatcher"):
                one.task_dispatcher = self._lanes
                one.channel_class = partial(Connection, app)
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
        while not self._ended.is_set():
            self._loop.loop(_LOOK, True, self._sockets, 1)  # noqa: FBT003 - waitress' own signature: polls, one round
        self._lanes.shutdown()
        self._loop.close_all(self._sockets)
