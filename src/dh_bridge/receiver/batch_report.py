"""Reports what a transaction of the ledger did: counters, dead letters, and log lines of proposals that were not written."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dh_bridge.log_throttle import LogThrottle, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dh_bridge.openlineage.events import DeadLetter
    from dh_bridge.receiver.metrics import ReceiverMetrics
    from dh_bridge.session import Translation
    from dh_bridge.sinks.base import Delivery

log = logging.getLogger("dh_bridge.receiver")

SLOW_EVENT_SECONDS = 1.0
"""CPU seconds that an event may take before it is reported."""


class BatchReporter:
    """Counts the results of transactions in ``metrics``, and calls ``on_dead_letter`` with invalid events.

    Of similar errors, one line is logged each minute.
    """

    def __init__(self, metrics: ReceiverMetrics, on_dead_letter: Callable[[DeadLetter], None]) -> None:
        self._metrics = metrics
        self._on_dead_letter = on_dead_letter
        self._failures = LogThrottle(log, logging.ERROR)

    def report(self, translation: Translation, delivery: Delivery) -> None:
        """Report the results of one transaction."""
        counts = translation.counts
        self._metrics.add(
            events=counts.events,
            dead_letters=counts.dead,
            filtered=counts.filtered.total(),
            proposals=counts.proposals,
            invalid_proposals=counts.rejected,
            unsupported_aspects=counts.newer,
            cut=counts.cut,
            delivered=delivery.delivered_count,
            refused=len(delivery.failures),
        )
        for letter in translation.dead:
            self._on_dead_letter(letter)
        for rejection in translation.rejected:
            self._failures.log(kind_of(rejection.message), rejection.message)
        for failure in delivery.failures:
            text = f"{failure.proposal.entity_urn} {failure.proposal.aspect_name}: {failure.reason}"
            self._failures.log(kind_of(failure.reason), text)

    def flush(self) -> None:
        """Log the number of lines that were suppressed."""
        self._failures.flush()
