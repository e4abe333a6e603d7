"""Damaged files: finds whether an error of an open catalogue or ledger is caused by its file.

SQLite has no checksums, so a damaged page may cause any error: of SQLite, of a decoder, or of code that reads a corrupt
value. Only after such an error the whole file is checked.
"""

from __future__ import annotations

import sqlite3
import zlib

import msgspec

from dh_bridge.errors import AspectError, SinkError
from dh_bridge.storage.migrations import table_owners

OTHER_VERSION_REMEDY = (
    "move the file away, but not its event log: the next `emit` makes a new file of the log, and sends everything again"
)
REMEDY = f"restore a backup, or {OTHER_VERSION_REMEDY}"
_MAX_PROBLEM_CHARS = 300
"""Maximum characters of a reason."""
_DAMAGE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, zlib.error)
"""Errors of what reads the values of the file; events, settings and answers have their own errors."""
_SUSPICIOUS_ERRORS = (
    ArithmeticError, AspectError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError, TypeError,
    ValueError, sqlite3.Error,
)  # fmt: skip
_TRANSIENT_TEXTS = ("locked", "busy", "full", "readonly", "read-only", "unable to open", "disk I/O")


class DamageError(SinkError):
    """A file, or the value at ``where`` in a file, that cannot be read; ``reason`` describes the damage."""

    def __init__(self, reason: object, *, where: str) -> None:
        self.reason = " ".join(str(reason).split())[:_MAX_PROBLEM_CHARS]  # SQLite quotes the damaged text
        super().__init__(f"the file is damaged: {self.reason}", location=where, remedy=REMEDY)


class OtherVersionError(DamageError):
    """A file, or the value at ``where`` in a file, whose states another version of dh-bridge stored in the format ``format_name``."""

    def __init__(self, format_name: object, *, where: str) -> None:
        super().__init__(format_name, where=where)
        self.problem = f"the file contains states of another version of dh-bridge: {self.reason}"
        self.remedy = OTHER_VERSION_REMEDY


def diagnose_error(
    connection: sqlite3.Connection, path: str, error: BaseException, *, checks_file: bool = True
) -> SinkError | None:
    """Return the error to raise instead of ``error`` if the file is at fault, else None.

    ``checks_file``: look through the whole file for the reason of an error that may have any other, which takes long.
    """
    if isinstance(error, sqlite3.OperationalError) and any(text in str(error) for text in _TRANSIENT_TEXTS):
        return SinkError(f"cannot read the file: {error}", location=path, remedy="try again", retryable=True)
    if isinstance(error, DamageError):
        return None if error.location == path else type(error)(f"{error.reason} ({error.location})", where=path)
    if type(error) in (sqlite3.DatabaseError, sqlite3.OperationalError):  # the latter: a column that its schema has not
        return DamageError(error, where=path)
    if isinstance(error, _DAMAGE_ERRORS):
        return DamageError(f"cannot read a value ({type(error).__name__})", where=path)
    if checks_file and isinstance(error, _SUSPICIOUS_ERRORS) and (problem := _find_fault(connection)) is not None:
        return DamageError(problem, where=path)
    return None


def _find_fault(connection: sqlite3.Connection) -> str | None:
    """Return the first fault of a file; None when neither SQLite nor the owners of the tables find one."""
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        (result,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        if result != "ok":
            return str(result).strip().replace("\n", " ")
        return next((fault for owner in table_owners() if (fault := owner.find_fault(connection)) is not None), None)
    except (sqlite3.Error, MemoryError, OverflowError, UnicodeDecodeError) as error:
        return str(error) or type(error).__name__
