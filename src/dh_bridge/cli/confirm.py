"""What `emit` says and asks before it writes: how much comes, how much of it is new, and whether that is meant."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from dh_bridge.cli import EXIT_DELIVERY
from dh_bridge.cli.console import ask, say
from dh_bridge.ledger.new_entity_limit import lasting, new_at

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.session import Translation
    from dh_bridge.sinks.base import Sink


class Gate:
    """Sees every translation before anything of it is written; the first one is told of.

    ``most``: new entities that are written unasked, None: any number. It asks once, as soon as there are more, and only a person:
    stdin and stderr must be a terminal. A "no" leaves the command; what was written before stays.
    """

    def __init__(self, sink: Sink, most: int | None) -> None:
        self._sink = sink
        person = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
        self._most = most if person else None
        self._seen: set[str] = set()
        self._new = 0
        self._told = False

    def __call__(self, translation: Translation, fresh: Iterable[str] | None = None) -> None:
        """Tell of a translation, and ask; ``fresh`` are the entities that a ledger never sent before, None: nobody knows."""
        if not translation.proposals:
            return
        urns = {one.entity_urn for one in translation.proposals}
        new = self._new_ones(urns if fresh is None else fresh)
        if not self._told:
            self._told = True
            said = "" if new is None else f", {len(new):,} of them new"
            say(
                f"first {translation.counts.events:,} events: {len(translation.proposals):,} proposals for {len(urns):,}"
                f" entities, {len(urns) - len(lasting(urns)):,} of them runs{said}"
            )
        self._new += len(new or ())
        if self._most is None or self._new <= self._most:
            return
        self._most = None
        if not ask(f"{self._new:,} entities are new there; write them?"):
            say("not written; `dh-bridge plan` tells what would be")
            raise click.exceptions.Exit(EXIT_DELIVERY)

    def _new_ones(self, urns: Iterable[str]) -> set[str] | None:
        """Return those that the place does not have and that were not seen before; None where nobody asks."""
        if self._most is None:
            return None
        unseen = lasting(urns) - self._seen
        self._seen |= unseen
        return new_at(self._sink, unseen)
