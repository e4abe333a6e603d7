"""The catalogue's file: its tables, how it is opened, and what is refused."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from dh_bridge import private_files
from dh_bridge.catalog.damage import DamageError
from dh_bridge.errors import SinkError

VERSION = 9
"""``PRAGMA user_version`` of a file that this release writes; a migration for each older one stands in _MIGRATIONS."""

_APPLICATION = 0x64684272
"""``PRAGMA application_id``, "dhBr": what tells a catalogue from any other SQLite file."""

_MEMORY = ":memory:"
_BUSY_MILLIS = 30_000
_CACHE_KIB = 64 * 1024
"""Of pages, for a writer: keys of runs and points lie all over a large file."""

_MIGRATIONS = (
    # 0 -> 1. URNs are long and stand in many rows, so they are numbered once. Ordinary rowid tables: rows are wide, and
    # arrive in no order, which WITHOUT ROWID tables pay for four times over (measured).
    """
    CREATE TABLE entity (
        id INTEGER PRIMARY KEY, urn TEXT NOT NULL UNIQUE, type TEXT NOT NULL
    );
    CREATE TABLE aspect (
        entity INTEGER NOT NULL REFERENCES entity, name TEXT NOT NULL, value BLOB NOT NULL, UNIQUE (entity, name)
    );
    CREATE TABLE point (
        entity INTEGER NOT NULL REFERENCES entity, aspect TEXT NOT NULL, document BLOB NOT NULL,
        time INTEGER NOT NULL, value BLOB NOT NULL, UNIQUE (entity, aspect, document)
    );
    CREATE TABLE relationship (
        source INTEGER NOT NULL REFERENCES entity, aspect TEXT NOT NULL, name TEXT NOT NULL,
        target INTEGER NOT NULL REFERENCES entity,
        lineage INTEGER NOT NULL, -- 1: the target is upstream, -1: it is downstream, 0: no lineage
        UNIQUE (source, aspect, name, target)
    );
    CREATE INDEX relationship_target ON relationship (target);
    CREATE TABLE column_edge (
        owner INTEGER NOT NULL REFERENCES entity, aspect TEXT NOT NULL,
        downstream INTEGER NOT NULL REFERENCES entity, upstream INTEGER NOT NULL REFERENCES entity,
        operation TEXT NOT NULL, UNIQUE (owner, aspect, downstream, upstream, operation)
    );
    CREATE INDEX column_edge_downstream ON column_edge (downstream);
    CREATE INDEX column_edge_upstream ON column_edge (upstream);
    """,
    # 1 -> 2. The ledger: states of runs and of what they share, what was sent, what waits to be sent.
    """
    CREATE TABLE run (
        id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,
        state BLOB, -- with what it contributes, NULL when it is evicted
        job BLOB, -- hash of the URN of its job
        ended INTEGER, -- time of the last terminal event in microseconds, NULL while it is open
        touched INTEGER NOT NULL -- when it was last written, in milliseconds
    );
    CREATE INDEX run_ended ON run (touched) WHERE state IS NOT NULL AND ended IS NOT NULL;
    CREATE INDEX run_open ON run (touched) WHERE state IS NOT NULL AND ended IS NULL;
    CREATE TABLE shared (
        id INTEGER PRIMARY KEY, urn TEXT NOT NULL UNIQUE,
        base BLOB, -- what runs that are gone have left
        cells BLOB NOT NULL
    );
    CREATE TABLE touch (
        entity INTEGER NOT NULL REFERENCES shared, run INTEGER NOT NULL REFERENCES run, PRIMARY KEY (entity, run)
    ) WITHOUT ROWID;
    CREATE INDEX touch_run ON touch (run);
    CREATE TABLE kin (
        token TEXT NOT NULL, run INTEGER NOT NULL REFERENCES run, PRIMARY KEY (token, run)
    ) WITHOUT ROWID;
    CREATE INDEX kin_run ON kin (run);
    CREATE TABLE sent (urn TEXT PRIMARY KEY, aspects BLOB NOT NULL) WITHOUT ROWID;
    CREATE TABLE sent_point (
        key BLOB PRIMARY KEY, hash BLOB NOT NULL, time INTEGER NOT NULL -- when it was sent, in milliseconds
    ) WITHOUT ROWID;
    CREATE INDEX sent_point_time ON sent_point (time);
    CREATE TABLE outbox (
        id INTEGER PRIMARY KEY AUTOINCREMENT, urn TEXT NOT NULL, aspect TEXT NOT NULL, proposal BLOB NOT NULL,
        since INTEGER NOT NULL, -- milliseconds
        tries INTEGER NOT NULL DEFAULT 0, reason TEXT, dead INTEGER NOT NULL DEFAULT 0
    );
    CREATE INDEX outbox_aspect ON outbox (urn, aspect);
    CREATE INDEX outbox_dead ON outbox (dead);
    CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID; -- such as that deliveries pause
    CREATE TABLE story (
        run INTEGER NOT NULL REFERENCES run, time INTEGER NOT NULL, -- microseconds
        event BLOB NOT NULL, -- a hash of the event
        told BLOB NOT NULL, -- what the event was, and what its batch sent
        PRIMARY KEY (run, time, event)
    ) WITHOUT ROWID;
    """,
    # 2 -> 3. New entities that are let through so many an hour; when which delivery was told.
    """
    CREATE TABLE newcomer (
        id INTEGER PRIMARY KEY, urn TEXT NOT NULL UNIQUE,
        admitted INTEGER NOT NULL -- when it was let through, in milliseconds, 0: it is held, -1: and nobody has looked for it
    );
    CREATE INDEX newcomer_admitted ON newcomer (admitted);
    CREATE TABLE delivery (
        run TEXT PRIMARY KEY, -- the runId of systemMetadata
        first INTEGER NOT NULL, last INTEGER NOT NULL -- times of its batches in milliseconds
    ) WITHOUT ROWID;
    """,
    # 3 -> 4. What many runs say alike, once.
    """
    CREATE TABLE fact (
        id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, value BLOB NOT NULL,
        touched INTEGER NOT NULL -- milliseconds, see dh_bridge.ledger.facts
    );
    CREATE INDEX fact_touched ON fact (touched);
    """,
    # 4 -> 5. What runs read and wrote when; datasets, jobs: hashes of URNs, times: microseconds.
    """
    CREATE TABLE handed (
        run INTEGER NOT NULL REFERENCES run, dataset BLOB NOT NULL,
        wrote INTEGER NOT NULL, -- 0: the run read it, at both times
        job BLOB NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, version TEXT,
        PRIMARY KEY (run, dataset, wrote)
    ) WITHOUT ROWID;
    CREATE INDEX handed_dataset ON handed (dataset, wrote, last);
    """,
    # 5 -> 6. Who is below whom has a table of its own, as it makes nobody kin.
    """
    CREATE TABLE heritage (
        run INTEGER PRIMARY KEY REFERENCES run,
        parent TEXT, -- the run above it, NULL where it asks nobody
        handed TEXT -- what those below have from it
    );
    CREATE INDEX heritage_parent ON heritage (parent);
    INSERT INTO heritage
        SELECT run, max(CASE WHEN token LIKE 'under %' THEN substr(token, 7) END),
            max(CASE WHEN token LIKE 'hands down %' THEN substr(token, 12) END)
        FROM kin WHERE token LIKE 'under %' OR token LIKE 'hands down %' GROUP BY run;
    DELETE FROM kin WHERE token LIKE 'under %' OR token LIKE 'hands down %';
    """,
    # 6 -> 7. With every batch old deliveries are forgotten, and there may be one for each event.
    """
    CREATE INDEX delivery_last ON delivery (last);
    """,
    # 7 -> 8. Who wrote or read a version, and what was being written at a time, is found however often a dataset was.
    """
    CREATE INDEX handed_version ON handed (dataset, version, wrote, last) WHERE version IS NOT NULL;
    CREATE INDEX handed_span ON handed (dataset, last) WHERE wrote = 1 AND first < last;
    """,
    # 8 -> 9. Upstream runs are those that events state; they are not inferred from what runs read and wrote.
    """
    DROP TABLE handed;
    """,
)


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
    if readonly and place != _MEMORY and not Path(place).is_file():
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
        if not readonly or place == _MEMORY:
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
    if readonly and place != _MEMORY:
        uri = Path(place).absolute().as_uri() + ("?immutable=1" if _is_frozen(Path(place)) else "?mode=ro")
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False)
    else:
        if place != _MEMORY:
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


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _check(connection: sqlite3.Connection, place: str, *, readonly: bool) -> None:
    """Refuse a file that another program or a newer release has written, and for a reader one that must be migrated."""
    version = _pragma(connection, "user_version")
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if (tables or version) and _pragma(connection, "application_id") != _APPLICATION:
        raise SinkError("is an SQLite file, but no catalogue", where=place, now="name another file")
    if version > VERSION:
        raise SinkError(
            f"is a catalogue of version {version}, newer than {VERSION}", where=place, now="use the newer dh-bridge"
        )
    if readonly and version < VERSION and place != _MEMORY:
        raise SinkError("is of an older release, or empty", where=place, now="the next `emit` that uses it mends that")


def _prepare(connection: sqlite3.Connection) -> None:
    """Switch to WAL and run the migrations that the file has not seen; two openers at once do it once."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    if _pragma(connection, "user_version") == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for migration in _MIGRATIONS[_pragma(connection, "user_version") :]:
            for statement in migration.split(";"):
                if statement.strip():
                    connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
    except sqlite3.Error:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
