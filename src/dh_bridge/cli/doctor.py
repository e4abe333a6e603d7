"""``dh-bridge doctor``."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

import click

from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import config_options, json_option, take_flags
from dh_bridge.cli.terminal import echo, escape_line, json_line, style_text, write
from dh_bridge.doctor import MISSING, OK, WRONG, diagnose

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.doctor import Diagnostic

_COLOURS = {WRONG: "red", MISSING: "yellow", OK: "green"}
_MAX_WIDTH = 100


@click.command()
@click.option("--connect", is_flag=True, help="Also ask the server for its version, and check the token.")
@json_option
@config_options
@examples("dh-bridge doctor")
def doctor(*, connect: bool, as_json: bool, **arguments: Any) -> None:
    """Check the installation, the settings and, on request, the server.

    Problems come first, then what is missing, then what works. The exit code is 1 if there is a problem. A missing extra is none.
    """
    flags = take_flags(arguments)
    rows = diagnose(arguments["config"], flags=flags, connect=connect)
    if as_json:
        write(json_line(row._asdict()) for row in rows)
    else:
        _write_rows(rows)
    if any(row.status == WRONG for row in rows):
        raise click.exceptions.Exit(1)


def _write_rows(rows: Iterable[Diagnostic]) -> None:
    """Write problems first, no line longer than _MAX_WIDTH; a remedy follows its finding."""
    ordered_rows = sorted(rows, key=lambda row: list(_COLOURS).index(row.status))
    width = max((len(f"{row.area} {row.subject}") for row in ordered_rows), default=0)
    for row in ordered_rows:
        subject = escape_line(f"{row.area} {row.subject}").ljust(width)
        indent = len(row.status.ljust(7)) + width + 4
        first, *more = textwrap.wrap(escape_line(row.found), _MAX_WIDTH - indent) or [""]
        echo(style_text(row.status.ljust(7), fg=_COLOURS[row.status]), f"  {subject}  {first}".rstrip())
        remedy_lines = textwrap.wrap(f"-> {escape_line(row.remedy)}", _MAX_WIDTH - indent) if row.remedy else []
        for line in (*more, *remedy_lines):
            echo(" " * indent + line)
