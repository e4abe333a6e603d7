"""Records: one event each, with the key of its run, which decides the part in which it is translated."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from dh_bridge.facet_support.dbt_statements import fold_statement

if TYPE_CHECKING:
    from dh_bridge.openlineage.events import Event
    from dh_bridge.options import Options


class EventRecord(msgspec.Struct, frozen=True, gc=False):
    """An event as it was read: ``key`` is the run's URN, ``time`` in microseconds, ``location`` of the event."""

    key: str
    time: int
    location: str
    raw: bytes


def to_record(event: Event, options: Options) -> EventRecord:
    """Return the record of an event, with secrets masked; the key of an event without a run is its job or dataset."""
    options.masking.mask_event(event)
    if event.kind == "run":
        folded = fold_statement(event, options.identity)
        key = options.identity.run_urn(folded.namespace, folded.name, folded.run_id)
    elif event.dataset is not None:
        key = f"dataset:{options.subject_of(event.dataset)}"
    else:
        key = f"job:{event.namespace}/{event.name}"
    return EventRecord(key, event.time, event.location, event.raw)
