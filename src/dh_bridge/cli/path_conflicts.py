"""Checks of input and output paths: no file or folder is both input and output, and no file is written twice."""

from __future__ import annotations

from os.path import exists, isfile, realpath
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dh_bridge.openlineage.folders import is_event_file_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PATTERN_CHARS = frozenset("*?[{")


def require_separate_files(events: Sequence[str], outputs: Mapping[str, str | Path | None]) -> None:
    """Raise a UsageError if a file of ``outputs`` (option -> path) is one of ``events``, or of two options.

    If dead letters were read from the file that they are written to, the file would be emptied first. Paths that are not
    regular files, for example /dev/null, may be repeated.
    """
    options: dict[Path, str] = {}
    for option, path_text in outputs.items():
        output_path = Path(realpath(path_text)) if path_text else None
        if output_path is None or (exists(output_path) and not isfile(output_path)):  # noqa: PTH110, PTH113 - Path's own raise where nobody may look
            continue
        if any(is_event_file_of(path, output_path) for path in events if path != "-"):
            raise click.UsageError(f"{option} {path_text} is among the EVENTS that are read: name another file")
        if output_path in options:
            raise click.UsageError(f"{options[output_path]} and {option} are one file, {path_text}: name another")
        options[output_path] = option


def require_separate_folders(events: Sequence[str], outputs: Mapping[str, str | None]) -> None:
    """Raise a UsageError if a folder of ``outputs`` (option -> path or URI) is inside one of ``events``, which Spark reads completely.

    A stream that reads its own output would never end. Patterns are not checked, because their matches are not known before.
    """
    inputs = {_normalize_path(path) + "/": path for path in events if not _PATTERN_CHARS & set(path)}
    for option, folder in outputs.items():
        if folder and (
            source := next(
                (inputs[input_path] for input_path in inputs if f"{_normalize_path(folder)}/".startswith(input_path)),
                None,
            )
        ):
            raise click.UsageError(f"{option} {folder} lies in {source}, of which all is read: name another folder")


def _normalize_path(path: str) -> str:
    return path.rstrip("/") if "://" in path else str(Path(path.removeprefix("file:")).resolve())
