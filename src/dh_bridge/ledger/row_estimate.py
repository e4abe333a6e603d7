"""An upper bound of the rows of a table without counting them: the last count plus all rows that were added since.

Deleted rows are not subtracted, so the number may be too high, never too low. If the bound reaches a limit, the rows are
counted again: rarely, since as many rows must be added first as there was room for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

_SELECT_NOTE = "SELECT value FROM note WHERE name = ?"
_WRITE_NOTE = "INSERT OR REPLACE INTO note (name, value) VALUES (?, ?)"


class RowEstimate:
    """The estimate ``name``, stored in the notes of the ledger's file for all processes; the caller owns the transactions.

    ``count_query`` counts the rows; ``last_id_query`` returns the highest number that a row has, or ever had.
    """

    def __init__(self, connection: sqlite3.Connection, name: str, *, count_query: str, last_id_query: str) -> None:
        self._connection = connection
        self._name = name
        self._count_query = count_query
        self._last_id_query = last_id_query

    def max_count(self) -> int:
        """Return a number that is at least the number of rows."""
        note = self._connection.execute(_SELECT_NOTE, (self._name,)).fetchone()
        if note is None:
            return self._last_id()
        counted, last_id = map(int, str(note[0]).split())
        return counted + max(self._last_id() - last_id, 0)

    def count_rows(self) -> int:
        """Count the rows, and store the number."""
        row_count = self._select_int(self._count_query)
        self.record_count(row_count)
        return row_count

    def record_count(self, row_count: int) -> None:
        """Store that there are at most so many rows."""
        self._connection.execute(_WRITE_NOTE, (self._name, f"{row_count} {self._last_id()}"))

    def reset(self) -> None:
        """Delete the stored number: row numbers start again."""
        self._connection.execute("DELETE FROM note WHERE name = ?", (self._name,))

    def _last_id(self) -> int:
        return self._select_int(self._last_id_query)

    def _select_int(self, query: str) -> int:
        row = self._connection.execute(query).fetchone()
        return 0 if row is None or row[0] is None else int(row[0])
