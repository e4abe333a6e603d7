"""The lock of a log: one process at a time appends; it ends with its process, for any reason."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dh_bridge.private_files import MODE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    import msvcrt

    def _lock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_LOCK, 1)  # type: ignore[attr-defined,unused-ignore]

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)  # type: ignore[attr-defined,unused-ignore]

else:

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


_LOCK_FILE = "lock"


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of a log inside the block; an OSError if its file cannot be opened."""
    descriptor = os.open(folder / _LOCK_FILE, os.O_RDWR | os.O_CREAT, MODE)
    try:
        _lock(descriptor)
        try:
            yield
        finally:
            _unlock(descriptor)
    finally:
        os.close(descriptor)
