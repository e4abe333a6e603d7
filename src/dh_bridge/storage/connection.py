"""The file of a catalogue or ledger: how it is opened and copied, and which files are refused."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from dh_bridge import private_files
from dh_bridge.errors import SinkError
from dh_bridge.storage.damage import OTHER_VERSION_REMEDY, DamageError
from dh_bridge.storage.migrations import migrate, newest_version, oldest_version, user_version

_APPLICATION_ID = 0x64684272
"""``PRAGMA application_id``, "dhBr": what tells a catalogue from any other SQLite file."""

MEMORY_PATH = ":memory:"
_BUSY_MILLIS = 30_000
_CACHE_KIB = 64 * 1024
"""Of pages, for a writer: keys of runs and points lie all over a large file."""


def copy(path: str | Path, copy_path: str | Path) -> None:
    """Copy a file as it is at one moment, whoever writes to it meanwhile; a SinkError says why it cannot be done."""
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
    """Return an open catalogue, made or migrated when it may be written; a SinkError says why a file is refused.

    The connection is in autocommit mode; WAL lets others read while one writes.
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
    except sqlite3.OperationalError as error:  # a full disk, a lock: nothing is wrong with the file
        connection.close()
        raise SinkError(f"cannot open the file: {error}", location=location) from error
    except (sqlite3.Error, UnicodeDecodeError, MemoryError) as error:  # the last two of what a damaged schema holds
        connection.close()
        if "not a database" in str(error):
            raise SinkError(
                f"not a catalogue or ledger: {error}", location=location, remedy="use another file"
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
        uri = Path(location).absolute().as_uri() + ("?immutable=1" if _is_frozen(Path(location)) else "?mode=ro")
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    else:
        if location != MEMORY_PATH:
            private_files.create_private(location)
        connection = sqlite3.connect(location, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLIS}")
    return connection


def _open_error_reason(error: sqlite3.Error, path: Path) -> str:
    """Say why a file cannot be opened: SQLite says no more than that it cannot."""
    with suppress(OSError):
        if path.is_dir():
            return "it is a folder"
        if not path.parent.is_dir():
            return f"the folder {path.parent.absolute()} does not exist"
        if not path.exists() and not os.access(path.parent, os.W_OK):
            return f"no permission to write to the folder {path.parent.absolute()}"
    return str(error)


def _is_frozen(path: Path) -> bool:
    """Say whether the file lies where we may not write and nobody does: WAL then has no place for its index."""
    return not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()


def _check_readable(connection: sqlite3.Connection, location: str, *, readonly: bool) -> None:
    """Refuse a file that another program or a newer release has written, and for a reader one that must be migrated."""
    version, newest = user_version(connection), newest_version()
    table_count = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if (table_count or version) and connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION_ID:
        raise SinkError("an SQLite file, but not a catalogue or ledger", location=location, remedy="use another file")
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
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    migrate(connection, application_id=_APPLICATION_ID)
