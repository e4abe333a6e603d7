"""``dh-bridge catalog``: dump, summary."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.catalog.summary import summarize
from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.console import json_line, say, write, write_table
from dh_bridge.cli.examples import examples
from dh_bridge.cli.lookup import file_argument, is_ledger, open_contents
from dh_bridge.cli.options import json_option, with_settings
from dh_bridge.cli.server_help import show_server_help

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


@click.group()
@examples("dh-bridge catalog summary out/demo.db")
def catalog() -> None:
    """Count or export the contents of a catalogue."""


@catalog.command()
@file_argument
@with_settings
@examples("dh-bridge catalog dump out/demo.db > demo.ndjson")
def dump(*, settings: Settings, file: str) -> None:
    """Write the whole catalogue as canonical, sorted NDJSON: two catalogues are equal if and only if their dumps are."""
    if show_server_help(file, settings):
        return
    with Catalog(file, readonly=True) as database:
        if is_ledger(database):
            say(f"{file} is a ledger, which stores no aspects. To get a catalogue, emit the events to catalog:FILE.")
            raise click.exceptions.Exit(EXIT_EVENTS)
        write(dump_catalog(database))


@catalog.command()
@file_argument
@json_option
@with_settings
@examples("dh-bridge catalog summary out/demo.db")
def summary(*, settings: Settings, file: str, as_json: bool) -> None:
    """Count the entities, aspects, points in time, relationships and lineage edges of a catalogue.

    FILE is a catalogue or a ledger. Of a ledger, only entities are counted.
    """
    if show_server_help(file, settings):
        return
    with Catalog(file, readonly=True) as database:
        counts = {} if is_ledger(database) else msgspec.to_builtins(summarize(database))
    if not counts:
        with open_contents(file, settings) as contents:
            counts = {"entities": contents.count_types()}
    if as_json:
        write([json_line(counts)])
        return
    rows = [
        (name, inner, amount)
        for name, count in counts.items()
        for inner, amount in (count.items() if isinstance(count, dict) else [("", count)])
    ]
    write_table(("what", "of", "number"), rows)
