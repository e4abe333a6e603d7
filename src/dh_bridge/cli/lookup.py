"""Functions for the commands that read a catalogue or ledger: the file, the matching entity, limits of the output."""

from __future__ import annotations

import os
import shlex
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from dh_bridge.catalog.contents import CatalogContents
from dh_bridge.catalog.entity import key_parts
from dh_bridge.catalog.paging import DEFAULT_PAGE_SIZE, MAX_EXAMINED
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.options import catalog_path, utf_8
from dh_bridge.cli.terminal import echo, escape_line, note, say
from dh_bridge.datahub import urns
from dh_bridge.delivery import with_server_version
from dh_bridge.ledger import read_notes, trial_copy
from dh_bridge.ledger.contents import LedgerContents
from dh_bridge.options import Options
from dh_bridge.sinks.base import METADATA_SERVICE_TARGET
from dh_bridge.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dh_bridge.catalog.paging import Page
    from dh_bridge.settings import Settings

    Contents = CatalogContents | LedgerContents

_MAX_CANDIDATES = 10_000
"""Entities of which the best match of a name is chosen."""
_MAX_LISTED = 20
"""Entities that a message lists when a name is not unique."""

file_argument = click.argument("file", metavar="FILE", type=catalog_path)
limit_option = click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=DEFAULT_PAGE_SIZE,
    show_default=True,
    callback=lambda _context, _option, limit: limit or None,
    help="Rows to show; 0 for all.",
)
page_option = click.option(
    "--page", metavar="PAGE", type=utf_8, help="Show the rows after those of an earlier call, which printed PAGE."
)


def is_writable(file: str) -> bool:
    """Return whether a ledger can be opened for writing, which rendering needs; else a copy is used."""
    return os.access(file, os.W_OK)


def is_ledger(catalog: Catalog) -> bool:
    """Return whether a file is the ledger of another target: it has runs, but no aspects."""
    return not catalog.has_content and catalog.has_runs


@contextmanager
def open_contents(file: str, settings: Settings) -> Iterator[Contents]:
    """Open a catalogue, or the ledger of another target; print on stderr which data a ledger does not have."""
    with Catalog(file, readonly=True) as catalog:
        if not is_ledger(catalog):
            yield CatalogContents(catalog)
            return
    if settings.datahub_version is None:
        settings = with_server_version(read_notes(Path(file), METADATA_SERVICE_TARGET).version, settings)
    with (
        nullcontext(file) if is_writable(file) else trial_copy(Path(file)) as path,
        Database(path or file) as database,
    ):
        contents = LedgerContents(database, Options(settings, is_stateful=True))
        yield contents
    say(
        f"{file} is a ledger. The answer is rendered from the runs that it stores; it lacks evicted runs (ledger.retention_days)"
        " and what others wrote to the target."
    )
    for sentence in dict.fromkeys(contents.notes):
        say(sentence)


def resolve_urn(contents: Contents, file: str, text: str, tiers: Sequence[Sequence[str]]) -> str:
    """Return the URN of the matching entity; end the command if there is none, or more than one.

    Args:
        contents: The catalogue or ledger.
        file: Its file, for messages.
        text: A URN, or a part of one, such as a name.
        tiers: Entity types. The first tier that has matches is used; an empty one stands for all types.
    """
    if not text:
        raise click.UsageError("Name an entity: a URN, or a part of a name.")
    if contents.has(text):
        return text
    names = [text] if not urns.is_urn(text) else []
    for types in tiers if names else ():
        page = contents.find_urns(text, types, limit=_MAX_CANDIDATES)
        match = _best_match(page.items, text.lower())
        if match is not None:
            note(f"{escape_line(text)} is {match}")
            return match
        if page.total:
            exit_ambiguous(file, text, page)
    return exit_unknown(contents, file, text)


def _best_match(candidates: Sequence[str], name: str) -> str | None:
    """Return the only candidate, else the only one with this whole name, else the only one whose name ends with it."""
    parts_by_urn = {urn: [part.lower() for part in key_parts(urn)] for urn in candidates}
    exact = [urn for urn, parts in parts_by_urn.items() if name in parts]
    ending = [urn for urn, parts in parts_by_urn.items() if any(part.endswith(f".{name}") for part in parts)]
    return next((matches[0] for matches in (candidates, exact, ending) if len(matches) == 1), None)


def shell_quote(urn: str) -> str:
    """Return a URN as an argument for the shell, on one line."""
    return shlex.quote(escape_line(urn))


def say_hidden(page: Page[Any], what: str) -> None:
    """Print how many rows follow after a page, and how to see them."""
    if page.next_page is None:
        return
    if page.remaining and page.is_exact:
        say(f"{page.remaining:,} of {page.total:,} {what} are not shown. Pass --limit 0 to see all.")
    elif page.remaining:
        say(f"At least {page.remaining:,} more {what} are not shown. Pass --limit 0 to see all, which may take long.")
    else:
        say(f"Only {MAX_EXAMINED:,} {what} were examined for this page. There may be more matches.")
    say(f"Next page: --page {page.next_page}")


def exit_ambiguous(file: str, text: str, page: Page[str]) -> NoReturn:
    """List the entities that match a name, and end the command."""
    shown = page.items[:_MAX_LISTED]
    count = f"{page.total:,}" if page.is_exact else f"At least {page.total:,}"
    say(f"{count} entities in {file} match {text!r}. Pass one of them:")
    for urn in shown:
        say(f"  {shell_quote(urn)}")
    if page.total > len(shown):
        command = shlex.join(["dh-bridge", "search", file, text, "--limit", "0"])
        say(f"  {page.total - len(shown):,} more: {command}")
    raise click.exceptions.Exit(EXIT_EVENTS)


def exit_unknown(contents: Contents, file: str, text: str) -> NoReturn:
    """Print that the file has no such entity, and entities with similar names; end the command."""
    say(f"No entity named {text!r} in {file}." if not urns.is_urn(text) else f"{file} has no entity {text}.")
    for name in _similar_names(text):
        page = contents.find_urns(name, limit=_MAX_LISTED)
        if page.total:
            say(f"Did you mean ({len(page.items):,} of {page.total:,}):")
            for urn in page.items:
                echo(f"  {shell_quote(urn)}", err=True)
            break
    raise click.exceptions.Exit(EXIT_EVENTS)


def _similar_names(text: str) -> Iterator[str]:
    """Yield names that an entity with a similar URN may have: the name in the URN, then its last part."""
    parts = urns.parse_urn(text)[1] if urns.is_urn(text) else (text,)
    name = next((part for part in parts if part and not part.startswith("urn:li:")), "")
    for candidate in (name, name.rpartition(".")[2]):
        if len(candidate) > 1 and candidate != text:
            yield candidate
