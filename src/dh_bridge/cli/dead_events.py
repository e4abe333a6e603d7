"""Events of the event log that cannot be processed, for ``dh-bridge queue list``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.cli.terminal import echo, write_table
from dh_bridge.cli.times import short_time, utc_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.ledger.log_failures import FailedEvent

_MAX_SHOWN_EVENTS = 100


def write_dead_events(events: Sequence[FailedEvent]) -> None:
    """Write a table of dead events; it ends after some of them."""
    rows = [
        (f"{event.position:,}", event.location, short_time(event.time) or "", event.reason)
        for event in events[:_MAX_SHOWN_EVENTS]
    ]
    write_table(("dead event", "location", "since", "reason"), rows)
    if len(events) > _MAX_SHOWN_EVENTS:
        echo(f"… and {len(events) - _MAX_SHOWN_EVENTS:,} more (--json)")


def dead_event_row(event: FailedEvent) -> dict[str, object]:
    """Return a dead event as a JSON row."""
    return {
        "logPosition": event.position,
        "location": event.location,
        "since": utc_text(event.time),
        "tries": event.tries,
        "dead": event.is_dead,
        "reason": event.reason,
    }
