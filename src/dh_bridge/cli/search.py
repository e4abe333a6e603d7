"""``dh-bridge search``."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from dh_bridge.catalog.listing import ENTITY_TYPES
from dh_bridge.cli.examples import examples
from dh_bridge.cli.list_ import entity_rows, write_rows
from dh_bridge.cli.lookup import file_argument, limit_option, open_contents, page_option, say_hidden
from dh_bridge.cli.options import json_option, utf_8, with_settings
from dh_bridge.cli.server_help import show_server_help
from dh_bridge.cli.terminal import say

if TYPE_CHECKING:
    from dh_bridge.settings import Settings


@click.command()
@file_argument
@click.argument("text", metavar="TEXT", type=utf_8)
@click.option("--kind", type=click.Choice(list(ENTITY_TYPES)), help="Only entities of this kind.")
@limit_option
@page_option
@json_option
@with_settings
@examples("dh-bridge search out/demo.db orders", "dh-bridge search out/demo.db email --kind datasets")
def search(  # noqa: PLR0913 - one parameter per option
    *, settings: Settings, file: str, text: str, kind: str | None, limit: int | None, page: str | None, as_json: bool
) -> None:
    """Find entities by a text in their URN, name or description, or in the name of a column.

    FILE is a catalogue or a ledger. The case of TEXT does not matter. URNs are quoted for the shell.
    """
    if not text:
        raise click.UsageError("TEXT is empty. `dh-bridge list FILE KIND` lists all entities of a kind.")
    if show_server_help(file, settings, urn=text, command=f"datahub search {shlex.quote(text)}"):
        return
    with open_contents(file, settings) as contents:
        urns = contents.search_urns(text, [ENTITY_TYPES[kind]] if kind else [], limit=limit, page=page)
        write_rows(entity_rows(contents, urns.items), as_json=as_json)
    if not urns.items:
        say(
            f"No entity in {file} contains {text!r}."
            if page is None
            else f"No more entities in {file} contain {text!r}."
        )
    say_hidden(urns, "entities")
