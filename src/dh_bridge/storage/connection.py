"""The file of a catalogue or ledger: opens it, copies it, and rejects files of other programs and versions."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from dh_bridge import private_files
from dh_bridge.errors import SinkError
from dh_bridge.storage.damage import OTHER_VERSION_REMEDY, DamageError
from dh_bridge.storage.free_pages import allow_release
from dh_bridge.storage.migrations import migrate, newest_version, oldest_version, user_version

_APPLICATION_ID = 0x64684272
"""``PRAGMA application_id``, "dhBr": marks a file as a catalogue or ledger."""

_FILE_START = b"SQLite format 3\0"
_PAGE_COUNT, _APPLICATION = slice(28, 32), slice(68, 72)
"""Positions in the header of an SQLite file (https://sqlite.org/fileformat.html)."""
_HEADER_BYTES = 100
_OTHER_FILE_REMEDY = "pass a catalogue or ledger: `dh-bridge emit EVENTS --to catalog:FILE` writes a catalogue"

MEMORY_PATH = ":memory:"
_BUSY_MILLIS = 30_000
_CACHE_KIB = 64 * 1024
"""Cache of pages for a writer, which looks up keys in all parts of a large file."""


class FileConnection(sqlite3.Connection):
    """The connection of a file; ``extensions`` has the objects that all who use it share, by name."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.extensions: dict[str, object] = {}


def copy(path: str | Path, copy_path: str | Path) -> None:
    """Copy a file as it is at one moment; other processes may write to it meanwhile.

    Raises:
        SinkError: The file cannot be read, or the copy cannot be written.
    """
    try:
        private_files.create_private(copy_path)
        with closing(_open(str(path), readonly=True)) as source, closing(sqlite3.connect(copy_path)) as target:
            _check_readable(source, str(path), readonly=False)
            source.backup(target)
    except (sqlite3.DatabaseError, UnicodeDecodeError, MemoryError) as error:
        if not isinstance(error, sqlite3.OperationalError):
            raise DamageError(error, where=str(path)) from error
        raise SinkError(f"cannot copy the file to {copy_path}: {error}", location=str(path)) from error


def connect(path: str | Path, *, readonly: bool = False) -> sqlite3.Connection:
    """Open a catalogue or ledger; a missing file is created, and an older one migrated, unless ``readonly``.

    The connection is in autocommit mode. With WAL, other processes can read while one writes.

    Raises:
        SinkError: The file cannot be opened, or is no catalogue or ledger that this version can use.
    """
    location = str(path)
    if readonly and location != MEMORY_PATH and not Path(location).is_file():
        remedy = "`emit --to catalog:FILE` creates a catalogue, `emit --ledger FILE` a ledger"
        raise SinkError("no such catalogue or ledger", location=location, remedy=remedy)
    try:
        connection = _open(location, readonly=readonly)
    except sqlite3.Error as error:
        raise SinkError(
            f"cannot open the file: {_open_error_reason(error, Path(location))}",
            location=location,
            remedy="use a file that can be written",
        ) from error
    try:
        _check_readable(connection, location, readonly=readonly)
        if not readonly or location == MEMORY_PATH:
            _prepare(connection)
    except sqlite3.OperationalError as error:  # a full disk or a lock: the file itself is intact
        connection.close()
        raise SinkError(f"cannot open the file: {error}", location=location) from error
    except (sqlite3.Error, UnicodeDecodeError, MemoryError) as error:  # the last two: a damaged schema
        connection.close()
        if "not a database" in str(error):
            raise SinkError(
                f"not a catalogue or ledger: {error}", location=location, remedy=_OTHER_FILE_REMEDY
            ) from error
        raise DamageError(error, where=location) from error
    except SinkError:
        connection.close()
        raise
    return connection


def _open(location: str, *, readonly: bool) -> sqlite3.Connection:
    if "\0" in location:
        raise sqlite3.OperationalError("its name contains a zero byte")
    if readonly and location != MEMORY_PATH:
        path = Path(location)
        _check_header(path)
        uri = f"{path.absolute().as_uri()}?{_reader_mode(path)}"
        connection = sqlite3.connect(
            uri, uri=True, isolation_level=None, check_same_thread=False, factory=FileConnection
        )
        connection.execute("PRAGMA query_only = ON")
    else:
        if location != MEMORY_PATH:
            private_files.create_private(location)
        connection = sqlite3.connect(location, isolation_level=None, check_same_thread=False, factory=FileConnection)
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLIS}")
    return connection


def _open_error_reason(error: sqlite3.Error, path: Path) -> str:
    """Return why a file cannot be opened: the message of SQLite does not contain the reason."""
    with suppress(OSError):
        if path.is_dir():
            return "it is a folder"
        if not path.parent.is_dir():
            return f"the folder {path.parent.absolute()} does not exist"
        if not path.exists() and not os.access(path.parent, os.W_OK):
            return f"no permission to write to the folder {path.parent.absolute()}"
    return str(error)


def _reader_mode(path: Path) -> str:
    """Return how a reader opens a file, so that it leaves no file beside it.

    A connection that may write (``rw``) deletes the log and its index when it closes last; ``query_only`` keeps it from changing
    rows. If a writer left a log with content, ``ro`` leaves the merge of this log to the next writer. If the folder is not
    writable and no writer is active, SQLite cannot create the index, so the file is opened as ``immutable``.
    """
    log = path.with_name(f"{path.name}-wal")
    if not os.access(path.parent, os.W_OK) and not log.exists():
        return "immutable=1"
    return "mode=ro" if _size(log) else "mode=rw"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _check_header(path: Path) -> None:
    """Reject a file of another program before SQLite opens it: SQLite could create files beside it.

    An empty file passes, and a file whose header may still be in its log.
    """
    if _size(path.with_name(f"{path.name}-wal")):
        return
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except OSError:
        return  # SQLite reports the reason
    if header and not header.startswith(_FILE_START):
        raise SinkError(
            "not a catalogue or ledger: file is not a database", location=str(path), remedy=_OTHER_FILE_REMEDY
        )
    page_count, application = (int.from_bytes(header[part], "big") for part in (_PAGE_COUNT, _APPLICATION))
    if page_count > 1 and application != _APPLICATION_ID:
        raise _other_program_error(str(path))


def _other_program_error(location: str) -> SinkError:
    return SinkError("an SQLite file, but not a catalogue or ledger", location=location, remedy=_OTHER_FILE_REMEDY)


def _check_readable(connection: sqlite3.Connection, location: str, *, readonly: bool) -> None:
    """Reject a file of another program or a newer release; for a reader, also a file that must be migrated."""
    version, newest = user_version(connection), newest_version()
    table_count = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if (table_count or version) and connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
        raise _other_program_error(location)
    if version > newest:
        raise SinkError(
            f"the file has version {version}, newer than {newest}",
            location=location,
            remedy="use a newer dh-bridge",
        )
    if 0 < version < oldest_version():
        raise SinkError(
            "written by an earlier version of dh-bridge, whose states this version cannot read",
            location=location,
            remedy=OTHER_VERSION_REMEDY,
        )
    if readonly and not version and location != MEMORY_PATH:
        raise SinkError(
            "the file is empty", location=location, remedy="the next `emit` that uses it creates its tables"
        )
    if readonly and version < newest and location != MEMORY_PATH:
        raise SinkError(
            "the file has an older version", location=location, remedy="the next `emit` that uses it updates it"
        )


def _prepare(connection: sqlite3.Connection) -> None:
    """Switch to WAL, and bring the tables of the file up to date."""
    if not user_version(connection):
        allow_release(connection)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    migrate(connection, application_id=_APPLICATION_ID)
