"""``dh-bridge doctor``."""

from __future__ import annotations

from typing import Any

import click

from dh_bridge.cli.console import json_line, write, write_table
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import config_options, json_option, take_flags
from dh_bridge.doctor import WRONG, Diagnostic, diagnose


@click.command()
@click.option("--connect", is_flag=True, help="Ask the configured server who it is, and whether it takes our token.")
@json_option
@config_options
@examples("dh-bridge doctor")
def doctor(*, connect: bool, as_json: bool, **arguments: Any) -> None:
    """Tell what this installation has, what is missing, and how to get it.

    Exit code 1 when something is wrong; what is only missing is no fault.
    """
    flags = take_flags(arguments)
    rows = diagnose(arguments["config"], flags=flags, connect=connect)
    if as_json:
        write(json_line(row._asdict()) for row in rows)
    else:
        write_table(Diagnostic._fields, rows)
    if any(row.status == WRONG for row in rows):
        raise click.exceptions.Exit(1)
