"""What people and programs see: JSON lines and tables on stdout, messages and the progress bar on stderr."""

from __future__ import annotations

import io
import re
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import click
import orjson

from dh_bridge.encodable import encodable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.progress import Progress
    from rich.tree import Tree

_Item = TypeVar("_Item")
_bars: list[Progress] = []
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class Closed(io.TextIOBase):
    """A stdout that was closed by whoever started us: a UsageError for each command that writes to it, and for no other."""

    @property
    def buffer(self) -> Any:
        """Refuse."""
        raise click.UsageError("stdout is closed: nobody would see what is written")

    def write(self, _text: str) -> int:
        """Refuse, as above."""
        return int(self.buffer)


def say(text: str) -> None:
    """Write a message to stderr."""
    click.echo(text, err=True)


def json_line(row: Mapping[str, Any]) -> bytes:
    """Return the row as one line of JSON."""
    try:
        return orjson.dumps(row, default=str, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError:  # the name of a file that is no UTF-8
        return orjson.dumps(encodable(row), default=str, option=orjson.OPT_APPEND_NEWLINE)


def write(chunks: Iterable[bytes]) -> None:
    """Write bytes to stdout."""
    sys.stdout.flush()
    sys.stdout.buffer.writelines(chunks)
    sys.stdout.buffer.flush()


def write_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write an aligned table to stdout: plain text, no line is cut or wrapped, so that grep and awk like it too."""
    cells = [["" if cell is None else visible(str(cell)) for cell in row] for row in rows]
    widths = [max(len(row[at]) for row in [list(columns), *cells]) for at in range(len(columns))]
    click.secho(_line(columns, widths), bold=True)
    for row in cells:
        click.echo(_line(row, widths))


def write_pairs(row: Mapping[str, Any]) -> None:
    """Write the names and values of one row, one per line, those without a value left out."""
    width = max(map(len, row), default=0)
    for name, value in row.items():
        if value not in (None, "", [], {}, ()):
            text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
            click.echo(f"{name.ljust(width)}  {visible(text)}")


def write_tree(tree: Tree) -> None:
    """Write a tree to stdout: coloured on a terminal, and no line is cut or wrapped, however narrow that is."""
    from rich.console import Console  # noqa: PLC0415 - rich is loaded when it prints, not by every command

    text = io.StringIO()
    Console(file=text, force_terminal=True, color_system="standard", highlight=False, emoji=False, width=10_000).print(
        tree
    )
    click.echo(text.getvalue(), nl=False)  # without colours where nobody sees them


def visible(text: str) -> str:
    """Return a text that is one line and leaves the terminal as it is: control characters of names as escapes."""
    return text if text.isprintable() else _CONTROL.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)


def ask(question: str) -> bool:
    """Ask the person at the terminal, on stderr; a bar that runs there makes way."""
    for bar in _bars:
        bar.stop()
    try:
        return click.confirm(question, err=True)
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
