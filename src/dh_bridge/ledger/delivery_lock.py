"""Whose turn it is to deliver: of several processes with one ledger one sends at a time.

Two that read the same outbox would send everything twice, and what is older after what is newer. The turn is SQLite's own lock on
an empty file beside the ledger: it is free the moment its process is gone, however it went, and never runs out while a server
is slow. Batches are folded meanwhile; what comes of them waits in the outbox, where whoever delivers finds it.
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
    if ledger_path == _MEMORY_PATH:  # nobody else has it
        yield True
        return
    ledger_path = os.path.realpath(ledger_path)  # who names it by a link means the same one
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
