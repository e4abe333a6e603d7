"""A metadata service that answers at once and keeps nothing: what is left is the cost of the one who sends.

python benchmarks/loopback.py        prints its port; ends when its standard input does
"""

from __future__ import annotations

import socket
import sys
import threading

_CONFIG = b'{"noCode":"true","versions":{"acryldata/datahub":{"version":"v1.4.0"}},"datahub":{"serverEnv":"core"}}'
_DONE = b'{"value":"success"}'


def answered(body: bytes) -> bytes:
    """Return a response in one piece: headers that travel alone wait for an acknowledgement."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def serve(connection: socket.socket) -> None:
    """Answer one connection's requests until it ends."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    config, done = answered(_CONFIG), answered(_DONE)
    waiting = b""
    while True:
        while b"\r\n\r\n" not in waiting:
            more = connection.recv(1 << 16)
            if not more:
                return
            waiting += more
        head, _, waiting = waiting.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:"),
            0,
        )
        missing = length - len(waiting)
        while missing > 0:
            more = connection.recv(min(missing, 1 << 20))
            if not more:
                return
            missing -= len(more)
        waiting = waiting[length:]
        connection.sendall(config if head.startswith(b"GET /config") else done)


def main() -> None:
    """Serve."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        threading.Thread(target=_accept, args=(server,), daemon=True).start()
        sys.stdin.read()


def _accept(server: socket.socket) -> None:
    while True:
        connection, _ = server.accept()
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    main()
