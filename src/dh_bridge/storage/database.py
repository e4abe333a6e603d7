"""An open file: its connection and its transactions."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dh_bridge.errors import SinkError
from dh_bridge.storage.connection import connect
from dh_bridge.storage.damage import DamageError, diagnose_error
from dh_bridge.storage.free_pages import release_free_pages, release_on_close

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from typing_extensions import Self


class Database:
    """A file with the tables of catalogue and ledger; one thread at a time writes, any number of readers beside it."""

    def __init__(self, path: str | Path, *, readonly: bool = False) -> None:
        """Open the file, and create it unless ``readonly``; ``:memory:`` is a database in memory. A SinkError describes the problem."""
        self.path = str(path)
        self._is_readonly = readonly
        self.connection = connect(path, readonly=readonly)

    def __enter__(self) -> Self:
        return self

    @contextmanager
    def transaction(self, *, commit: bool = True) -> Iterator[None]:
        """Run the block as one transaction, inner ones included; it is rolled back after an error, or if ``commit`` is False."""
        is_nested = self.connection.in_transaction
        try:
            self.connection.execute("SAVEPOINT inner_one" if is_nested else "BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self._roll_back(is_nested=is_nested)
                raise
            if commit:
                self.connection.execute("RELEASE inner_one" if is_nested else "COMMIT")
            else:
                self._roll_back(is_nested=is_nested)
        except sqlite3.Error as error:
            self._after_rollback()
            if not is_nested and self.connection.in_transaction:
                # Where WAL cannot be, readers hold up a COMMIT, which leaves the transaction open: the next one would be
                # taken for an inner one of it, and stay with nobody.
                self.connection.execute("ROLLBACK")
            is_busy = "locked" in str(error) or "busy" in str(error)
            if not isinstance(error, sqlite3.OperationalError) or "no such" in str(error):  # a table, or a column
                raise DamageError(error, where=self.path) from error
            remedy = "another program is writing to it; try again" if is_busy else ""
            raise SinkError(
                f"cannot write the file: {error}", location=self.path, remedy=remedy, retryable=is_busy
            ) from error
        self._after_commit()

    def _roll_back(self, *, is_nested: bool) -> None:
        self._after_rollback()
        self.connection.execute("ROLLBACK TO inner_one" if is_nested else "ROLLBACK")

    def _after_rollback(self) -> None:
        """Clear caches of deleted rows; for subclasses."""

    def _after_commit(self) -> None:
        """Bound the caches between transactions; for subclasses."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        """Close the file; a SinkError instead of an error whose reason is that the file is damaged."""
        try:
            fault = None if error is None else diagnose_error(self.connection, self.path, error)
        finally:
            self.close()
        if fault is not None:
            raise fault from error

    def close(self) -> None:
        """Close the file; a second call does nothing. If many of its pages are free, they are returned to the disk."""
        if not self._is_readonly:
            release_on_close(self.connection)
        self.connection.close()

    def release_free_pages(self) -> int:
        """Return the free pages of the file to the disk.

        Returns:
            By how many bytes the file is smaller.

        Raises:
            SinkError: Another process uses the file, or the disk is full. The file is unchanged.
        """
        try:
            return release_free_pages(self.connection)
        except sqlite3.OperationalError as error:
            raise SinkError(
                f"cannot return free space to the disk: {error}",
                location=self.path,
                remedy="run the command again when no other process uses the file",
                retryable=True,
            ) from error
