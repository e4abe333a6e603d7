"""Targets and ledgers that commands open: a server, a catalogue, a file of URNs, an existing ledger."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

import click

from dh_bridge.catalog.store import Catalog
from dh_bridge.cli.terminal import note, say
from dh_bridge.delivery import open_target, rest_options
from dh_bridge.errors import SettingsError
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.review.state import UrnList
from dh_bridge.sinks.abilities import open_readonly
from dh_bridge.sinks.base import address_of, find_kind, load_sink, strip_credentials
from dh_bridge.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from dh_bridge.settings import Settings
    from dh_bridge.sinks.abilities import Readable


@contextmanager
def open_readable(target: str, settings: Settings) -> Iterator[tuple[Readable, Iterable[str] | None, Settings]]:
    """Open a target for reading; yield it, all its URNs (None: it cannot list them), and the settings with its version."""
    kind = find_kind(target)
    if ":" not in target:
        urn_list = UrnList(target)
        yield urn_list, urn_list.urns, settings
    elif kind is not None and kind.lists_entities:
        with open_readonly(target) as sink:
            yield sink, sink.urns(), settings
    elif kind is not None and kind.is_readable:
        say_connecting(target, settings)
        delivery_target = open_target(target, settings)
        with delivery_target.sink as server:
            yield cast("Readable", server), None, delivery_target.settings
    else:
        raise click.UsageError(
            f"{strip_credentials(target)!r} cannot be read: use rest:URL, catalog:FILE or a file of URNs"
        )


def say_connecting(target: str, settings: Settings) -> None:
    """Print which server is used, before its first response, which may take as long as the settings allow.

    A SettingsError names the extra that is missing for the target.
    """
    kind = find_kind(target)
    if kind is None or not kind.is_server:
        return
    load_sink(target)
    server = rest_options(settings, target, os.environ)["server"]
    address = address_of(target) if kind.rejects_later else server
    if address:
        note(f"Connecting to {strip_credentials(address)} …")


def reader_version(target: str, settings: Settings) -> str | None:
    """Return the version of DataHub that reads the target; None for a catalogue, which reads every URN."""
    kind = find_kind(target)
    return None if kind is not None and kind.has_own_ledger else settings.datahub_version


def open_existing(file: Path) -> Catalog:
    """Open an existing catalogue or ledger for writing; a SinkError if it does not exist, because only deliveries create one."""
    Catalog(file, readonly=True).close()
    return Catalog(file)


@contextmanager
def open_outbox(path: Path | None, settings: Settings, *, readonly: bool = False) -> Iterator[tuple[Database, Outbox]]:
    """Yield the named ledger and its outbox; a SinkError if it does not exist, because `queue` creates none."""
    path = path or settings.ledger.file
    if path is None:
        raise SettingsError("no ledger is named", location="LEDGER", remedy="pass its file, or set ledger.file")
    with Database(path, readonly=True) if readonly else open_existing(path) as file:
        yield file, Outbox(file.connection)


def say_unreadable(urns: Collection[str]) -> None:
    """Name the entities that were not compared, since the token's user may not read them."""
    if urns:
        say(
            f"not compared: {len(urns):,} entities, such as {min(urns)}: the token's user may not read them (403);"
            " give it the privilege to view entities"
        )
