"""The delivery lock: of several processes with one ledger, one delivers at a time.

Two processes that read the same outbox would send everything twice, and older values after newer ones. The lock is a file beside the
ledger. It has no timeout if a server is slow. Other processes merge their batches meanwhile; the process with the lock sends their
proposals from the outbox.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dh_bridge.storage.connection import MEMORY_PATH
from dh_bridge.storage.process_lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOCK_SUFFIX = "-delivery"


@contextmanager
def try_delivery_lock(ledger_path: str, *, timeout: float = 0) -> Iterator[bool]:
    """Yield whether the lock is acquired within ``timeout`` seconds; it is released after the block.

    Raises:
        SinkError: The file of the lock cannot be created.
    """
    if ledger_path == MEMORY_PATH:  # this process has the lock
        yield True
        return
    # a link leads to the same lock
    with try_lock(f"{os.path.realpath(ledger_path)}{_LOCK_SUFFIX}", timeout=timeout) as has_lock:
        yield has_lock
