"""An open file: its connection and its transactions."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dh_bridge.errors import SinkError
from dh_bridge.storage.connection import connect
from dh_bridge.storage.damage import DamageError, diagnose

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self


class Database:
    """A file with the tables of catalogue and ledger; one thread at a time writes, any number of readers beside it."""

    def __init__(self, path: str | Path, *, readonly: bool = False) -> None:
        """Open the file, making it unless ``readonly``; ``:memory:`` keeps it in memory. A SinkError says what is wrong."""
        self.path = str(path)
        self.connection = connect(path, readonly=readonly)

    def __enter__(self) -> Self:
        return self

    @contextmanager
    def transaction(self, *, keep: bool = True) -> Iterator[None]:
        """Make what happens inside one transaction, the inner ones included: all of it stays, or nothing (not ``keep``)."""
        inner = self.connection.in_transaction
        try:
            self.connection.execute("SAVEPOINT inner_one" if inner else "BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._undo(inner=inner)
                raise
            if keep:
                self.connection.execute("RELEASE inner_one" if inner else "COMMIT")
            else:
                self._undo(inner=inner)
        except sqlite3.Error as error:
            self._rolled_back()
            if not inner and self.connection.in_transaction:
                # Where WAL cannot be, readers hold up a COMMIT, which leaves the transaction open: the next one would be
                # taken for an inner one of it, and stay with nobody.
                self.connection.execute("ROLLBACK")
            busy = "locked" in str(error) or "busy" in str(error)
            if not isinstance(error, sqlite3.OperationalError) or "no such" in str(error):  # a table, or a column
                raise DamageError(error, where=self.path) from error
            now = "another program writes to it; try again" if busy else ""
            raise SinkError(f"cannot be written: {error}", where=self.path, now=now, retryable=busy) from error
        self._committed()

    def _undo(self, *, inner: bool) -> None:
        self._rolled_back()
        self.connection.execute("ROLLBACK TO inner_one" if inner else "ROLLBACK")

    def _rolled_back(self) -> None:
        """Forget what was derived from rows that are gone; for subclasses."""

    def _committed(self) -> None:
        """Keep bounded what is remembered between transactions; for subclasses."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Close the file; a SinkError instead of an error whose reason is that the file is damaged."""
        try:
            fault = None if error is None else diagnose(self.connection, self.path, error)
        finally:
            self.close()
        if fault is not None:
            raise fault from error

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self.connection.close()
