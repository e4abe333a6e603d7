"""Proposals to send again: the rules that all senders share, and a buffer in memory.

Four kinds of senders send again what did not arrive: the ledger (its outbox in SQLite), the SDK, the transport and the
callbacks in memory, and the executors of Spark. They share which errors are retryable, how the outcome of a batch is divided,
and how pauses grow. The stores differ: the outbox outlives the process, drops what a newer proposal replaces and stores dead
letters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import SinkError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dh_bridge.datahub.proposal import Proposal
    from dh_bridge.sinks.base import Delivery, Failure, Sink


class BatchOutcome(NamedTuple):
    """The outcome of a batch: how many proposals arrived, the retryable failures, and the permanent ones."""

    delivered_count: int
    retryable: list[Failure]
    permanent: list[Failure]


def outcome_of(delivery: Delivery) -> BatchOutcome:
    """Return the outcome of a batch that a sink took.

    >>> from dh_bridge.datahub.proposal import upsert
    >>> from dh_bridge.sinks.base import Delivery, Failure
    >>> tag = upsert("tag", "urn:li:tag:a", "status", {"removed": False})
    >>> outcome_of(Delivery(2, [Failure(tag, "no room", retryable=True)])).retryable[0].reason
    'no room'
    """
    return BatchOutcome(
        delivery.delivered_count,
        [failure for failure in delivery.failures if failure.retryable],
        [failure for failure in delivery.failures if not failure.retryable],
    )


def is_retryable(error: Exception) -> bool:
    """Return whether a batch that broke off with this error may be delivered later.

    A SinkError has this flag. Any other error, such as a missing token file, may be fixed by somebody.
    """
    return not isinstance(error, SinkError) or error.retryable


class Backoff:
    """Pauses between tries, in seconds: each is twice as long as the one before, from ``first_seconds`` up to ``max_seconds``.

    >>> backoff = Backoff(5, 60)
    >>> [backoff.next() for _ in range(5)], backoff.next(min_seconds=90)
    ([5, 10, 20, 40, 60], 90)
    """

    def __init__(self, first_seconds: float, max_seconds: float = float("inf")) -> None:
        self._first_seconds = first_seconds
        self._max_seconds = max_seconds
        self._pause = 0.0

    def next(self, min_seconds: float = 0.0) -> float:
        """Return the next pause in seconds, at least ``min_seconds``."""
        self._pause = min(max(2 * self._pause, self._first_seconds), self._max_seconds)
        return max(self._pause, min_seconds)

    def reset(self) -> None:
        """Begin with the first pause again: something arrived."""
        self._pause = 0.0


class RetryBuffer:
    """Proposals that a sink did not accept yet, in order and in memory."""

    def __init__(self, proposals: Iterable[Proposal] = ()) -> None:
        self.proposals = list(proposals)

    def __len__(self) -> int:
        return len(self.proposals)

    def add(self, proposals: Iterable[Proposal]) -> None:
        """Add proposals at the end."""
        self.proposals += proposals

    def keep_newest(self, limit: int) -> int:
        """Drop the oldest proposals, so that ``limit`` remain; return how many are dropped."""
        excess = max(0, len(self.proposals) - limit)
        del self.proposals[:excess]
        return excess

    def clear(self) -> list[Proposal]:
        """Return the waiting proposals, and empty the buffer."""
        proposals, self.proposals = self.proposals, []
        return proposals

    def send(self, sink: Sink) -> BatchOutcome:
        """Send the waiting proposals; those that may arrive later stay.

        Raises:
            Exception: The sink's error; the waiting proposals stay if it is retryable, and are dropped if not.
        """
        batch: Sequence[Proposal] = self.proposals
        try:
            batch_outcome = outcome_of(sink.emit(batch))
        except Exception as error:
            if not is_retryable(error):
                self.proposals = []
            raise
        self.proposals = [failure.proposal for failure in batch_outcome.retryable]
        return batch_outcome
