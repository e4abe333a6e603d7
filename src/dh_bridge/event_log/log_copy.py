"""Copies or links a log while other processes append to it and delete old segments."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from dh_bridge.event_log.segment import SegmentReader, list_segments
from dh_bridge.private_files import copy_private, sync_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def copy_log(folder: Path, target_folder: Path) -> int:
    """Copy all complete records of a log, and wait until they are on the disk.

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
    paths = _transfer(folder, target_folder, copy_private)
    if paths:
        _cut_incomplete_record(paths[-1])
    sync_folder(target_folder)
    return sum(path.stat().st_size for path in paths)


def link_log(folder: Path, target_folder: Path) -> list[Path]:
    """Link all segments of a log, so that they can be read even if another process deletes them.

    Where links are impossible, such as between two file systems, the segments are copied.

    Args:
        folder: the folder of the log.
        target_folder: the folder of the links, which only their owner can open.

    Returns:
        The links, oldest first.

    Raises:
        OSError: A segment can neither be linked nor copied.
        SinkError: The log cannot be read.
    """
    return _transfer(folder, target_folder, _link)


def _transfer(folder: Path, target_folder: Path, transfer: Callable[[Path, Path], None]) -> list[Path]:
    """Link or copy segments, the newest first: if another process deletes old ones meanwhile, there is no gap."""
    paths: list[Path] = []
    for path in reversed(list_segments(folder)):
        target = target_folder / path.name
        try:
            transfer(path, target)
        except FileNotFoundError:
            if path.exists():
                raise
            break  # it was deleted, and so were the older ones
        paths.insert(0, target)
    return paths


def _link(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(path, target)


def _cut_incomplete_record(path: Path) -> None:
    """Cut a record off that another process was appending."""
    reader = SegmentReader(path)
    end = reader.first_offset
    for record in reader.records():
        end = record.end
    reader.close()
    os.truncate(path, end)
