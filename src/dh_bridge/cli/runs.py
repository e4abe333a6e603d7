"""``dh-bridge runs``."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

import click
import msgspec

from dh_bridge.catalog.entity import display_name, find_entity
from dh_bridge.catalog.runs import RunRow
from dh_bridge.catalog.runs import find_runs as runs_of
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli.console import json_line, say, write, write_table
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import catalog_option, json_option, utf_8, with_settings
from dh_bridge.cli.suggestions import exit_unknown_urn

if TYPE_CHECKING:
    from dh_bridge.settings import Settings

_COLUMNS = ("name", "status", "role", "try", "started (UTC)", "duration", "parent", "in", "out", "link")


@click.command()
@click.argument("urn", type=utf_8)
@catalog_option
@json_option
@with_settings
@examples(
    "dh-bridge runs 'urn:li:dataset:(urn:li:dataPlatform:postgres,shop.mart.daily_revenue,PROD)' --catalog out/demo.db"
)
def runs(*, settings: Settings, urn: str, file: str, as_json: bool) -> None:  # noqa: ARG001 - every command takes -c
    """Show the runs of a job, flow or dataset.

    As DataHub's Runs tab does, youngest first. With --json also children, inputs, outputs and the runs before.
    """
    with Catalog(file, readonly=True) as catalog:
        rows = runs_of(catalog, urn)
        if as_json:
            write(json_line(msgspec.to_builtins(row)) for row in rows)
        elif rows:
            write_table(_COLUMNS, [_cells(catalog, row) for row in rows])
        if not rows and find_entity(catalog, urn) is None:
            exit_unknown_urn(catalog, file, urn)
    if not rows:
        say(f"{file} knows no runs of {urn}")


def _cells(catalog: Catalog, row: RunRow) -> tuple[object, ...]:
    started = None if row.started is None else _format_time(row.started)
    duration = None if row.duration is None else f"{row.duration / 1000:,.1f} s"
    parent = None if row.parent is None else display_name(catalog, row.parent)
    role = ", ".join(row.role)
    return (
        row.name,
        row.status,
        role,
        row.attempt,
        started,
        duration,
        parent,
        len(row.inputs),
        len(row.outputs),
        row.link,
    )


def _format_time(millis: int) -> str:
    return datetime.fromtimestamp(millis / 1000, timezone.utc).isoformat(sep=" ", timespec="seconds")[:19]
