"""The terminal: JSON lines and tables on stdout, messages and the progress bar on stderr.

All output of the command line is written here. Names may contain control characters and characters that change the direction
of text; these are escaped.
"""

from __future__ import annotations

import io
import re
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click
import orjson

from dh_bridge.json_safe import make_encodable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.progress import Progress
    from rich.tree import Tree

QUIET, VERBOSE = "dh_bridge.quiet", "dh_bridge.verbose"
"""Keys of click's context: what ``-q`` and ``-v`` set."""
_Item = TypeVar("_Item")
_active_bars: list[Progress] = []
_CONTROL_CHARS = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f"
"""Control characters but tab and line feed, line separators, and those of bidirectional text (Unicode TR 9 and TR 36)."""
_ASCII_CONTROL_CHARS = bytes([*range(9), *range(11, 32), 127])
"""Those of them that are one byte of UTF-8; tab and line feed are none."""
_unsafe = re.compile(f"[{_CONTROL_CHARS}]")
_unsafe_in_line = re.compile(rf"[\t\n{_CONTROL_CHARS}]")


class ClosedStdout(io.TextIOBase):
    """A stdout that the parent process closed: each command that writes to it gets a UsageError."""

    @property
    def buffer(self) -> Any:
        """Raise a UsageError."""
        raise click.UsageError("stdout is closed, so the output would be lost")

    def write(self, _text: str) -> int:
        """Refuse, as above."""
        return int(self.buffer)


class StyledText(str):
    """Text with colours, which :func:`echo` writes as it is."""

    __slots__ = ()


def style_text(text: str, **style: Any) -> StyledText:
    """Return one line of text with colours, as ``click.style`` names them."""
    return StyledText(click.style(escape_line(text), **style))


def echo(*parts: str, err: bool = False, nl: bool = True) -> None:
    """Write the parts, and a line break (``nl``), to stdout or stderr; all parts except :class:`StyledText` are escaped."""
    click.echo("".join([part if isinstance(part, StyledText) else escape_text(part) for part in parts]), err=err, nl=nl)


def say(text: str) -> None:
    """Write a message to stderr."""
    echo(text, err=True)


def note(text: str) -> None:
    """Write a message to stderr that only informs; with ``-q`` it is left out."""
    if not is_quiet():
        say(text)


def is_quiet() -> bool:
    """Return whether the command was called with ``-q``."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(QUIET, False))


def json_line(row: Mapping[str, Any]) -> bytes:
    """Return the row as one line of JSON."""
    try:
        return orjson.dumps(row, default=str, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # the name of a file that is no UTF-8
        return orjson.dumps(make_encodable(row), default=str, option=orjson.OPT_APPEND_NEWLINE)


def write(texts: Iterable[bytes]) -> None:
    """Write whole texts as UTF-8 to stdout. Control characters in JSON become JSON escapes, so the JSON has the same value."""
    sys.stdout.flush()
    sys.stdout.buffer.writelines(map(_escape_json, texts))
    sys.stdout.buffer.flush()


def write_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write an aligned table to stdout: plain text, no line is cut or wrapped, so that grep and awk like it too."""
    cells = [["" if cell is None else escape_line(str(cell)) for cell in row] for row in rows]
    widths = [max(len(row[index]) for row in [list(columns), *cells]) for index in range(len(columns))]
    echo(style_text(_format_row(columns, widths), bold=True))
    for row in cells:
        echo(_format_row(row, widths))


def write_pairs(row: Mapping[str, Any]) -> None:
    """Write the names and values of one row, one per line, those without a value left out."""
    width = max(map(len, row), default=0)
    for name, value in row.items():
        if value not in (None, "", [], {}, ()):
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            echo(f"{name.ljust(width)}  {escape_line(text)}")


def write_tree(tree: Tree, *, limit: int = 0) -> None:
    """Write a tree to stdout: coloured on a terminal, no line is cut or wrapped; after ``limit`` lines (0: all) the rest is counted.

    The names in its labels are :func:`escape_line` already.
    """
    from rich.console import Console  # noqa: PLC0415 - rich is loaded when it prints, not by every command

    text = io.StringIO()
    Console(file=text, force_terminal=True, color_system="standard", highlight=False, emoji=False, width=10_000).print(
        tree
    )
    lines = text.getvalue().splitlines(keepends=True)
    shown_lines = lines[:limit] if limit else lines
    echo(StyledText("".join(shown_lines)), nl=False)  # without colours if stdout is not a terminal
    if len(lines) > len(shown_lines):
        say(f"{len(lines) - len(shown_lines):,} of {len(lines):,} lines are not shown. Pass --limit 0 to see all.")


def escape_line(text: str) -> str:
    """Return a text that is one line and leaves the terminal as it is: control characters of names as escapes."""
    return text if text.isprintable() else _unsafe_in_line.sub(_escape_match, text)


def escape_text(text: str) -> str:
    """Return a text as :func:`escape_line` does, with its line breaks and tabs."""
    return text if text.isprintable() else _unsafe.sub(_escape_match, text)


def _escape_match(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


def _escape_json(text: bytes) -> bytes:
    """Return UTF-8 with the escapes of JSON instead of unsafe characters."""
    # Most lines are ASCII: to delete bytes takes a tenth of the time of what follows.
    if text.isascii() and len(text.translate(None, _ASCII_CONTROL_CHARS)) == len(text):
        return text
    line = text.decode("utf-8", "surrogateescape")
    if line.isprintable() or (line.endswith("\n") and line[:-1].isprintable()):
        return text
    escaped_line = _unsafe.sub(lambda match: f"\\u{ord(match[0]):04x}", line)
    return escaped_line.encode("utf-8", "surrogateescape")


def ask(question: str) -> bool:
    """Ask the user at the terminal, on stderr; a progress bar is hidden meanwhile."""
    for bar in _active_bars:
        bar.stop()
    try:
        return click.confirm(escape_text(question), err=True)
    finally:
        for bar in _active_bars:
            bar.start()


def progress(items: Iterable[_Item], label: str) -> Iterator[_Item]:
    """Yield ``items``, with a bar on stderr when that is a terminal."""
    if is_quiet() or not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - as above

    columns = (TextColumn(label), BarColumn(), TextColumn("{task.completed:,.0f}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        _active_bars.append(bar)
        try:
            yield from bar.track(items, total=None)
        finally:
            _active_bars.remove(bar)


def _format_row(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
