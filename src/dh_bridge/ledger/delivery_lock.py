"""Whose turn it is to deliver: of several processes with one ledger one sends at a time.

Two that read the same outbox would send everything twice, and what is older after what is newer. The turn is SQLite's own lock on
an empty file beside the ledger: it is free the moment its process is gone, however it went, and never runs out while a server
is slow. Batches are folded meanwhile; what comes of them waits in the outbox, where whoever delivers finds it.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dh_bridge import private_files
from dh_bridge.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Iterator

_MEMORY = ":memory:"
_ENDING = "-delivery"


@contextmanager
def turn(ledger: str, *, patience: float = 0) -> Iterator[bool]:
    """Yield whether the turn is ours, until the block ends; wait for it ``patience`` seconds. A SinkError: no such file can be."""
    if ledger == _MEMORY:  # nobody else has it
        yield True
        return
    ledger = os.path.realpath(ledger)  # who names it by a link means the same one
    try:
        private_files.create(f"{ledger}{_ENDING}")
        connection = sqlite3.connect(f"{ledger}{_ENDING}", timeout=patience, isolation_level=None)
    except sqlite3.Error as error:
        raise SinkError(f"cannot be opened: {error}", where=f"{ledger}{_ENDING}") from error
    try:
        yield _locked(connection, ledger)
    finally:
        connection.close()


def _locked(connection: sqlite3.Connection, ledger: str) -> bool:
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        if "locked" in str(error):
            return False
        raise SinkError(f"cannot be locked: {error}", where=f"{ledger}{_ENDING}") from error
    return True
