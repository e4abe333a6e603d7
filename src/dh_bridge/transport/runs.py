"""The cache of runs without a ledger: the events of a run, and digests of the delivered proposals."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.datahub.aspect_diff import proposal_fingerprint
from dh_bridge.delivery import delivery_error
from dh_bridge.errors import BridgeError
from dh_bridge.retry_buffer import is_retryable, outcome_of

if TYPE_CHECKING:
    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.errors import SinkError
    from dh_bridge.openlineage.events import Event
    from dh_bridge.sinks.base import Sink

log = logging.getLogger("dh_bridge.transport")

MAX_EVENTS_PER_RUN = 100
"""Events of one run that are cached without a ledger: its first one, and the last ones."""
MAX_TRIES = 5
"""Number of tries if the target rejects a proposal temporarily, or breaks off, while it accepts others."""
_MAX_DIGESTS_PER_RUN = 10_000
"""Maximum number of delivered aspects and points of one run that are remembered."""


class DigestedProposal(NamedTuple):
    """A proposal, its key, and a digest of its content."""

    proposal: Proposal
    key: tuple[str, ...]
    digest: bytes


class BufferedRun:
    """The events of a run, and its delivered proposals: a digest for each aspect, and for each point in time.

    ``key`` identifies it; ``is_single_event``: it is one event without a run. ``is_waiting``: it has undelivered proposals.
    ``tries``: the number of failed deliveries in a row.
    """

    def __init__(self, key: str, *, is_single_event: bool) -> None:
        self.key = key
        self.is_single_event = is_single_event
        self.events: list[Event] = []
        self.size = 0
        self.is_waiting = False
        self.tries = 0
        self._refusals = 0
        self._interrupted: dict[tuple[str, ...], bytes] = {}
        self._delivered: dict[tuple[str, ...], bytes] = {}

    def add(self, event: Event) -> None:
        """Add an event; if there are too many, all but the first and the last ones are dropped."""
        self.events.append(event)
        self.size += len(event.raw)
        if len(self.events) > MAX_EVENTS_PER_RUN:
            self.size -= len(self.events.pop(1).raw)

    def drop(self, raw: set[bytes]) -> None:
        """Drop events that cannot be used."""
        self.events = [event for event in self.events if event.raw not in raw]

    def undelivered(self, proposals: list[Proposal]) -> list[DigestedProposal]:
        """Return the proposals whose present content was not delivered."""
        digested = (DigestedProposal(item, _key(item), proposal_fingerprint(item)) for item in proposals)
        return [item for item in digested if self._delivered.get(item.key) != item.digest]

    def deliver(self, proposals: list[DigestedProposal], sink: Sink) -> SinkError | None:
        """Deliver changes and return the error of rejected proposals; the error that breaks off the delivery is raised."""
        try:
            delivery = sink.emit([digested.proposal for digested in proposals])
        except BridgeError as error:
            self.is_waiting = is_retryable(error)
            self.tries = self.tries + 1 if self.is_waiting else 0
            self._interrupted = {digested.key: digested.digest for digested in proposals}
            raise
        self.tries = 0
        retryable_digests = {
            (_key(failure.proposal), proposal_fingerprint(failure.proposal))
            for failure in outcome_of(delivery).retryable
        }
        self._refusals = self._refusals + 1 if retryable_digests else 0
        if self._refusals >= MAX_TRIES:
            log.error(
                "rejected %d times, and not sent again: %s",
                MAX_TRIES,
                delivery_error(delivery.failures, len(proposals)),
            )
            retryable_digests, self._refusals = set(), 0
        self.is_waiting = bool(retryable_digests)
        self._delivered.update(
            (digested.key, digested.digest)
            for digested in proposals
            if (digested.key, digested.digest) not in retryable_digests
        )
        if len(self._delivered) > _MAX_DIGESTS_PER_RUN:
            self._delivered.clear()
        return delivery_error(delivery.failures, len(proposals)) if delivery.failures else None

    def give_up(self) -> None:
        """Stop sending what broke off the last time, because later deliveries of the run would break off, too."""
        self._delivered.update(self._interrupted)
        self.is_waiting, self.tries = False, 0

    def forget_deliveries(self) -> None:
        """Mark everything as not delivered."""
        self._delivered.clear()


def _key(proposal: Proposal) -> tuple[str, ...]:
    point = proposal.value.get("messageId", "") if isinstance(proposal.value, dict) else ""
    return proposal.entity_urn, proposal.aspect_name, proposal.change_type, point
