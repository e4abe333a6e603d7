"""A server of raw bytes on loopback: it reads the head of each request, then does what a script says with the connection."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

SECONDS = 20.0
"""No script goes on for longer, so that a client without bounds fails its test and does not hang it."""


class RawServer:
    """Answers at ``url``; ``script`` gets a connection and the head of its request. ``sent`` counts the bytes of :meth:`pour`."""

    def __init__(self, script, context=None):
        self.sent = 0
        self.requests = []
        self._script = script
        self._context = context
        self._ended = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.url = f"http{'s' if context else ''}://127.0.0.1:{self.port}"
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def _accept(self):
        with suppress(OSError):  # until it is closed
            while True:
                connection, _ = self._listening.accept()
                thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection):
        with connection, suppress(OSError):  # a client that is gone is what the tests want
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            with connection:
                head = b""
                while b"\r\n\r\n" not in head and (data := connection.recv(65536)):
                    head += data
                if head:
                    self.requests.append(head)
                    self._script(self, connection, head)

    def drip(self, connection, data):
        """Send ``data``, one byte every 0.1 s, again and again."""
        end = time.monotonic() + SECONDS
        while not self._ended.is_set() and time.monotonic() < end:
            for byte in data:
                connection.sendall(bytes([byte]))
                if self._ended.wait(0.1):
                    return

    def pour(self, connection, piece, most=1 << 28):
        """Send ``piece`` again and again, up to ``most`` bytes."""
        while not self._ended.is_set() and self.sent < most:
            connection.sendall(piece)
            self.sent += len(piece)

    def sip(self, connection):
        """Read 16 KB every 0.2 s."""
        end = time.monotonic() + SECONDS
        while not self._ended.wait(0.2) and time.monotonic() < end and connection.recv(16384):
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._ended.set()
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(10)


def answer(body, *headers):
    """Return a whole response with a length."""
    lines = ["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", "Content-Type: application/json", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
