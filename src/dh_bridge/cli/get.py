"""``dh-bridge get``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec
import orjson

from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.entity import find_entity
from dh_bridge.catalog.paging import MAX_EXAMINED
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.examples import examples
from dh_bridge.cli.lookup import exit_unknown, file_argument, is_ledger, limit_option, open_contents, resolve_urn
from dh_bridge.cli.options import json_option, utf_8, with_settings
from dh_bridge.cli.server_help import show_server_help
from dh_bridge.cli.terminal import json_line, say, write

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dh_bridge.settings import Settings

_TIERS: tuple[list[str], ...] = (["dataset", "dataJob", "dataFlow", "container", "tag"], [])


@click.command()
@file_argument
@click.argument("urn", metavar="[URN]", required=False, type=utf_8)
@click.option("--aspect", metavar="NAME", help="Only this aspect: its value, or its points in time.")
@click.option("--all", "is_whole", is_flag=True, help="All entities of a catalogue, as sorted NDJSON.")
@limit_option
@json_option
@with_settings
@examples(
    "dh-bridge get out/demo.db mart.daily_revenue",
    "dh-bridge get out/demo.db 'urn:li:dataset:(urn:li:dataPlatform:postgres,shop.mart.daily_revenue,PROD)' --aspect datasetProperties",
    "dh-bridge get out/demo.db --all > demo.ndjson",
)
def get(  # noqa: PLR0913 - one parameter per option
    *,
    settings: Settings,
    file: str,
    urn: str | None,
    aspect: str | None,
    is_whole: bool,
    limit: int | None,
    as_json: bool,
) -> None:
    """Show the aspects of one entity, its points in time and its relationships.

    FILE is a catalogue or a ledger. URN is a URN, or a part of it that is unique, such as a name. The output is indented JSON, or
    one line with `--json`. `--limit` counts the points in time of each aspect, of which the latest are shown, and the relationships.

    With --all, the whole catalogue is written in a canonical form: two catalogues are equal if and only if their outputs are.
    """
    if is_whole == (urn is not None) or (is_whole and aspect is not None):
        raise click.UsageError("Pass a URN, or --all without --aspect.")
    if show_server_help(file, settings, urn=urn or ""):
        return
    if urn is None:
        _write_all(file)
    else:
        _write_entity(settings, file, urn, aspect, limit=limit, as_json=as_json)


def _write_all(file: str) -> None:
    with Catalog(file, readonly=True) as catalog:
        if is_ledger(catalog):
            say(f"{file} is a ledger, which stores no aspects. To get a catalogue, emit the events to catalog:FILE.")
            raise click.exceptions.Exit(EXIT_EVENTS)
        write(dump_catalog(catalog))


def _say_hidden(hidden: Mapping[str, int]) -> None:
    """Print what the limit left out: of points in time the oldest ones."""
    if hidden:
        counts = ", ".join(
            f"{count:,}{' or more' if count == MAX_EXAMINED else ''} of {name}" for name, count in hidden.items()
        )
        say(f"Not shown: {counts}. Pass --limit 0 to see all.")


def _write_entity(  # noqa: PLR0913 - one parameter per option
    settings: Settings, file: str, urn: str, aspect: str | None, *, limit: int | None, as_json: bool
) -> None:
    with open_contents(file, settings) as contents:
        entity = resolve_urn(contents, file, urn, _TIERS)
        record = find_entity(contents.load([entity]), entity, limit=limit)
        if record is None:
            exit_unknown(contents, file, entity)
    content = msgspec.to_builtins(record)
    if aspect is not None:
        content = record.aspects.get(aspect, record.points.get(aspect))
    if content is None:
        names = ", ".join([*record.aspects, *record.points])
        say(f"{entity} has no aspect {aspect}. It has: {names or 'none'}.")
        raise click.exceptions.Exit(EXIT_EVENTS)
    write(
        [
            json_line(content)
            if as_json
            else orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        ]
    )
    _say_hidden({name: count for name, count in record.hidden.items() if aspect in {None, name}})
