"""Finds the files of a folder that have events: files with a known ending, and others that begin like JSON, at any depth.

Symbolic links that lead out of the folder are followed only on request. Otherwise a user who can write to the folder could
send any file that the process can read to the server.
"""

from __future__ import annotations

import os
from os.path import exists, isfile, islink, realpath
from pathlib import Path
from typing import TYPE_CHECKING

from dh_bridge.openlineage.unpacking import GZIP_MAGIC, ZSTD_MAGIC

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SNIFFED_BYTES = 64
_BOM = b"\xef\xbb\xbf"
_CATALOGUE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
SUFFIXES = (".json", ".ndjson", ".jsonl", ".log", ".txt", ".gz", ".zst")


def event_files(
    path: Path,
    on_skipped_file: Callable[[Path], object] = lambda _: None,
    *,
    on_outside_link: Callable[[Path], object] = lambda _: None,
) -> Iterator[Path]:
    """Yield ``path`` itself if it is not a folder, else its files that have events, in order.

    Subfolders that cannot be listed, and broken links, are yielded too: the error is reported when they are opened. Hidden files
    are skipped. ``on_skipped_file`` is called with other files that are neither JSON nor empty. ``on_outside_link`` is called with
    each link that leads out of ``path`` and is not followed. ``path`` itself may be a link.
    """
    if not path.is_dir():
        yield path
        return
    unlisted: list[Path] = []
    root = realpath(path)
    files = [folder / name for folder, names in _folders(path, unlisted, root, on_outside_link) for name in names]
    for file in sorted(files + unlisted):
        if root is not None and _leads_outside(file, root):
            if _has_event_suffix(file):
                on_outside_link(file)
            continue
        is_file = isfile(file)  # noqa: PTH113 - Path's own raises an error where nobody may look
        if file in unlisted or (_has_event_suffix(file) and (is_file or not exists(file))):  # noqa: PTH110 - as above
            yield file
        elif is_file and file.stat().st_size:
            if _begins_like_json(file):
                yield file
            else:
                on_skipped_file(file)


def _begins_like_json(file: Path) -> bool:
    """Return whether a file has JSON, gzip or Zstandard at its beginning: Spark's file transport writes events without an ending."""
    try:
        with file.open("rb") as stream:
            head = stream.read(_SNIFFED_BYTES)
    except OSError:
        return True  # opening it for reading reports the reason
    return head.startswith((GZIP_MAGIC, ZSTD_MAGIC)) or head.removeprefix(_BOM).lstrip()[:1] in (b"{", b"[")


def is_event_file_of(path: str | Path, file: Path) -> bool:
    """Return whether ``file`` (resolved), which need not be there yet, is among the :func:`event_files` of ``path``."""
    root = Path(path).resolve()
    if file == root:
        return True
    if file.name.startswith(".") or file.suffix.lower() in _CATALOGUE_SUFFIXES:
        return False
    if not _has_event_suffix(file) and not (file.suffix == "" or (isfile(file) and _begins_like_json(file))):  # noqa: PTH113 - as above
        return False
    if root in file.parents:
        return not any(part.startswith(".") for part in file.relative_to(root).parts)
    return any(file.parent == folder.resolve() for folder, _ in _folders(root, []))


def _folders(
    path: Path,
    unlisted: list[Path],
    root: str | None = None,
    on_outside_link: Callable[[Path], object] = lambda _: None,
) -> Iterator[tuple[Path, list[str]]]:
    """Yield ``path`` and each folder within, once whatever links to it, with the names that are not hidden.

    With a ``root`` no link is followed that leads out of it.
    """
    visited_paths = set()
    for folder, folders, names in os.walk(
        path, followlinks=True, onerror=lambda error: unlisted.append(Path(error.filename))
    ):
        real_path = realpath(folder)
        folders[:] = [] if real_path in visited_paths else sorted(name for name in folders if not name.startswith("."))
        if real_path not in visited_paths:
            visited_paths.add(real_path)
            for name in [name for name in folders if root is not None and _leads_outside(Path(folder, name), root)]:
                folders.remove(name)
                on_outside_link(Path(folder, name))
            yield Path(folder), [name for name in names if not name.startswith(".")]


def _leads_outside(path: Path, root: str) -> bool:
    """Return whether a path is a link to something that is not within the folder ``root``."""
    return islink(path) and not Path(realpath(path)).is_relative_to(root)  # noqa: PTH114 - as above


def _has_event_suffix(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES
