"""What a person may have meant who asks a catalogue for something that it does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import click

from dh_bridge.cli import EXIT_EVENTS
from dh_bridge.cli.console import say
from dh_bridge.datahub import urns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dh_bridge.catalog.store import Catalog

_MOST = 5
_SHORT = 3


def refuse_unknown(catalog: Catalog, file: str, asked: str) -> NoReturn:
    """Say that ``file`` has nothing of the URN ``asked``, and which entities have its name, or the end of it; leave the command."""
    near = next(filter(None, (catalog.named(name, _MOST) for name in _names(asked))), [])
    say(f"{file} knows nothing of {asked}" + (", but of" if near else ""))
    for urn in near:
        say(f"  {urn}")
    raise click.exceptions.Exit(EXIT_EVENTS)


def _names(asked: str) -> Iterator[str]:
    """Yield what may stand in the URN that was meant: the name, then the last part of it."""
    parts = urns.parse(asked)[1] if urns.is_urn(asked) else (asked,)
    name = next((part for part in parts if len(part) > _SHORT and not part.startswith("urn:li:")), None)
    if name is None:
        return
    yield name
    if len(last := name.rpartition(".")[2]) > _SHORT:
        yield last
