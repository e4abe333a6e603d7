"""Waitress' connections, where their way is not ours: every answer is JSON and counted, and reaches who is still sending.

Only :mod:`dh_bridge.receiver.web` imports this, as waitress is an extra.
"""

from __future__ import annotations

import logging
import socket
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.task import ErrorTask
from waitress.utilities import Error, RequestEntityTooLarge

if TYPE_CHECKING:
    from dh_bridge.receiver.app import Receiver

log = logging.getLogger("dh_bridge.receiver")

_LINGERS = 5.0
"""Seconds in which the rest of a body is thrown away: closed at once, the connection would be reset, and the answer lost."""


class _NoRoomError(Error):  # type: ignore[misc]  # waitress has no types
    """A body that cannot be kept while it comes: waitress writes large ones to a file of its own."""

    code = 503
    reason = "Service Unavailable"


class _Parser(HTTPRequestParser):  # type: ignore[misc]
    """Reads one request."""

    def received(self, data: bytes) -> int:
        """Take some of its bytes; return how many."""
        try:
            taken: int = super().received(data)
        except OSError as error:  # no temporary folder, or a full one: nobody would be answered
            why = f"there is no room for so large a body: {error.strerror or error}"
            log.error("a request is sent away, %s (TMPDIR?)", why)  # noqa: TRY400 - its text says it all
            self.error, self.completed = _NoRoomError(why), True
            return len(data)
        if isinstance(self.error, RequestEntityTooLarge):
            self.error.body = f"more than {self.adj.max_request_body_size - 1:,} bytes (receiver.body_bytes)"
        return taken

    def close(self) -> None:
        """Let go of its body."""
        with suppress(OSError):  # what is left of a body is written to the full disk once more
            super().close()


class _Refusal(ErrorTask):  # type: ignore[misc]
    """The answer to a request that cannot be read."""

    def execute(self) -> None:
        """Answer it."""
        error = self.request.error
        body = self.channel.receiver.unread(error.code, error.body)
        self.status = f"{error.code} {error.reason}"
        self.content_length = len(body)
        self.response_headers.append(("Content-Type", "application/json"))
        if isinstance(error, _NoRoomError):
            self.response_headers.append(("Retry-After", self.channel.receiver.again))
        self.set_close_on_finish()
        self.channel.lingers = True
        self.write(body)


class Connection(HTTPChannel):  # type: ignore[misc]
    """One connection of a sender to ``receiver``."""

    parser_class = _Parser
    error_task_class = _Refusal
    will_close: bool
    close_when_flushed: bool

    def __init__(self, receiver: Receiver, *server: Any, **more: Any) -> None:
        self.receiver = receiver
        self.lingers = False  # whether the answer is to be waited for before the connection is closed
        self._until = 0.0  # answered, and read until then
        super().__init__(*server, **more)

    def send_continue(self) -> None:
        """Let a sender go on that asks first, unless it would send in vain."""
        if self.request.error is None:
            super().send_continue()

    def readable(self) -> bool:
        """Whether to look for what comes (called every round)."""
        if not self._until:
            return bool(super().readable())
        self.will_close = self.will_close or time.monotonic() >= self._until
        return not self.will_close

    def received(self, data: bytes) -> bool:
        """Take what comes."""
        return not self._until and bool(super().received(data))

    def handle_write(self) -> None:
        """Send what there is to send, and close when that was all, or begin to linger."""
        if self.lingers and self.close_when_flushed and not (self.total_outbufs_len or self.will_close):
            self.lingers = self.close_when_flushed = False
            self._until = time.monotonic() + _LINGERS
            with suppress(OSError):  # it is gone already
                self.socket.shutdown(socket.SHUT_WR)
            return
        super().handle_write()
