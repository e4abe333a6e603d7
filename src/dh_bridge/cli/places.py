"""Places that commands compare with: a server, a catalogue, a file of URNs."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from dh_bridge.delivery import open_destination
from dh_bridge.review.state import Listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.settings import Settings
    from dh_bridge.sinks.base import Readable


@contextmanager
def opened_place(target: str, settings: Settings) -> Iterator[tuple[Readable, Iterable[str] | None, Settings]]:
    """Open a place to read from; yield it, all its URNs (None: it cannot list them), and the settings with its profile."""
    scheme, colon, path = target.partition(":")
    if not colon:
        listed = Listed(target)
        yield listed, listed.urns, settings
    elif scheme == "catalog":
        if not Path(path).is_file():
            raise click.UsageError(f"there is no catalogue {path!r}")
        with open_destination(target, settings).sink as sink:
            yield cast("Readable", sink), sink.catalog.entities(), settings  # type: ignore[attr-defined]
    elif scheme == "rest":
        destination = open_destination(target, settings)
        with destination.sink as sink:
            yield cast("Readable", sink), None, destination.settings
    else:
        raise click.UsageError(f"{target!r} cannot be read: use rest:URL, catalog:FILE or a file of URNs")


def allowed(proposals: Sequence[Proposal], settings: Settings) -> list[Proposal]:
    """Return what the settings let be written."""
    return [one for one in proposals if settings.writes.refusal(one.entity_type, one.aspect_name) is None]
