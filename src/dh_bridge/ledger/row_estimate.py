"""How many rows a table has at most, without counting them: as many as were counted once, and all that came since.

What went since is left out, so the number is too high rather than too low. Who must not go by that counts anew: rarely, since
as many rows must come first as there was room for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3

_KNOWN = "SELECT value FROM note WHERE name = ?"
_NOTE = "INSERT OR REPLACE INTO note (name, value) VALUES (?, ?)"


class Tally:
    """The tally ``name`` in the notes of the ledger's file, so that every process has it; the caller owns the transactions.

    ``count`` is a query for how many there are, and ``newest`` one for the highest number that a row has, or ever had.
    """

    def __init__(self, connection: sqlite3.Connection, name: str, *, count: str, newest: str) -> None:
        self._connection = connection
        self._name = name
        self._count = count
        self._newest = newest

    def at_most(self) -> int:
        """Return a number that is not below how many there are."""
        known = self._connection.execute(_KNOWN, (self._name,)).fetchone()
        if known is None:
            return self._last()
        counted, last = map(int, str(known[0]).split())
        return counted + max(self._last() - last, 0)

    def counted(self) -> int:
        """Count them, and note it."""
        found = self._one(self._count)
        self.note(found)
        return found

    def note(self, number: int) -> None:
        """Note that there are so many, or fewer."""
        self._connection.execute(_NOTE, (self._name, f"{number} {self._last()}"))

    def forget(self) -> None:
        """Forget what was noted: numbers of rows are given a second time."""
        self._connection.execute("DELETE FROM note WHERE name = ?", (self._name,))

    def _last(self) -> int:
        return self._one(self._newest)

    def _one(self, query: str) -> int:
        row = self._connection.execute(query).fetchone()
        return 0 if row is None or row[0] is None else int(row[0])
