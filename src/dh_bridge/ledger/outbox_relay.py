"""The way out of a ledger: what waits in its outbox is sent, oldest first, by one process at a time."""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from dh_bridge.errors import SinkError
from dh_bridge.ledger.delivery_lock import turn
from dh_bridge.ledger.new_entity_limit import Newcomers, new_at
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.retry_buffer import Backoff, outcome
from dh_bridge.sinks.base import Delivery, Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.ledger.outbox import Waiting
    from dh_bridge.ledger.withheld import Withheld
    from dh_bridge.settings import Settings
    from dh_bridge.sinks.base import Sink
    from dh_bridge.storage.database import Database


REST, LONGEST = 5.0, 60.0
"""Seconds between deliveries to a place that takes nothing: after the first failure, and at most (they double)."""

LONGEST_ASKED = 3600.0
"""Seconds between deliveries to a place that asks for a longer pause (Retry-After), at most."""

_LOOK = 1.0
"""Seconds of waiting for another process after which to look whether it has delivered what is ours."""

_OF_THE_DEAD = (
    "what was given up makes room by `dh-bridge queue drop --dead`, or is sent again by `dh-bridge queue retry`"
    " (`dh-bridge queue list --dead` shows it)"
)


class Courier:
    """Sends to ``sink`` what waits in the outbox of ``file``; ``forget`` is told what was refused for good.

    What waited when ``withheld`` came to refuse it leaves the outbox: the sink leaves it out, and it counts as never sent.
    """

    def __init__(  # noqa: PLR0913 - what the ledger shares with it
        self,
        file: Database,
        sink: Sink,
        settings: Settings,
        forget: Callable[[Iterable[Failure]], None],
        withheld: Withheld,
        *,
        clock: Callable[[], float],
        ticks: Callable[[], float],
    ) -> None:
        self._file = file
        self._sink = sink
        self._clock = clock
        self._ticks = ticks
        self._forget = forget
        self._withheld = withheld
        self._limit = settings.ledger.outbox_limit
        self.outbox = Outbox(file.connection)
        self.newcomers = Newcomers(file.connection, settings.max_new_entities_per_hour)
        #: why the last delivery broke off
        self.broken: SinkError | None = None
        #: whether a delivery was left out: to another process, or as the place took nothing just before
        self.owes = False
        #: the last of what is ours to see delivered; None: all that waits is
        self.last: int | None = None
        self._backoff = Backoff(REST, LONGEST)
        self._until = -inf  # by ticks

    def look_for_room(self) -> None:
        """Raise a SinkError when the outbox is full: what was given up fills it, too, until somebody lets it go."""
        if self.outbox.tally.at_most() < self._limit:
            return
        with self._file.transaction():
            if self.outbox.tally.counted() < self._limit:
                return
        waits, dead = self.outbox.count()
        now = "what is in the outbox is safe, send the events again later"
        raise SinkError(
            f"the outbox is full: {waits:,} proposals wait and {dead:,} are given up (ledger.outbox_limit)",
            where=self._file.path,
            now=f"{_OF_THE_DEAD if dead else 'see `dh-bridge queue list`'}; {now}",
            retryable=True,
        )

    def put(self, proposals: Sequence[Proposal], fresh: Iterable[str], now: int) -> None:
        """Add proposals at ``now`` (milliseconds), in the caller's transaction; ``fresh``: entities that were never sent before."""
        self.newcomers.note(fresh)
        self.outbox.put(proposals, now)

    def deliver(self, patience: float = 0) -> Delivery:
        """Send what waits, oldest first; the failures are those for good, the rest stays.

        A sink that breaks off ends the delivery (``broken`` says why), and so does one that takes nothing now. One process
        delivers at a time: ``patience`` is how many seconds to wait for another one.
        """
        return _whole(self.deliveries(patience))

    def deliver_by_the_way(self) -> Delivery:
        """As :meth:`deliver`, but leave a place alone that took nothing a moment ago: its sink would try again and again."""
        return _whole(self.deliveries_by_the_way())

    def see_off(self, patience: float) -> Delivery:
        """Deliver what waits by now, or see another process deliver it: after ``patience`` seconds it is left to that one.

        What comes meanwhile belongs to whoever brought it: beside one that never rests there is always something.
        """
        self.last = last = self.outbox.newest()
        until = monotonic() + patience
        while self.outbox.count(last=last)[0]:
            found = self.deliver(min(patience, _LOOK))
            if not self.owes or monotonic() >= until:
                return found
        self.owes, self.broken = False, None
        return Delivery(0, [])

    def deliveries(self, patience: float = 0) -> Generator[Delivery, None, None]:
        """Deliver as :meth:`deliver` does, and yield what became of each part of it; who closes it leaves the rest waiting."""
        with turn(self._file.path, patience=patience) as ours:
            self.owes = not ours
            if ours:
                self.last = None
                yield from self._delivered()
                if self.broken is None:
                    self._backoff.reset()
                    self._until = self._ticks()
                else:
                    self._until = self._ticks() + self._backoff.next(asked=min(self.broken.after, LONGEST_ASKED))
                return
        self.broken = SinkError("another process delivers from this ledger", where=self._file.path, retryable=True)

    def deliveries_by_the_way(self) -> Generator[Delivery, None, None]:
        """Deliver as :meth:`deliver_by_the_way` does, part by part."""
        if self._ticks() >= self._until:
            yield from self.deliveries()
        else:
            self.owes = True

    def _delivered(self) -> Iterator[Delivery]:
        after = 0
        blocked: set[str] = set()
        self.broken = None
        try:
            self._admit()
        except SinkError as error:
            self.broken = error.with_traceback(None)  # which leads to all that waits
            return
        while not self.outbox.paused and (waiting := self.outbox.waiting(after=after, held=False)):
            after = waiting[-1].number
            ready = [one for one in waiting if one.proposal.entity_urn not in blocked]
            try:
                found = self._sink.emit([one.proposal for one in ready])
            except SinkError as error:
                self.broken = error.with_traceback(None)  # which leads to all that waits
                with self._file.transaction():
                    self.outbox.postpone(ready, str(error))
                break
            done = outcome(found)
            with self._file.transaction():
                self.outbox.settle(ready, found.failed)
                self._forget(done.permanent)
                self._withhold(ready)
            blocked |= {failure.proposal.entity_urn for failure in done.retryable}
            yield Delivery(found.delivered, done.permanent)
            if ready and len(done.retryable) == len(ready):
                break

    def _withhold(self, sent: Iterable[Waiting]) -> None:
        """Forget what the sink left out of ``sent``."""
        rules = [(one.proposal, self._withheld.refusal(one.proposal)) for one in sent]
        left_out = [Failure(proposal, rule) for proposal, rule in rules if rule is not None]
        if left_out:
            self._forget(left_out)
            self._withheld.note()

    def _admit(self) -> None:
        """Let through what is not new at the place, and of the new entities those that the hour has room for."""
        limited = self.newcomers.limit is not None
        if self.outbox.paused or not (limited or self.newcomers.held()[0]):
            return
        while limited and (urns := self.newcomers.unseen()):
            new = new_at(self._sink, urns)
            with self._file.transaction():
                self.newcomers.looked(urns, new)
        with self._file.transaction():
            self.newcomers.admit(int(self._clock() * 1000))


def _whole(deliveries: Iterable[Delivery]) -> Delivery:
    """Return all parts of a delivery as one."""
    delivered, failed = 0, []
    for one in deliveries:
        delivered += one.delivered
        failed += one.failed
    return Delivery(delivered, failed)
