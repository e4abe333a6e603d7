"""Locks between processes: SQLite's own lock on an empty file. A lock ends with its process, for any reason."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dh_bridge import private_files
from dh_bridge.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def try_lock(path: str, *, timeout: float = 0) -> Iterator[bool]:
    """Yield whether the lock is acquired within ``timeout`` seconds; it is released after the block.

    Args:
        path: the file of the lock, which is created and stays.
        timeout: seconds.

    Raises:
        SinkError: The file cannot be created.
    """
    try:
        private_files.create_private(path)
        connection = sqlite3.connect(path, timeout=timeout, isolation_level=None)
    except sqlite3.Error as error:
        raise SinkError(f"cannot open the lock file: {error}", location=path) from error
    try:
        yield _is_acquired(connection, path)
    finally:
        connection.close()


def _is_acquired(connection: sqlite3.Connection, path: str) -> bool:
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if "locked" in str(error):
            return False
        raise SinkError(f"cannot lock the file: {error}", location=path) from error
    return True
