"""What a command reads and what it writes: no file or folder is both, and no file is written twice."""

from __future__ import annotations

from os.path import exists, isfile, realpath
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dh_bridge.openlineage.folders import is_read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PATTERN = frozenset("*?[{")


def need_apart(events: Sequence[str], written: Mapping[str, str | Path | None]) -> None:
    """Raise a UsageError where a file of ``written`` (option -> path) is one of ``events``, or of two options.

    Dead letters that are told again, and written to the file that they come from, would be emptied before they are read. What
    is no file, as /dev/null, may be named as often as one likes.
    """
    options: dict[Path, str] = {}
    for option, named in written.items():
        place = Path(realpath(named)) if named else None
        if place is None or (exists(place) and not isfile(place)):  # noqa: PTH110, PTH113 - Path's own raise where nobody may look
            continue
        if any(is_read(path, place) for path in events if path != "-"):
            raise click.UsageError(f"{option} {named} is among the EVENTS that are read: name another file")
        if place in options:
            raise click.UsageError(f"{options[place]} and {option} are one file, {named}: name another")
        options[place] = option


def need_folders_apart(events: Sequence[str], written: Mapping[str, str | None]) -> None:
    """Raise a UsageError where a folder of ``written`` (option -> path or URI) lies in one of ``events``, of which Spark reads all.

    A stream would never end that reads what it writes. Where a pattern tells what is read, nobody knows before.
    """
    read = {_plain(path) + "/": path for path in events if not _PATTERN & set(path)}
    for option, folder in written.items():
        if folder and (inside := next((read[one] for one in read if f"{_plain(folder)}/".startswith(one)), None)):
            raise click.UsageError(f"{option} {folder} lies in {inside}, of which all is read: name another folder")


def _plain(path: str) -> str:
    return path.rstrip("/") if "://" in path else str(Path(path.removeprefix("file:")).resolve())
