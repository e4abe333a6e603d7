"""Programs of the tests: started, asked whether they are ready, killed, and ended with whoever uses them."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

GUARD = Path(__file__).with_name("guard.py")
PATIENCE = 240
"""Seconds that a program has to get ready: it takes about 3, on a machine with a load of 14 about 50."""


class NotReadyError(Exception):
    """A program that ended or did not get ready: the end of its log."""


class Program:
    """One running program and its log; it ends with us."""

    def __init__(self, command: Sequence[str], log: Path, *, lock: Path, state: Path) -> None:
        self._log = log
        self._lock: IO[str] = lock.open("a")
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        with log.open("ab") as written:
            self._guard = subprocess.Popen(
                [sys.executable, str(GUARD), str(lock), str(state), *command],
                stdout=subprocess.PIPE,
                stderr=written,
                start_new_session=True,  # Ctrl-C is for the tests
            )
        assert self._guard.stdout is not None
        with self._guard.stdout as stated:
            self.pid = int(stated.readline() or 0)

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Return when ``ready()``; a NotReadyError when the program ends, or after PATIENCE seconds."""
        end = time.monotonic() + PATIENCE
        while not ready():
            if self._guard.poll() is not None or time.monotonic() > end:
                self.kill()
                raise NotReadyError(self._log.read_text(encoding="utf-8", errors="replace")[-3000:])
            time.sleep(0.05)

    def kill(self, sign: int = signal.SIGKILL) -> None:
        """End the program with a signal, and wait for its end."""
        if self._guard.poll() is None:
            os.kill(self.pid, sign)
        self._guard.wait(PATIENCE)
        self._lock.close()

    def release(self) -> None:
        """Say that we need it no more, and wait for its end: it ends when the others need it no more either."""
        self._lock.close()
        self._guard.wait()


@contextmanager
def shared(folder: Path, start: Callable[[Path], tuple[Program, dict[str, str]]]) -> Iterator[dict[str, str]]:
    """Yield what ``start`` says of its program; started once for all processes that name the same folder.

    The program ends when the last of them leaves.
    """
    folder.mkdir(parents=True, exist_ok=True)
    state = folder / "state.json"
    with (folder / "lock").open("a") as lock:
        with (folder / "door").open("a") as door:
            fcntl.flock(door, fcntl.LOCK_EX)
            fcntl.flock(lock, fcntl.LOCK_SH)  # waits while a guard ends the program that nobody used
            program = None
            if not state.exists():
                program, stated = start(folder)
                state.write_bytes(msgspec.json.encode(stated))
            stated = msgspec.json.decode(state.read_bytes())
        try:
            yield stated
        finally:
            fcntl.flock(lock, fcntl.LOCK_UN)
            if program is not None:
                program.release()


_given: set[int] = set()
"""Ports that were handed out here: a broker asks for several before it listens on any."""


def free_port() -> int:
    """Return a port of loopback that nobody listens on, another one each time, below those that the system hands out by itself."""
    while True:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as probe:
            if port not in _given and probe.connect_ex(("127.0.0.1", port)) != 0:
                _given.add(port)
                return port
