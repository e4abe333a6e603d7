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

_MAX_SUGGESTIONS = 5
_MAX_SHORT_LENGTH = 3


def exit_unknown_urn(catalog: Catalog, file: str, requested_urn: str) -> NoReturn:
    """Say that ``file`` has nothing of the URN ``requested_urn``, and which entities have its name, or the end of it; leave the command."""
    similar_urns = next(
        filter(None, (catalog.find_by_name(name, _MAX_SUGGESTIONS) for name in _candidate_names(requested_urn))), []
    )
    say(f"{file} knows nothing of {requested_urn}" + (", but of" if similar_urns else ""))
    for urn in similar_urns:
        say(f"  {urn}")
    raise click.exceptions.Exit(EXIT_EVENTS)


def _candidate_names(requested_urn: str) -> Iterator[str]:
    """Yield what may stand in the URN that was meant: the name, then the last part of it."""
    parts = urns.parse_urn(requested_urn)[1] if urns.is_urn(requested_urn) else (requested_urn,)
    name = next((part for part in parts if len(part) > _MAX_SHORT_LENGTH and not part.startswith("urn:li:")), None)
    if name is None:
        return
    yield name
    if len(last_part := name.rpartition(".")[2]) > _MAX_SHORT_LENGTH:
        yield last_part
