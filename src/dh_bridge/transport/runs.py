"""What is remembered of a run without a ledger: its events, and what of it was delivered."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.datahub.aspect_diff import proposal_fingerprint
from dh_bridge.delivery import refused
from dh_bridge.errors import BridgeError
from dh_bridge.retry_buffer import may_pass, outcome

if TYPE_CHECKING:
    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.errors import SinkError
    from dh_bridge.openlineage.events import Event
    from dh_bridge.sinks.base import Sink

log = logging.getLogger("dh_bridge.transport")

EVENTS = 100
"""Events of one run that are folded without a ledger: its first one, and the last ones."""
TRIES = 5
"""How often something is sent that a place refuses for now, or breaks off over, while it takes the rest."""
_REMEMBERED = 10_000
"""Aspects and points of one run of which it is known that they were delivered."""


class Marked(NamedTuple):
    """A proposal, what it is about, and a digest of what it says."""

    proposal: Proposal
    key: tuple[str, ...]
    digest: bytes


class Run:
    """The events of a run, and what was delivered of it: a digest for each aspect, and for each point in time.

    ``key`` names it; ``alone``: it is one event of no run. ``waits``: something of it is to be sent. ``tries``: how often in a
    row its delivery broke off.
    """

    def __init__(self, key: str, *, alone: bool) -> None:
        self.key = key
        self.alone = alone
        self.events: list[Event] = []
        self.size = 0
        self.waits = False
        self.tries = 0
        self._refusals = 0
        self._broke_off: dict[tuple[str, ...], bytes] = {}
        self._delivered: dict[tuple[str, ...], bytes] = {}

    def add(self, event: Event) -> None:
        """Take an event; of too many all but the first and the last ones are let go."""
        self.events.append(event)
        self.size += len(event.raw)
        if len(self.events) > EVENTS:
            self.size -= len(self.events.pop(1).raw)

    def drop(self, raw: set[bytes]) -> None:
        """Forget events that cannot be used."""
        self.events = [event for event in self.events if event.raw not in raw]

    def new(self, proposals: list[Proposal]) -> list[Marked]:
        """Return the proposals that were not delivered as they are now."""
        marked = (Marked(one, _key(one), proposal_fingerprint(one)) for one in proposals)
        return [one for one in marked if self._delivered.get(one.key) != one.digest]

    def deliver(self, new: list[Marked], sink: Sink) -> SinkError | None:
        """Deliver what is new and return the error of what was refused; the one that breaks off the whole is raised."""
        try:
            delivery = sink.emit([one.proposal for one in new])
        except BridgeError as error:
            self.waits = may_pass(error)
            self.tries = self.tries + 1 if self.waits else 0
            self._broke_off = {one.key: one.digest for one in new}
            raise
        self.tries = 0
        later = {
            (_key(failure.proposal), proposal_fingerprint(failure.proposal)) for failure in outcome(delivery).retryable
        }
        self._refusals = self._refusals + 1 if later else 0
        if self._refusals >= TRIES:
            log.error("refused %d times, and not sent again: %s", TRIES, refused(delivery.failed, len(new)))
            later, self._refusals = set(), 0
        self.waits = bool(later)
        self._delivered.update((one.key, one.digest) for one in new if (one.key, one.digest) not in later)
        if len(self._delivered) > _REMEMBERED:
            self._delivered.clear()
        return refused(delivery.failed, len(new)) if delivery.failed else None

    def give_up(self) -> None:
        """Send no more what broke off the last time: with it whatever the run says next would break off, too."""
        self._delivered.update(self._broke_off)
        self.waits, self.tries = False, 0

    def forget(self) -> None:
        """Take nothing for delivered: all of it is new."""
        self._delivered.clear()


def _key(proposal: Proposal) -> tuple[str, ...]:
    point = proposal.value.get("messageId", "") if isinstance(proposal.value, dict) else ""
    return proposal.entity_urn, proposal.aspect_name, proposal.change_type, point
