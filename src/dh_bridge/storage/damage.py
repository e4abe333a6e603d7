"""Damaged files: whether an error that came up while a catalogue or ledger was open is the fault of its file.

SQLite has no checksums, so a damaged page shows as any error at all: of SQLite, of a decoder, or of code that meets a value that
nobody wrote. Only after such an error is the whole file looked at.
"""

from __future__ import annotations

import sqlite3
import zlib

import msgspec

from dh_bridge.errors import AspectError, SinkError
from dh_bridge.storage.migrations import owners

REMEDY = "restore a backup, or move the file away and run the command again: `emit` makes a new file, and sends everything again"
OTHER_VERSION_REMEDY = "move the file away and send the events again: `emit` writes a new file"
_LONGEST = 300
"""Characters of a reason that are kept."""
_CERTAIN = (msgspec.DecodeError, UnicodeDecodeError, zlib.error)
"""Errors of what reads the values of the file; events, settings and answers have their own errors."""
_SUSPECT = (
    ArithmeticError, AspectError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
    ValueError, sqlite3.Error,
)  # fmt: skip
_PASSING = ("locked", "busy", "full", "readonly", "read-only", "unable to open", "disk I/O")


class DamageError(SinkError):
    """A file, or the value at ``where`` in a file, that cannot be read; ``why`` says what is wrong."""

    def __init__(self, why: object, *, where: str) -> None:
        self.why = " ".join(str(why).split())[:_LONGEST]  # SQLite quotes the damaged text
        super().__init__(f"is damaged: {self.why}", where=where, now=REMEDY)


class OtherVersionError(DamageError):
    """A file, or the value at ``where`` in a file, whose states another version of dh-bridge stored in the format ``why``."""

    def __init__(self, why: object, *, where: str) -> None:
        super().__init__(why, where=where)
        self.what = f"holds states of another version of dh-bridge: {self.why}"
        self.now = OTHER_VERSION_REMEDY


def diagnose(
    connection: sqlite3.Connection, path: str, error: BaseException, *, search: bool = True
) -> SinkError | None:
    """Return the error to raise in the place of ``error`` if the file is at fault, else None.

    ``search``: look through the whole file for the reason of an error that may have any other, which takes long.
    """
    if isinstance(error, sqlite3.OperationalError) and any(word in str(error) for word in _PASSING):
        return SinkError(f"cannot be read: {error}", where=path, now="try again", retryable=True)
    if isinstance(error, DamageError):
        return None if error.where == path else type(error)(f"{error.why} ({error.where})", where=path)
    if type(error) in (sqlite3.DatabaseError, sqlite3.OperationalError):  # the latter: a column that its schema has not
        return DamageError(error, where=path)
    if isinstance(error, _CERTAIN):
        return DamageError(f"a value cannot be read ({type(error).__name__})", where=path)
    if search and isinstance(error, _SUSPECT) and (why := _fault(connection)) is not None:
        return DamageError(why, where=path)
    return None


def _fault(connection: sqlite3.Connection) -> str | None:
    """Return the first fault of a file; None when neither SQLite nor the owners of the tables find one."""
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            return str(found).strip().replace("\n", " ")
        return next((fault for owner in owners() if (fault := owner.find_fault(connection)) is not None), None)
    except (sqlite3.Error, MemoryError, OverflowError, UnicodeDecodeError) as error:
        return str(error) or type(error).__name__
