"""Records: one event each, with the key of the run that it folds into; what is worked on apart goes by that key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from dh_bridge.openlineage.events import Event
    from dh_bridge.translation.options import Options


class Record(msgspec.Struct, frozen=True, gc=False):
    """An event as it came: ``key`` is the run's URN, ``time`` in microseconds, ``place`` where it stood."""

    key: str
    time: int
    place: str
    raw: bytes


def record(event: Event, options: Options) -> Record:
    """Return the record of an event, without its secrets; events without a run go by their job or dataset."""
    options.masking.event(event)
    if event.kind == "run":
        key = options.identity.run_urn(event.namespace, event.name, event.run_id)
    elif event.dataset is not None:
        key = f"dataset:{options.about(event.dataset)}"
    else:
        key = f"job:{event.namespace}/{event.name}"
    return Record(key, event.time, event.place, event.raw)
