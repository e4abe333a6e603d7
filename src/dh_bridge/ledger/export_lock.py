"""The export lock: of several processes with one ledger, one exports or erases events at a time.

Otherwise an export could write events that are being erased.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dh_bridge.errors import SinkError
from dh_bridge.storage.process_lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOCK_SUFFIX = "-export"


@contextmanager
def export_lock(ledger_path: Path) -> Iterator[None]:
    """Hold the lock inside the block.

    Raises:
        SinkError: Another process holds it, or its file cannot be created.
    """
    # a link leads to the same lock
    with try_lock(f"{os.path.realpath(ledger_path)}{_LOCK_SUFFIX}") as has_lock:
        if not has_lock:
            raise SinkError(
                "another process exports or erases the events of the ledger",
                location=str(ledger_path),
                remedy="run the command again when that one has ended",
                retryable=True,
            )
        yield
