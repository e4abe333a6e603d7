"""How an event that comes alone is told: by a ledger, or together with what its run said before in this process."""

from __future__ import annotations

import logging
from hashlib import blake2b
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.delivery import refused
from dh_bridge.errors import BridgeError, EventError, SinkError
from dh_bridge.window import BYTES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dh_bridge.bridge import Bridge
    from dh_bridge.call import Translation
    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.ledger import Ledger
    from dh_bridge.openlineage.events import Event
    from dh_bridge.sinks.base import Sink

log = logging.getLogger("dh_bridge.transport")

EVENTS = 100
"""Events of one run that are folded without a ledger: its first one, and the last ones."""
TRIES = 5
"""How often something is sent that a place refuses for now while it takes the rest."""
_REMEMBERED = 10_000
"""Aspects and points of one run of which it is known that they were delivered."""


class Teller(Protocol):
    """Takes events one by one."""

    def tell(self, event: Event) -> list[BridgeError]:
        """Take an event, and return what went wrong with it; a BridgeError means that it was not taken."""
        ...

    def settle(self) -> None:
        """Deliver what waits, unless the place takes nothing."""
        ...

    @property
    def settled(self) -> bool:
        """Whether nothing waits."""
        ...


class WithLedger:
    """Each event is a batch of the ledger: what a server does not take waits in its file."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._down = False

    def tell(self, event: Event) -> list[BridgeError]:
        """Take an event; a SinkError means that the ledger's file could not be written, or is full."""
        translation, delivery = self._ledger.take([event])
        problems: list[BridgeError] = list(_mistakes(translation))
        if delivery.failed:
            problems.append(refused(delivery.failed, delivery.delivered + len(delivery.failed)))
        self._warn()
        return problems

    def settle(self) -> None:
        """Deliver what waits, unless the place takes nothing."""
        if self.settled:
            return
        failed = self._ledger.courier.deliver().failed
        if failed:
            log.warning("%s", refused(failed, len(failed)))
        self._warn()

    @property
    def settled(self) -> bool:
        """Whether nothing waits in the ledger."""
        return not self._ledger.courier.outbox.count()[0]

    def _warn(self) -> None:
        broken = self._ledger.courier.broken
        if broken is not None and not self._down:
            log.warning("what is told waits in the ledger until it can be delivered: %s", broken)
        self._down = broken is not None


class _Marked(NamedTuple):
    """A proposal, what it is about, and a digest of what it says."""

    proposal: Proposal
    key: tuple[str, ...]
    digest: bytes


class _Run:
    """The events of a run, and what was delivered of it: a digest for each aspect, and for each point in time."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.size = 0
        self.waits = False
        self._tries = 0
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

    def new(self, proposals: list[Proposal]) -> list[_Marked]:
        """Return the proposals that were not delivered as they are now."""
        marked = (_Marked(one, _key(one), _digest(one)) for one in proposals)
        return [one for one in marked if self._delivered.get(one.key) != one.digest]

    def deliver(self, new: list[_Marked], sink: Sink) -> SinkError | None:
        """Deliver what is new and return the error of what was refused; a SinkError of the place itself is raised."""
        try:
            delivery = sink.emit([one.proposal for one in new])
        except SinkError as error:
            self.waits = error.retryable
            raise
        later = {_digest(failure.proposal) for failure in delivery.failed if failure.retryable}
        self._tries = self._tries + 1 if later else 0
        if self._tries >= TRIES:
            log.error("refused %d times, and not sent again: %s", TRIES, refused(delivery.failed, len(new)))
            later, self._tries = set(), 0
        self.waits = bool(later)
        self._delivered.update((one.key, one.digest) for one in new if one.digest not in later)
        if len(self._delivered) > _REMEMBERED:
            self._delivered.clear()
        return refused(delivery.failed, len(new)) if delivery.failed else None


class InMemory:
    """Each event is a call together with the earlier ones of its run (state mode *none*): what is new of it is delivered.

    So an end knows its start, and its duration. Runs that were heard of last are kept, up to 16 MiB of events.
    """

    def __init__(self, bridge: Bridge, sink: Sink, *, most_bytes: int = BYTES) -> None:
        self._bridge = bridge
        self._sink = sink
        self._most = most_bytes
        self._runs: dict[str, _Run] = {}
        self._size = 0
        self._alone = count()
        self._down = False

    def tell(self, event: Event) -> list[BridgeError]:
        """Take an event, and deliver what waits once the place takes something again."""
        key = event.run_id if event.kind == "run" else f"#{next(self._alone)}"
        run = self._runs.pop(key, None) or _Run()
        self._runs[key] = run  # the last one that was heard of
        self._size -= run.size
        run.add(event)
        self._size += run.size
        problems = self._told(run)
        if event.kind != "run" and not run.waits:
            self._forget(key)
        if not self._down:
            self._settle(other for other in self._waiting() if other is not run)
        self._let_go()
        return problems

    def settle(self) -> None:
        """Deliver what waits, unless the place takes nothing."""
        self._settle(self._waiting())

    def _settle(self, runs: Iterable[_Run]) -> None:
        for run in runs:
            for problem in self._told(run):
                log.warning("%s", problem)
            if self._down:
                return

    @property
    def settled(self) -> bool:
        """Whether nothing waits."""
        return not self._waiting()

    def _waiting(self) -> list[_Run]:
        return [run for run in self._runs.values() if run.waits]

    def _told(self, run: _Run) -> list[BridgeError]:
        translation = self._bridge.translate(run.events)
        problems: list[BridgeError] = list(_mistakes(translation))
        run.drop({letter.raw for letter in translation.dead})
        new = run.new(translation.proposals)
        if not new:
            run.waits = False  # what waited was taken back by a later event
            return problems
        try:
            refusal = run.deliver(new, self._sink)
            self._down = False
        except SinkError as error:
            refusal, self._down = error, True
        return problems if refusal is None else [*problems, refusal]

    def _let_go(self) -> None:
        for key in list(self._runs):
            if self._size <= self._most or len(self._runs) == 1:
                return
            if self._runs[key].waits:
                log.error("too much waits: what run %s said last was not delivered, and is forgotten", key)
            self._forget(key)

    def _forget(self, key: str) -> None:
        self._size -= self._runs.pop(key).size


def _mistakes(translation: Translation) -> Iterator[EventError]:
    """Yield what cannot be used; what is our own mistake is logged, as the rest goes on."""
    for letter in translation.dead:
        yield EventError(letter.reason, where=letter.place)
    for ours in translation.rejected:
        log.error("%s", ours.text)


def _key(proposal: Proposal) -> tuple[str, ...]:
    point = proposal.value.get("messageId", "") if isinstance(proposal.value, dict) else ""
    return proposal.entity_urn, proposal.aspect_name, proposal.change_type, point


def _digest(proposal: Proposal) -> bytes:
    return blake2b(ndjson_line(proposal), digest_size=16).digest()
