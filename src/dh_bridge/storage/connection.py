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

_APPLICATION = 0x64684272
"""``PRAGMA application_id``, "dhBr": what tells a catalogue from any other SQLite file."""

MEMORY = ":memory:"
_BUSY_MILLIS = 30_000
_CACHE_KIB = 64 * 1024
"""Of pages, for a writer: keys of runs and points lie all over a large file."""


def copy(path: str | Path, into: str | Path) -> None:
    """Copy a file as it is at one moment, whoever writes to it meanwhile; a SinkError says why it cannot be done."""
    try:
        private_files.create(into)
        with closing(_open(str(path), readonly=True)) as here, closing(sqlite3.connect(into)) as there:
            _check(here, str(path), readonly=False)
            here.backup(there)
    except (sqlite3.DatabaseError, UnicodeDecodeError, MemoryError) as error:
        if not isinstance(error, sqlite3.OperationalError):
            raise DamageError(error, where=str(path)) from error
        raise SinkError(f"cannot be copied to {into}: {error}", where=str(path)) from error


def connect(path: str | Path, *, readonly: bool = False) -> sqlite3.Connection:
    """Return an open catalogue, made or migrated when it may be written; a SinkError says why a file is refused.

    The connection is in autocommit mode; WAL lets others read while one writes.
    """
    place = str(path)
    if readonly and place != MEMORY and not Path(place).is_file():
        now = "`emit --to catalog:FILE` writes a catalogue, `emit --ledger FILE` a ledger"
        raise SinkError("there is no such catalogue or ledger", where=place, now=now)
    try:
        connection = _open(place, readonly=readonly)
    except sqlite3.Error as error:
        raise SinkError(
            f"cannot be opened: {_why(error, Path(place))}", where=place, now="name a file that can be written"
        ) from error
    try:
        _check(connection, place, readonly=readonly)
        if not readonly or place == MEMORY:
            _prepare(connection)
    except sqlite3.OperationalError as error:  # a full disk, a lock: nothing is wrong with the file
        connection.close()
        raise SinkError(f"cannot be opened: {error}", where=place) from error
    except (sqlite3.Error, UnicodeDecodeError, MemoryError) as error:  # the last two of what a damaged schema holds
        connection.close()
        if "not a database" in str(error):
            raise SinkError(f"is no catalogue: {error}", where=place, now="name another file") from error
        raise DamageError(error, where=place) from error
    except SinkError:
        connection.close()
        raise
    return connection


def _open(place: str, *, readonly: bool) -> sqlite3.Connection:
    if "\0" in place:
        raise sqlite3.OperationalError("its name holds a zero byte")
    if readonly and place != MEMORY:
        uri = Path(place).absolute().as_uri() + ("?immutable=1" if _is_frozen(Path(place)) else "?mode=ro")
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    else:
        if place != MEMORY:
            private_files.create(place)
        connection = sqlite3.connect(place, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MILLIS}")
    return connection


def _why(error: sqlite3.Error, path: Path) -> str:
    """Say why a file cannot be opened: SQLite says no more than that it cannot."""
    with suppress(OSError):
        if path.is_dir():
            return "it is a folder"
        if not path.parent.is_dir():
            return f"there is no folder {path.parent.absolute()}"
        if not path.exists() and not os.access(path.parent, os.W_OK):
            return f"nothing may be written into the folder {path.parent.absolute()}"
    return str(error)


def _is_frozen(path: Path) -> bool:
    """Say whether the file lies where we may not write and nobody does: WAL then has no place for its index."""
    return not os.access(path.parent, os.W_OK) and not path.with_name(f"{path.name}-wal").exists()


def _check(connection: sqlite3.Connection, place: str, *, readonly: bool) -> None:
    """Refuse a file that another program or a newer release has written, and for a reader one that must be migrated."""
    version, newest = user_version(connection), newest_version()
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if (tables or version) and connection.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
        raise SinkError("is an SQLite file, but no catalogue", where=place, now="name another file")
    if version > newest:
        raise SinkError(
            f"is a catalogue of version {version}, newer than {newest}", where=place, now="use the newer dh-bridge"
        )
    if 0 < version < oldest_version():
        raise SinkError(
            "was written by an earlier version of dh-bridge, whose states this version cannot read",
            where=place,
            now=OTHER_VERSION_REMEDY,
        )
    if readonly and not version and place != MEMORY:
        raise SinkError("is empty", where=place, now="the next `emit` that uses it makes its tables")
    if readonly and version < newest and place != MEMORY:
        raise SinkError("is of an older version", where=place, now="the next `emit` that uses it updates it")


def _prepare(connection: sqlite3.Connection) -> None:
    """Switch to WAL, and bring the tables of the file up to date."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    migrate(connection, application_id=_APPLICATION)
