"""``dh-bridge get``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec
import orjson

from dh_bridge.catalog.entity import find_entity
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.console import json_line, say, write
from dh_bridge.cli.examples import examples
from dh_bridge.cli.options import catalog_option, json_option, utf_8, with_settings
from dh_bridge.cli.suggestions import exit_unknown_urn

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
        record = find_entity(catalog, urn)
        if record is None:
            exit_unknown_urn(catalog, file, urn)
    content = msgspec.to_builtins(record)
    if aspect is not None:
        content = record.aspects.get(aspect, record.points.get(aspect))
    if content is None:
        say(f"{file} knows nothing of {urn} {aspect}")
        raise click.exceptions.Exit(EXIT_EVENTS)
    write(
        [
            json_line(content)
            if as_json
            else orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        ]
    )
