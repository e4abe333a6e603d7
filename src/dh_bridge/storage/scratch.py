"""Folders for temporary files. They may have copies of events, so those of killed processes are deleted."""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING
from uuid import uuid4

from dh_bridge.errors import SinkError
from dh_bridge.storage.process_lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

PREFIX = "dh_bridge_"
"""What the names of the folders begin with."""
_LOCK_SUFFIX = "-lock"


@contextmanager
def scratch_folder(purpose: str) -> Iterator[Path]:
    """Yield a folder that only its owner can open, and that is deleted after the block; delete those of killed processes first.

    A folder is in the folder of temporary files (``TMPDIR``, or ``/tmp``). The file of its lock is beside it.

    Args:
        purpose: a word for the name of the folder, for example ``replay``.

    Raises:
        OSError: The folder cannot be created.
        SinkError: Its lock cannot be created.
    """
    _delete_abandoned_folders()
    folder = Path(gettempdir(), f"{PREFIX}{purpose}_{uuid4().hex}")
    lock = folder.with_name(f"{folder.name}{_LOCK_SUFFIX}")
    with try_lock(str(lock)):
        folder.mkdir(mode=0o700)  # with the lock: a folder without one is abandoned
        try:
            yield folder
        finally:
            _delete(folder, lock)


def _delete(folder: Path, lock: Path) -> None:
    """Delete a folder and its lock; if that fails, the next process tries again."""
    with suppress(OSError):
        shutil.rmtree(folder)
        lock.unlink()


def _delete_abandoned_folders() -> None:
    for lock in Path(gettempdir()).glob(f"{PREFIX}*{_LOCK_SUFFIX}"):
        folder = lock.with_name(lock.name.removesuffix(_LOCK_SUFFIX))
        with suppress(OSError, SinkError):
            if _is_own(folder) and _is_own(lock):
                with try_lock(str(lock)) as is_abandoned:
                    if is_abandoned:
                        _delete(folder, lock)


def _is_own(path: Path) -> bool:
    """Return whether a file or folder belongs to the present user, and is no link."""
    status = path.lstat()
    return not stat.S_ISLNK(status.st_mode) and (not hasattr(os, "getuid") or status.st_uid == os.getuid())
