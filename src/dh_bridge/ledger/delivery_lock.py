"""The delivery lock: of several processes with one ledger, one delivers at a time.

Two processes that read the same outbox would send everything twice, and older values after newer ones. The lock is SQLite's own
lock on an empty file beside the ledger. It ends with its process, for any reason, and has no timeout if a server is slow. Other
processes merge their batches meanwhile; the process with the lock sends their proposals from the outbox.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dh_bridge import private_files
from dh_bridge.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEMORY_PATH = ":memory:"
_LOCK_SUFFIX = "-delivery"


@contextmanager
def try_delivery_lock(ledger_path: str, *, timeout: float = 0) -> Iterator[bool]:
    """Yield whether the lock is acquired within ``timeout`` seconds; it is released after the block.

    Raises:
        SinkError: The file of the lock cannot be created.
    """
    if ledger_path == _MEMORY_PATH:  # this process has the lock
        yield True
        return
    ledger_path = os.path.realpath(ledger_path)  # a link leads to the same lock
    try:
        private_files.create_private(f"{ledger_path}{_LOCK_SUFFIX}")
        connection = sqlite3.connect(f"{ledger_path}{_LOCK_SUFFIX}", timeout=timeout, isolation_level=None)
    except sqlite3.Error as error:
        raise SinkError(f"cannot open the lock file: {error}", location=f"{ledger_path}{_LOCK_SUFFIX}") from error
    try:
        yield _try_lock(connection, ledger_path)
    finally:
        connection.close()


def _try_lock(connection: sqlite3.Connection, ledger_path: str) -> bool:
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if "locked" in str(error):
            return False
        raise SinkError(f"cannot lock the file: {error}", location=f"{ledger_path}{_LOCK_SUFFIX}") from error
    return True
