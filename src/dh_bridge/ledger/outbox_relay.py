"""Sends the proposals of an outbox, oldest first; one process at a time."""

from __future__ import annotations

from math import inf
from time import monotonic
from typing import TYPE_CHECKING

from dh_bridge.errors import SinkError
from dh_bridge.ledger.delivery_lock import try_delivery_lock
from dh_bridge.ledger.new_entity_limit import NewEntityLimit, absent_entities
from dh_bridge.ledger.outbox import Outbox
from dh_bridge.retry_buffer import Backoff, outcome_of
from dh_bridge.sinks.base import Delivery, Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.ledger.outbox import QueuedProposal
    from dh_bridge.ledger.withheld import WithheldWrites
    from dh_bridge.settings import Settings
    from dh_bridge.sinks.base import Sink
    from dh_bridge.storage.database import Database


FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 5.0, 60.0
"""Seconds between deliveries to a target that accepts nothing: after the first failure, and at most (they double)."""

MAX_REQUESTED_PAUSE_SECONDS = 3600.0
"""Maximum seconds between deliveries to a target that asks for a longer pause (Retry-After)."""

_POLL_SECONDS = 1.0
"""Seconds between two looks at whether another process has delivered the proposals of this one."""

_DEAD_LETTER_REMEDY = (
    "`dh-bridge queue list --dead` lists the proposals that were given up, `dh-bridge queue retry` sends them again, and"
    " `dh-bridge queue drop --dead` deletes them"
)


class OutboxRelay:
    """Sends the proposals in the outbox of ``file`` to ``sink``.

    Calls ``mark_unsent`` for those that were rejected permanently.

    If ``withheld`` excludes a waiting proposal, it leaves the outbox and counts as never sent.
    """

    def __init__(  # noqa: PLR0913 - the objects that the ledger shares
        self,
        file: Database,
        sink: Sink,
        settings: Settings,
        mark_unsent: Callable[[Iterable[Failure]], None],
        withheld: WithheldWrites,
        *,
        clock: Callable[[], float],
        monotonic_clock: Callable[[], float],
    ) -> None:
        self._file = file
        self._sink = sink
        self._clock = clock
        self._monotonic_clock = monotonic_clock
        self._mark_unsent = mark_unsent
        self._withheld = withheld
        self._limit = settings.ledger.outbox_limit
        self.outbox = Outbox(file.connection)
        self.new_entities = NewEntityLimit(file.connection, settings.max_new_entities_per_hour)
        #: why the last delivery broke off
        self.last_error: SinkError | None = None
        #: whether a delivery was skipped: because of another process, or because the target failed just before
        self.has_skipped_delivery = False
        #: number of the last proposal of this process; None: of all that wait
        self.last_own_id: int | None = None
        self._backoff = Backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        self._next_attempt = -inf  # on the monotonic clock

    def require_capacity(self) -> None:
        """Raise a SinkError if the outbox is full; dead letters count until they are deleted."""
        if self.outbox.row_estimate.max_count() < self._limit:
            return
        with self._file.transaction():
            if self.outbox.row_estimate.count_rows() < self._limit:
                return
        queued_count, dead_count = self.outbox.count()
        remedy = "the queued proposals are safe; send the events again later"
        raise SinkError(
            f"the outbox is full: {queued_count:,} proposals wait and {dead_count:,} were given up (ledger.outbox_limit)",
            location=self._file.path,
            remedy=f"{_DEAD_LETTER_REMEDY if dead_count else 'see `dh-bridge queue list`'}; {remedy}",
            retryable=True,
        )

    def add(self, proposals: Sequence[Proposal], new_urns: Iterable[str], now: int) -> None:
        """Add proposals at ``now`` (milliseconds), in the caller's transaction; ``new_urns``.

        Entities that were never sent before.
        """
        self.new_entities.hold(new_urns)
        self.outbox.add(proposals, now)

    def deliver(self, timeout: float = 0) -> Delivery:
        """Send waiting proposals, oldest first; return the permanent failures. The rest stays.

        The delivery ends if the sink breaks off (``last_error`` has the reason) or accepts nothing. ``timeout``: seconds to
        wait for another process that delivers.
        """
        return _merge_deliveries(self.iter_deliveries(timeout))

    def deliver_if_due(self) -> Delivery:
        """Do the same as :meth:`deliver`, but skip a target that failed a moment ago."""
        return _merge_deliveries(self.iter_deliveries_if_due())

    def deliver_own(self, timeout: float) -> Delivery:
        """Deliver what waits now, or wait up to ``timeout`` seconds until another process has delivered it.

        Proposals that arrive meanwhile belong to the process that added them; beside a busy process this would otherwise never
        end.
        """
        self.last_own_id = last_id = self.outbox.last_id()
        deadline = monotonic() + timeout
        while self.outbox.count(max_id=last_id)[0]:
            delivery = self.deliver(min(timeout, _POLL_SECONDS))
            if not self.has_skipped_delivery or monotonic() >= deadline:
                return delivery
        self.has_skipped_delivery, self.last_error = False, None
        return Delivery(0, [])

    def iter_deliveries(self, timeout: float = 0) -> Generator[Delivery, None, None]:
        """Do the same as :meth:`deliver`, and yield the result of each part; if the caller stops early, the rest waits."""
        with try_delivery_lock(self._file.path, timeout=timeout) as has_lock:
            self.has_skipped_delivery = not has_lock
            if has_lock:
                self.last_own_id = None
                yield from self._send_queued()
                if self.last_error is None:
                    self._backoff.reset()
                    self._next_attempt = self._monotonic_clock()
                else:
                    self._next_attempt = self._monotonic_clock() + self._backoff.next(
                        min_seconds=min(self.last_error.retry_after, MAX_REQUESTED_PAUSE_SECONDS)
                    )
                return
        self.last_error = SinkError(
            "another process is delivering from this ledger", location=self._file.path, retryable=True
        )

    def iter_deliveries_if_due(self) -> Generator[Delivery, None, None]:
        """Do the same as :meth:`deliver_by_the_way`, part by part."""
        if self._monotonic_clock() >= self._next_attempt:
            yield from self.iter_deliveries()
        else:
            self.has_skipped_delivery = True

    def _send_queued(self) -> Iterator[Delivery]:
        after_id = 0
        blocked_urns: dict[str, str] = {}  # URN -> the reason why an earlier proposal of the entity waits
        self.last_error = None
        try:
            self._admit_new_entities()
        except SinkError as error:
            self.last_error = error.with_traceback(None)  # the cause of all other failures
            return
        while not self.outbox.is_paused and (
            queued_items := self.outbox.list_queued(after_id=after_id, include_held=False)
        ):
            after_id = queued_items[-1].number
            ready = [item for item in queued_items if item.proposal.entity_urn not in blocked_urns]
            try:
                delivery = self._sink.emit([item.proposal for item in ready])
            except SinkError as error:
                self.last_error = error.with_traceback(None)  # the cause of all other failures
                with self._file.transaction():
                    self.outbox.record_failure(ready, str(error))
                break
            batch_outcome = outcome_of(delivery)
            with self._file.transaction():
                self.outbox.record_delivery(ready, delivery.failures)
                if blocked_urns:
                    self.outbox.record_blocked(queued_items, blocked_urns)
                self._mark_unsent(batch_outcome.permanent)
                self._mark_withheld(ready)
            blocked_urns |= {failure.proposal.entity_urn: failure.reason for failure in batch_outcome.retryable}
            yield Delivery(delivery.delivered_count, batch_outcome.permanent)
            if ready and len(batch_outcome.retryable) == len(ready):
                break

    def _mark_withheld(self, attempted_items: Iterable[QueuedProposal]) -> None:
        """Mark those of ``attempted_items`` as unsent that the sink left out."""
        rules = [(item.proposal, self._withheld.matching_rule(item.proposal)) for item in attempted_items]
        withheld_failures = [Failure(proposal, rule) for proposal, rule in rules if rule is not None]
        if withheld_failures:
            self._mark_unsent(withheld_failures)
            self._withheld.record_rules()

    def _admit_new_entities(self) -> None:
        """Admit entities that the target has and, of the new ones, as many as the limit of the hour allows."""
        is_limited = self.new_entities.limit is not None
        if self.outbox.is_paused or not (is_limited or self.new_entities.held_status()[0]):
            return
        while is_limited and (urns := self.new_entities.unchecked_urns()):
            new_urns = absent_entities(self._sink, urns)
            with self._file.transaction():
                self.new_entities.record_check(urns, new_urns)
        with self._file.transaction():
            self.new_entities.admit(int(self._clock() * 1000))


def _merge_deliveries(deliveries: Iterable[Delivery]) -> Delivery:
    """Merge the results of all parts of a delivery."""
    delivered_count, failed = 0, []
    for delivery in deliveries:
        delivered_count += delivery.delivered_count
        failed += delivery.failures
    return Delivery(delivered_count, failed)
