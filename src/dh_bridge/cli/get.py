"""``dh-bridge get``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec
import orjson

from dh_bridge.catalog.entity import entity
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.console import json_line, say, write
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import catalog_option, json_option, utf_8, with_settings
from dh_bridge.cli.suggestions import refuse_unknown

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


@click.command()
@click.argument("urn", type=utf_8)
@catalog_option
@click.option("--aspect", metavar="NAME", help="Only this aspect: its value, or its points in time.")
@json_option
@with_settings
@examples(
    "dh-bridge get 'urn:li:dataset:(urn:li:dataPlatform:postgres,shop.mart.daily_revenue,PROD)' --catalog out/demo.db",
    "dh-bridge get 'urn:li:dataset:(urn:li:dataPlatform:postgres,shop.mart.daily_revenue,PROD)' --catalog out/demo.db --aspect datasetProperties",
)
def get(*, settings: Settings, urn: str, file: str, aspect: str | None, as_json: bool) -> None:  # noqa: ARG001 - every command takes -c
    """Show the aspects of one entity.

    Also its points in time, what it refers to, and what refers to it; as indented JSON, or in one line with --json.
    """
    with Catalog(file, readonly=True) as catalog:
        found = entity(catalog, urn)
        if found is None:
            refuse_unknown(catalog, file, urn)
    shown = msgspec.to_builtins(found)
    if aspect is not None:
        shown = found.aspects.get(aspect, found.points.get(aspect))
    if shown is None:
        say(f"{file} knows nothing of {urn} {aspect}")
        raise click.exceptions.Exit(EXIT_EVENTS)
    write(
        [json_line(shown) if as_json else orjson.dumps(shown, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)]
    )
