"""Run a program for as long as somebody holds a lock: ``python guard.py LOCK STATE COMMAND...``

Whoever uses the program holds a shared lock on the file LOCK; the system drops it however a user ends, so that nothing is left
running when tests are killed. Prints the program's id. Removes the file STATE before it ends.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from pathlib import Path

PATIENCE = 10
"""Seconds that the program has to end when it is asked to."""


def main() -> None:
    lock, state, *command = sys.argv[1:]
    program = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    print(program.pid, flush=True)  # noqa: T201 - read by whoever started us
    threading.Thread(target=_until_unused, args=(Path(lock), Path(state), program), daemon=True).start()
    code = program.wait()
    Path(state).unlink(missing_ok=True)
    os._exit(code & 0xFF)


def _until_unused(lock: Path, state: Path, program: subprocess.Popen[bytes]) -> None:
    with lock.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)  # granted when the last user is gone
        state.unlink(missing_ok=True)
        program.terminate()
        try:
            program.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()


if __name__ == "__main__":
    main()
