"""Deletes all rows of a ledger or catalogue that contain a text, whatever event brought it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from dh_bridge.catalog.store import delete_entities, delete_references
from dh_bridge.datahub.urns import encode_part
from dh_bridge.ledger.compression import compression_of
from dh_bridge.ledger.log_failures import LogFailures
from dh_bridge.ledger.outbox import Outbox

if TYPE_CHECKING:
    from dh_bridge.catalog.store import Catalog

_TEXT_COLUMNS = (("aspect", "value"), ("point", "value"), ("search_text", "text"))
"""Tables of a catalogue, and the column that has texts of events."""
_ASPECT_TABLES = (("relationship", "source"), ("column_edge", "owner"))
"""Tables of a catalogue with the rows that an aspect makes, and the column that has its entity."""
_KEY_COLUMNS = (("new_entity", "urn"), ("sent", "urn"), ("outbox", "urn"), ("producer_activity", "producer"))
"""Tables of a ledger, and the column whose value names a row."""


class TextSearch:
    """Looks for a text in bytes: as it is, in the other case, inside JSON and inside a URN.

    >>> TextSearch("Maria Lopez").is_in(b'{"owner":"maria lopez"}')
    True
    """

    def __init__(self, text: str) -> None:
        forms = {text, text.lower(), orjson.dumps(text)[1:-1].decode(), encode_part(text)}
        self._forms = {form.encode().lower() for form in forms}

    def is_in(self, data: bytes) -> bool:
        """Return whether the bytes contain the text."""
        lowered = data.lower()
        return any(form in lowered for form in self._forms)


def forget_text(file: Catalog, text: str) -> None:
    """Delete what contains a text: entities, aspects, points, fingerprints, waiting proposals; the caller opens the transaction."""
    search, connection = TextSearch(text), file.connection
    rows = connection.execute("SELECT urn FROM entity").fetchall()
    urns = [urn for (urn,) in rows if search.is_in(urn.encode())]
    delete_entities(file, urns)
    delete_references(file, urns)
    for table, column in _KEY_COLUMNS:
        rows = connection.execute(f"SELECT {column} FROM {table}").fetchall()  # noqa: S608 - constants of the schema
        keys = [row for row in rows if search.is_in(row[0].encode())]
        connection.executemany(f"DELETE FROM {table} WHERE {column} = ?", keys)  # noqa: S608 - as above
    for table, column in _TEXT_COLUMNS:
        rows = connection.execute(f"SELECT rowid, {column} FROM {table}").fetchall()  # noqa: S608 - as above
        numbers = [(number,) for number, value in rows if search.is_in(_as_bytes(value))]
        for owned_table, owner in _ASPECT_TABLES if table == "aspect" else ():
            connection.executemany(
                f"DELETE FROM {owned_table} WHERE ({owner}, aspect) = (SELECT entity, name FROM aspect WHERE rowid = ?)",  # noqa: S608 - as above
                numbers,
            )
        connection.executemany(f"DELETE FROM {table} WHERE rowid = ?", numbers)  # noqa: S608 - as above
    compression = compression_of(connection)
    for urn, aspects in connection.execute("SELECT urn, aspects FROM sent").fetchall():
        if search.is_in(compression.decompress(aspects)):
            connection.execute("DELETE FROM sent WHERE urn = ?", (urn,))
    outbox, failures = Outbox(connection), LogFailures(connection)
    for is_dead in (False, True):
        numbers_waiting = [
            item.number for item in outbox.iter_queued(is_dead=is_dead) if search.is_in(repr(item).encode())
        ]
        outbox.delete(is_dead=is_dead, numbers=numbers_waiting)
        for failure in failures.iter_failures(is_dead=is_dead):
            if search.is_in(f"{failure.location} {failure.reason}".encode()):
                failures.delete(failure.position)


def _as_bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()
