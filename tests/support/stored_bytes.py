"""Everything that the files of a ledger or a catalogue store, compressed or not: for tests that search in it."""

import sqlite3
from contextlib import closing

from dh_bridge.event_log import EventLog
from dh_bridge.ledger.compression import Compression

FRAME_MAGIC = b"\x28\xb5\x2f\xfd"
MAX_EVENTS, MAX_BYTES = 1_000_000, 1 << 30


def stored_bytes(path):
    """Return the bytes of all files of ``path``, the values of its tables, and the events of its log."""
    files = [file for file in path.parent.glob(f"{path.name}*") if file.is_file()]
    return b"\n".join([*[file.read_bytes() for file in files], *table_values(path), *log_events(path)])


def table_values(path):
    """Yield the compressed values of all tables as they were; a checksum may precede a frame."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        compression = Compression(connection)
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()
        for (table,) in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 - a name from the schema
                for value in row:
                    if isinstance(value, bytes) and FRAME_MAGIC in value[:8]:
                        yield compression.decompress(value[value.index(FRAME_MAGIC) :])


def log_events(path):
    """Return the events of the log of a ledger; none if it has no log."""
    folder = path.with_name(f"{path.name}.log")
    if not folder.is_dir():
        return []
    with EventLog(folder, max_bytes=MAX_BYTES) as log:
        batch = log.read_after(0, max_events=MAX_EVENTS, max_bytes=MAX_BYTES)
    return [part for _, event in batch.events for part in (event.event, event.location.encode())]
