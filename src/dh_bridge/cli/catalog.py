"""``dh-bridge catalog``: dump, summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from dh_bridge.catalog.dump import dump_catalog as dump_of
from dh_bridge.catalog.store import Catalog
from dh_bridge.catalog.summary import summarize as summary_of
from dh_bridge.cli.console import json_line, write, write_table
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import catalog_option, json_option, with_settings

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


@click.group()
@examples("dh-bridge catalog summary --catalog out/demo.db")
def catalog() -> None:
    """Work on a whole catalogue."""


@catalog.command()
@catalog_option
@with_settings
@examples("dh-bridge catalog dump --catalog out/demo.db > demo.ndjson")
def dump(*, settings: Settings, file: str) -> None:  # noqa: ARG001 - every command takes -c
    """Write the whole catalogue as canonical, sorted NDJSON: two catalogues are equal if and only if their dumps are."""
    with Catalog(file, readonly=True) as database:
        write(dump_of(database))


@catalog.command()
@catalog_option
@json_option
@with_settings
@examples("dh-bridge catalog summary --catalog out/demo.db")
def summary(*, settings: Settings, file: str, as_json: bool) -> None:  # noqa: ARG001 - every command takes -c
    """Count what the catalogue holds: entities, aspects, points in time, relationships, lineage."""
    with Catalog(file, readonly=True) as database:
        counts = msgspec.to_builtins(summary_of(database))
    if as_json:
        write([json_line(counts)])
        return
    rows = [
        (name, inner, amount)
        for name, count in counts.items()
        for inner, amount in (count.items() if isinstance(count, dict) else [("", count)])
    ]
    write_table(("what", "of", "number"), rows)
