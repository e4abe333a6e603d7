"""What takes the events of requests: the event log, or a ledger without a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.openlineage.events import Event


class EventQueue(Protocol):
    """Takes events, and returns when they are durable."""

    @property
    def is_alive(self) -> bool:
        """Whether anything is still taken."""

    #: why the last events were not taken, None: they were
    refusal_reason: str | None

    def take(self, events: Sequence[Event], timeout: float | None = None) -> list[str | None]:
        """Take events; return None for each one that is durable, or the reason why it is invalid.

        Raises:
            SinkError: Events cannot be taken now, or ``timeout`` seconds are over; they may be sent again.
        """
