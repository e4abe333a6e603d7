"""Returns the free pages of a file to the disk: SQLite itself only uses them again."""

from __future__ import annotations

import sqlite3
from contextlib import suppress

_MIN_FREE_BYTES = 256 * 1024
_MIN_FREE_SHARE = 0.1
"""If less than this is free when a file is closed, the file stays as it is: the next batch needs the space again."""
_INCREMENTAL = 2
"""``PRAGMA auto_vacuum`` of a file whose last pages can be moved into free ones."""


def allow_release(connection: sqlite3.Connection) -> None:
    """Prepare a new file, before it has any table, for the release of free pages."""
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")


def release_on_close(connection: sqlite3.Connection) -> None:
    """Release the free pages if they are many; nothing happens if another process uses the file."""
    with suppress(sqlite3.Error):  # the file is closed, damaged or busy: the pages stay free
        if connection.in_transaction or _pragma(connection, "auto_vacuum") != _INCREMENTAL:
            return
        free_bytes = _pragma(connection, "freelist_count") * _pragma(connection, "page_size")
        if free_bytes < _MIN_FREE_BYTES or free_bytes < _MIN_FREE_SHARE * _file_bytes(connection):
            return
        connection.execute("PRAGMA busy_timeout = 0")
        _release(connection)


def release_free_pages(connection: sqlite3.Connection) -> int:
    """Release all free pages. A file of an earlier version is written again as a whole, which takes its size in free space.

    Args:
        connection: The file, without an open transaction.

    Returns:
        By how many bytes the file is smaller.

    Raises:
        sqlite3.OperationalError: Another process uses the file, or the disk is full. The file is unchanged.
    """
    size = _file_bytes(connection)
    if not _pragma(connection, "freelist_count"):
        return 0
    if _pragma(connection, "auto_vacuum") == _INCREMENTAL:
        _release(connection)
    else:
        allow_release(connection)
        connection.execute("VACUUM")
        _truncate_log(connection)
    return size - _file_bytes(connection)


def _release(connection: sqlite3.Connection) -> None:
    # a row without columns for each page: only executescript reads all of them
    connection.executescript("PRAGMA incremental_vacuum")
    _truncate_log(connection)


def _truncate_log(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _file_bytes(connection: sqlite3.Connection) -> int:
    return _pragma(connection, "page_count") * _pragma(connection, "page_size")


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])
