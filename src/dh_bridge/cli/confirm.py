"""What `emit` says and asks before it writes: how much comes, how much of it is new, and whether that is meant."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from dh_bridge.cli import EXIT_DELIVERY
from dh_bridge.cli.console import ask, note, say
from dh_bridge.ledger.new_entity_limit import absent_entities, without_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.session import Translation
    from dh_bridge.sinks.base import Sink


MAX_UNCONFIRMED_ENTITIES = 1000
"""New entities, runs not counted, that `emit` writes without a question."""


class WriteConfirmation:
    """Sees every translation before anything of it is written; the first one is told of.

    It asks once, as soon as more than :data:`MAX_UNCONFIRMED_ENTITIES` are new, and only a person: stdin and stderr must be a
    terminal. With ``is_asking=False`` it never asks. A "no" leaves the command; what was written before stays.
    """

    def __init__(self, sink: Sink, *, is_asking: bool) -> None:
        self._sink = sink
        is_interactive = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
        self._max_new_entities = MAX_UNCONFIRMED_ENTITIES if is_asking and is_interactive else None
        self._checked_urns: set[str] = set()
        self._new_count = 0
        self._is_announced = False

    def __call__(self, translation: Translation, new_urns: Iterable[str] | None = None) -> None:
        """Tell of a translation, and ask; ``new_urns`` are the entities that a ledger never sent before, None: nobody knows."""
        if not translation.proposals:
            return
        urns = {proposal.entity_urn for proposal in translation.proposals}
        new_entities = self._find_new_entities(urns if new_urns is None else new_urns)
        if not self._is_announced:
            self._is_announced = True
            new_text = "" if new_entities is None else f", {len(new_entities):,} of them new"
            note(
                f"first {translation.counts.events:,} events: {len(translation.proposals):,} proposals for {len(urns):,}"
                f" entities, {len(urns) - len(without_runs(urns)):,} of them runs{new_text}"
            )
        self._new_count += len(new_entities or ())
        if self._max_new_entities is None or self._new_count <= self._max_new_entities:
            return
        self._max_new_entities = None
        if not ask(f"{self._new_count:,} entities are new there; write them?"):
            say("nothing is written; `dh-bridge plan` shows what would be")
            raise click.exceptions.Exit(EXIT_DELIVERY)

    def _find_new_entities(self, urns: Iterable[str]) -> set[str] | None:
        """Return those that the place does not have and that were not seen before; None where nobody asks."""
        if self._max_new_entities is None:
            return None
        unseen = without_runs(urns) - self._checked_urns
        self._checked_urns |= unseen
        return absent_entities(self._sink, unseen)
