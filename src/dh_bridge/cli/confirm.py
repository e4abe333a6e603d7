"""Confirmation before `emit` writes: the number of proposals and of new entities, and a question if there are many."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dh_bridge.cli import EXIT_DELIVERY
from dh_bridge.cli.terminal import ask, note, say
from dh_bridge.ledger.new_entity_limit import absent_entities, without_runs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dh_bridge.session import Translation
    from dh_bridge.sinks.base import Sink


MAX_UNCONFIRMED_ENTITIES = 1000
"""New entities, runs not counted, that `emit` writes without a question."""


class WriteConfirmation:
    """Checks every translation before it is written, and announces the first one.

    As soon as more than :data:`MAX_UNCONFIRMED_ENTITIES` entities are new, it asks once. It asks only if stdin and stderr are a
    terminal, and never with ``is_asking=False``. The answer "no" ends the command; proposals that were written before remain.
    """

    def __init__(self, sink: Sink, *, is_asking: bool) -> None:
        self._sink = sink
        is_interactive = sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()
        self._max_new_entities = MAX_UNCONFIRMED_ENTITIES if is_asking and is_interactive else None
        self._checked_urns: set[str] = set()
        self._new_count = 0
        self._is_announced = False

    @property
    def is_asking(self) -> bool:
        """Whether a question may still be asked."""
        return self._max_new_entities is not None

    def __call__(self, translation: Translation, new_urns: Iterable[str] | None = None) -> None:
        """Announce a translation, and ask. ``new_urns``: entities that a ledger never sent before; None if they are unknown."""
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
            raise SystemExit(EXIT_DELIVERY)  # no fault of an event, as an Exception would be

    def _find_new_entities(self, urns: Iterable[str]) -> set[str] | None:
        """Return the entities that are absent from the target and were not checked before; None if no question is asked."""
        if self._max_new_entities is None:
            return None
        unseen = without_runs(urns) - self._checked_urns
        self._checked_urns |= unseen
        return absent_entities(self._sink, unseen)
