"""The terminal: JSON lines and tables on stdout, messages and the progress bar on stderr.

No other module of the command line writes to stdout or stderr: here the characters of names that control a terminal, or turn
the direction of its text, are escaped.
"""

from __future__ import annotations

import io
import re
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click
import orjson

from dh_bridge.json_safe import encodable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.progress import Progress
    from rich.tree import Tree

_Item = TypeVar("_Item")
_bars: list[Progress] = []
_CONTROL = r"\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f"
"""Control characters but tab and line feed, line separators, and those of bidirectional text (Unicode TR 9 and TR 36)."""
_unsafe = re.compile(f"[{_CONTROL}]")
_unsafe_in_line = re.compile(rf"[\t\n{_CONTROL}]")


class Closed(io.TextIOBase):
    """A stdout that was closed by whoever started us: a UsageError for each command that writes to it, and for no other."""

    @property
    def buffer(self) -> Any:
        """Refuse."""
        raise click.UsageError("stdout is closed: nobody would see what is written")

    def write(self, _text: str) -> int:
        """Refuse, as above."""
        return int(self.buffer)


class Styled(str):
    """Text with colours, which :func:`echo` writes as it is."""

    __slots__ = ()


def styled(text: str, **style: Any) -> Styled:
    """Return one line of text with colours, as ``click.style`` names them."""
    return Styled(click.style(visible(text), **style))


def echo(*parts: str, err: bool = False, nl: bool = True) -> None:
    """Write the parts, and a line break (``nl``), to stdout, or stderr; all but what is :class:`Styled` is escaped."""
    click.echo("".join([part if isinstance(part, Styled) else escaped(part) for part in parts]), err=err, nl=nl)


def say(text: str) -> None:
    """Write a message to stderr."""
    echo(text, err=True)


def json_line(row: Mapping[str, Any]) -> bytes:
    """Return the row as one line of JSON."""
    try:
        return orjson.dumps(row, default=str, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # the name of a file that is no UTF-8
        return orjson.dumps(encodable(row), default=str, option=orjson.OPT_APPEND_NEWLINE)


def write(texts: Iterable[bytes]) -> None:
    """Write whole texts as UTF-8 to stdout: JSON stays the same JSON, since its escapes are used."""
    sys.stdout.flush()
    sys.stdout.buffer.writelines(map(_escaped_bytes, texts))
    sys.stdout.buffer.flush()


def write_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write an aligned table to stdout: plain text, no line is cut or wrapped, so that grep and awk like it too."""
    cells = [["" if cell is None else visible(str(cell)) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in [list(columns), *cells]) for at in range(len(columns))]
    echo(styled(_line(columns, widths), bold=True))
    for row in cells:
        echo(_line(row, widths))


def write_pairs(row: Mapping[str, Any]) -> None:
    """Write the names and values of one row, one per line, those without a value left out."""
    width = max(map(len, row), default=0)
    for name, value in row.items():
        if value not in (None, "", [], {}, ()):
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            echo(f"{name.ljust(width)}  {visible(text)}")


def write_tree(tree: Tree) -> None:
    """Write a tree to stdout: coloured on a terminal, and no line is cut or wrapped, however narrow that is.

    The names in its labels are :func:`visible` already.
    """
    from rich.console import Console  # noqa: PLC0415 - rich is loaded when it prints, not by every command

    text = io.StringIO()
    Console(file=text, force_terminal=True, color_system="standard", highlight=False, emoji=False, width=10_000).print(
        tree
    )
    echo(Styled(text.getvalue()), nl=False)  # without colours where nobody sees them


def visible(text: str) -> str:
    """Return a text that is one line and leaves the terminal as it is: control characters of names as escapes."""
    return text if text.isprintable() else _unsafe_in_line.sub(_escape, text)


def escaped(text: str) -> str:
    """Return a text as :func:`visible` does, with its line breaks and tabs."""
    return text if text.isprintable() else _unsafe.sub(_escape, text)


def _escape(sign: re.Match[str]) -> str:
    return sign[0].encode("unicode_escape").decode()


def _escaped_bytes(text: bytes) -> bytes:
    """Return UTF-8 with the escapes of JSON instead of unsafe characters."""
    line = text.decode("utf-8", "surrogateescape")
    if line.isprintable() or (line.endswith("\n") and line[:-1].isprintable()):
        return text
    found = _unsafe.sub(lambda sign: f"\\u{ord(sign[0]):04x}", line)
    return found.encode("utf-8", "surrogateescape")


def ask(question: str) -> bool:
    """Ask the person at the terminal, on stderr; a bar that runs there makes way."""
    for bar in _bars:
        bar.stop()
    try:
        return click.confirm(escaped(question), err=True)
    finally:
        for bar in _bars:
            bar.start()


def progress(items: Iterable[_Item], label: str) -> Iterator[_Item]:
    """Yield ``items``, with a bar on stderr when that is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    from rich.console import Console  # noqa: PLC0415 - as above
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415 - as above

    columns = (TextColumn(label), BarColumn(), TextColumn("{task.completed:,.0f}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        _bars.append(bar)
        try:
            yield from bar.track(items, total=None)
        finally:
            _bars.remove(bar)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
