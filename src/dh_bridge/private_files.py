"""Files that may hold texts of events: only their owner may read those that the program creates.

The mode of an existing file does not change: its owner decides who reads it.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODE = 0o600
DRAFT_SUFFIX = ".part"
"""What the name of a file or folder ends with while it is incomplete."""


def open_private(path: str, mode: str, *, buffering: int = 0) -> IO[bytes]:
    """Return an open file, as :func:`open` does (``mode``: wb or ab); a new one has the mode 0600 from its first moment."""
    return open(path, mode, buffering=buffering, opener=lambda name, flags: os.open(name, flags, MODE))


def create_private(path: str | Path) -> None:
    """Create an empty file with the mode 0600 if there is none; SQLite gives the mode of a database to the files beside it.

    If that is impossible, nothing happens: the caller opens the file, and reports the reason.
    """
    with suppress(OSError, ValueError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, MODE))


def copy_mode(source: str | Path, target: str | Path) -> None:
    """Give ``target``, which replaces ``source``, the mode of ``source``; do nothing if ``source`` does not exist."""
    with suppress(OSError):
        os.chmod(target, stat.S_IMODE(os.stat(source).st_mode))  # noqa: PTH101, PTH116 - paths as they were named


def copy_private(source: Path, target: Path) -> None:
    """Copy a file, and wait until the copy is on the disk.

    Raises:
        OSError: A file cannot be read or written.
    """
    with source.open("rb") as original, open_private(str(target), "wb", buffering=-1) as file:
        shutil.copyfileobj(original, file)
        file.flush()
        os.fsync(file.fileno())


def draft_path(path: Path) -> Path:
    """Return the path of a file or folder while it is incomplete."""
    return path.with_name(f"{path.name}{DRAFT_SUFFIX}")


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """Yield an empty file that replaces ``path`` as a whole, on the disk, at the end of the block; an error leaves ``path`` as it is.

    Raises:
        OSError: The file cannot be written.
    """
    draft = draft_path(path)
    try:
        with open_private(str(draft), "wb", buffering=-1) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        copy_mode(path, draft)
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink()
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Write the names of a folder to the disk."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows writes them with the file
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
