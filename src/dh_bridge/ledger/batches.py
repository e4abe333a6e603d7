"""Divides a stream of events into batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dh_bridge.openlineage.events import DeadLetter, Event

MAX_BATCH_BYTES = 64 * 1024 * 1024
"""A batch ends when its raw events reach this size, so memory stays flat for events of any size."""

MAX_BATCH_SECONDS = 10.0
"""A batch ends this long after its first event, so events of a slow pipe are processed."""


def iter_batches(
    items: Iterable[Event | DeadLetter], max_events: Callable[[], int], monotonic_clock: Callable[[], float]
) -> Iterator[list[Event | DeadLetter]]:
    """Yield batches of items.

    Args:
        items: events and dead letters.
        max_events: returns the maximal number of items of the next batch.
        monotonic_clock: seconds.
    """
    batch: list[Event | DeadLetter] = []
    size, start, limit = 0, 0.0, max_events()
    for item in items:
        start = start if batch else monotonic_clock()
        batch.append(item)
        size += len(item.raw)
        if len(batch) >= limit or size >= MAX_BATCH_BYTES or monotonic_clock() - start >= MAX_BATCH_SECONDS:
            yield batch
            batch, size, limit = [], 0, max_events()
    if batch:
        yield batch
