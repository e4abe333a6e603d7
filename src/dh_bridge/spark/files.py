"""Local files, which the workers open: those with events, and their parts. No pyspark here.

A part is ``start-end:path`` (in bytes; ``0-0`` is the whole file): bytes, because the name of a file may not be UTF-8.
"""

from __future__ import annotations

import logging
import os
from glob import glob, has_magic
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.errors import SettingsError
from dh_bridge.openlineage.folders import event_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

log = logging.getLogger("dh_bridge.spark")

MAX_PART_BYTES = 64 << 20
"""Size of the parts of files with JSON lines; smaller for few events, so that all cores work."""
_MIN_PART_BYTES = 16 << 20
_PACKED_RATIOS = {".gz": 8, ".zst": 10}
"""Approximate ratio of the size of events to that of their packed file."""


def local_paths(paths: Sequence[str]) -> list[str]:
    """Return the local paths; all others have a scheme, and are opened by Spark."""
    return [path for path in paths if "://" not in path and not path.startswith("dbfs:/")]


def encode_parts(paths: Sequence[str], tasks: int = 1) -> Iterator[tuple[str, bytes]]:
    """Yield (path to show, part) for each of :func:`file_parts`."""
    for path, start, end in file_parts(paths, tasks):
        name = os.fsencode(path)
        yield name.decode("utf-8", "replace"), b"%d-%d:%s" % (start, end, name)


def decode_part(part: bytes) -> tuple[str, int, int]:
    """Return the path, start and end of a part."""
    span, _, name = part.partition(b":")
    start, _, end = span.partition(b"-")
    return os.fsdecode(name), int(start), int(end)


def file_parts(paths: Sequence[str], tasks: int = 1) -> Iterator[tuple[str, int, int]]:
    """Yield (file, start, end in bytes): large files of JSON lines in parts, all others whole (0, 0).

    ``tasks`` share the parts, unless they become too small.
    """
    files = [(file, _size(file)) for file in list_files(paths)]
    bytes_per_task = sum(size for _, size in files) // tasks
    part_bytes = min(MAX_PART_BYTES, max(bytes_per_task, _MIN_PART_BYTES))
    for file, size in files:
        if size <= part_bytes or not _has_json_lines(file):
            yield str(file), 0, 0
            continue
        for start in range(0, size, part_bytes):
            yield str(file), start, min(start + part_bytes, size)


def list_files(paths: Sequence[str]) -> Iterator[Path]:
    """Yield the files that ``dh-bridge emit`` would read; a SettingsError if a path does not exist, or a pattern has no match."""
    for path in (match for name in paths for match in _expand(name)):
        outside_links: list[Path] = []
        yield from event_files(path, on_outside_link=outside_links.append)
        if outside_links:
            log.warning(
                "ignored %d links in %s that point out of it, e.g. %s: pass their targets as events, too",
                len(outside_links), path, outside_links[0],
            )  # fmt: skip


def _expand(name: str) -> list[Path]:
    """Return the path ``name``, or the paths that it matches as a pattern if no file has this very name."""
    if Path(name).exists():
        return [Path(name)]
    matches = sorted(glob(name, recursive=True)) if has_magic(name) else []  # noqa: PTH207 - absolute patterns, too
    if not matches:
        raise SettingsError(f"{name} does not exist", location="--events", remedy="use the path of a file or folder")
    return [Path(match) for match in matches]


def unzipped_size(paths: Sequence[str]) -> int:
    """Return the approximate number of bytes of the events in files."""
    return sum(_size(file) * _PACKED_RATIOS.get(file.suffix, 1) for file in list_files(paths))


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # the worker that opens it reports the reason


def _has_json_lines(file: Path) -> bool:
    """Return whether the first line is an event, and not the beginning of a longer document, or packed."""
    try:
        with file.open("rb") as stream:
            first_line = stream.readline().strip()
    except OSError:
        return False  # as above
    if first_line[:1] != b"{":
        return False
    try:
        msgspec.json.decode(first_line, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
