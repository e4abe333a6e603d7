"""Runs ``dh-bridge`` in forks of one process that has imported it: the same command in its own process, without the start of Python.

`command_folder` starts the process, and yields a folder with a ``dh-bridge`` for the PATH of a shell. This small program passes its
arguments, variables, folder and open files to the process, and ends with the exit code of the fork. A receiver or console is
started by the real command, as it must end by a signal.
"""

from __future__ import annotations

import array
import json
import os
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_STREAMS = (0, 1, 2)
_MAX_REQUEST = 1 << 20
_MODULES = (
    "demo",
    "emit",
    "check",
    "explain",
    "plan",
    "verify",
    "lineage",
    "queue",
    "replay",
    "doctor",
    "identity",
    "prune",
)
_COMMAND = """#!{python} -SIE
import array, json, os, socket, sys
if sys.argv[1:2] in (["serve"], ["console"]):
    os.execv({real!r}, ["dh-bridge", *sys.argv[1:]])
request = json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]).encode()
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    server.sendmsg([len(request).to_bytes(4, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", (0, 1, 2)))])
    server.sendall(request)
    code = server.recv(1)
sys.exit(code[0] if code else 70)
"""


@contextmanager
def command_folder(folder: Path) -> Iterator[Path]:
    """Yield a folder whose ``dh-bridge`` runs in forks of one process, which ends with the block."""
    commands = folder / "bin"
    commands.mkdir(parents=True)
    address = str(folder / "socket")
    command = commands / "dh-bridge"
    real = Path(sys.executable).with_name("dh-bridge")
    command.write_text(_COMMAND.format(python=sys.executable, real=str(real), address=address), encoding="utf-8")
    command.chmod(0o700)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        server = subprocess.Popen(
            [sys.executable, __file__, str(listener.fileno())],
            pass_fds=[listener.fileno()],
            stdin=subprocess.DEVNULL,
        )
    try:
        yield commands
    finally:
        server.terminate()
        server.wait(timeout=30)


def _serve(listener: socket.socket) -> None:
    """Fork for each request."""
    import importlib  # noqa: PLC0415 - only the server needs it

    for name in _MODULES:
        importlib.import_module(f"dh_bridge.cli.{name}")
    importlib.import_module("dh_bridge").Bridge()  # parses the mappings, which all forks share
    while True:
        connection, _ = listener.accept()
        if not os.fork():
            listener.close()
            os._exit(_run(connection))
        connection.close()
        with suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _run(connection: socket.socket) -> int:
    """Run one command in this process, and send its exit code."""
    size = len(_STREAMS) * array.array("i").itemsize
    head, ancillary, _, _ = connection.recvmsg(4, socket.CMSG_SPACE(size))
    files = array.array("i", ancillary[0][2][:size])
    remaining = int.from_bytes(head, "big")
    request = bytearray()
    while len(request) < remaining <= _MAX_REQUEST:
        request += connection.recv(remaining - len(request))
    arguments, environ, folder = json.loads(bytes(request))
    for stream, file in zip(_STREAMS, files, strict=True):
        os.dup2(file, stream)
        os.close(file)
    os.environ.clear()
    os.environ.update(environ)
    os.chdir(folder)
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(0, closefd=False),
        os.fdopen(1, "w", closefd=False),
        os.fdopen(2, "w", closefd=False),
    )
    sys.argv = ["dh-bridge", *arguments]
    code = _main()
    connection.sendall(bytes([code & 0xFF]))
    return code


def _main() -> int:
    from dh_bridge.cli import main  # noqa: PLC0415 - only in the server

    try:
        main()
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else int(error.code is not None)
    finally:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
    return 0


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
