"""Copies a log while other processes append to it and delete old segments."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from dh_bridge.event_log.segment import SegmentReader, list_segments
from dh_bridge.private_files import open_private, sync_folder

if TYPE_CHECKING:
    from pathlib import Path


def copy_log(folder: Path, target_folder: Path) -> int:
    """Copy all complete records of a log, and wait until they are on the disk.

    The newest segment is copied first: if another process deletes old segments meanwhile, the copy has no gap.

    Args:
        folder: the folder of the log.
        target_folder: the folder of the copy, which is created.

    Returns:
        The bytes of the copy.

    Raises:
        OSError: The copy cannot be written.
        SinkError: The log cannot be read.
    """
    target_folder.mkdir(mode=0o700)
    size = 0
    for number, path in enumerate(reversed(list_segments(folder))):
        target_path = target_folder / path.name
        try:
            with path.open("rb") as source, open_private(str(target_path), "wb") as target:
                shutil.copyfileobj(source, target)
                os.fsync(target.fileno())
        except FileNotFoundError:
            if path.exists():
                raise
            break  # it was deleted, and so were the older ones
        if number == 0:
            _cut_incomplete_record(target_path)
        size += target_path.stat().st_size
    sync_folder(target_folder)
    return size


def _cut_incomplete_record(path: Path) -> None:
    """Cut a record off that another process was appending."""
    reader = SegmentReader(path)
    end = reader.first_offset
    for record in reader.records():
        end = record.end
    reader.close()
    os.truncate(path, end)
