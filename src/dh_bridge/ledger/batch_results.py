"""Merges the results of the transactions of one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.session import Translation
from dh_bridge.sinks.base import Delivery

if TYPE_CHECKING:
    from collections.abc import Iterable


def merge_results(results: Iterable[tuple[Translation, Delivery]]) -> tuple[Translation, Delivery]:
    """Return the results of several transactions as one; of their reports, the last one."""
    (translation, delivery), *later_results = results
    for later_translation, later_delivery in later_results:
        translation = Translation(
            translation.proposals + later_translation.proposals,
            translation.dead + later_translation.dead,
            translation.rejected + later_translation.rejected,
            translation.counts,
            later_translation.report or translation.report,
        )
        translation.counts.add(later_translation.counts)
        delivery = Delivery(
            delivery.delivered_count + later_delivery.delivered_count, [*delivery.failures, *later_delivery.failures]
        )
    return translation, delivery
