"""``dh-bridge doctor``."""

from __future__ import annotations

import click

from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import json_option
from dh_bridge.cli.screen import json_line, write, write_table
from dh_bridge.doctor import WRONG, Finding, findings


@click.command()
@click.option("-c", "--config", type=click.Path(dir_okay=False), help="Settings file (default: dh_bridge.yml here).")
@click.option("--connect", is_flag=True, help="Ask the configured server who it is, and whether it takes our token.")
@json_option
@examples("dh-bridge doctor")
def doctor(*, config: str | None, connect: bool, as_json: bool) -> None:
    """Tell what this installation has, what is missing, and how to get it.

    Exit code 1 when something is wrong; what is only missing is no fault.
    """
    rows = findings(config, connect=connect)
    if as_json:
        write(json_line(row._asdict()) for row in rows)
    else:
        write_table(Finding._fields, rows)
    if any(row.status == WRONG for row in rows):
        raise click.exceptions.Exit(1)
