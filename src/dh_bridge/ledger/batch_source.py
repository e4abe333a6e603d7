"""Where the events of a transaction come from: the caller, or the event log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from dh_bridge.openlineage.events import DeadLetter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dh_bridge.event_log import LogBatch
    from dh_bridge.ledger.ledger_log import LedgerLog
    from dh_bridge.openlineage.events import Event
    from dh_bridge.session import Translation


class BatchSource(Protocol):
    """The events of one transaction."""

    @property
    def is_rerender(self) -> bool:
        """Whether the transaction has no events, and renders entities again only."""

    def take(self) -> Sequence[Event | DeadLetter]:
        """Return the events, inside the transaction."""

    def record(self, translation: Translation, now: int) -> None:
        """Store that the events are processed, at the end of the transaction; ``now`` in milliseconds."""


class ReceivedItems:
    """Events of the caller that are not in the log before: the ledger has none, or a person is asked before they are accepted.

    If the ledger has a log, they are appended at the end of the transaction.
    """

    def __init__(self, items: Sequence[Event | DeadLetter], log: LedgerLog | None) -> None:
        self._items = items
        self._log = log

    @property
    def is_rerender(self) -> bool:
        """Whether there are no events."""
        return not self._items

    def take(self) -> Sequence[Event | DeadLetter]:
        """Return the events."""
        if self._log is not None and self._items:
            self._log.begin()
        return self._items

    def record(self, translation: Translation, now: int) -> None:  # noqa: ARG002 - the caller has the dead letters
        """Append the events to the log."""
        if self._log is not None and self._items:
            self._log.append(self._items)


class PendingEvents:
    """Events of the log after the cursor, at most ``max_events``; ``batch`` has them once they are taken."""

    is_rerender = False

    def __init__(self, log: LedgerLog, *, max_events: int, max_bytes: int) -> None:
        self._log = log
        self._max_events = max_events
        self._max_bytes = max_bytes
        self.batch: LogBatch | None = None
        self._positions: dict[int, int] = {}

    def take(self) -> Sequence[Event | DeadLetter]:
        """Return the events; those that were given up are dead letters."""
        self.batch = self._log.read(max_events=self._max_events, max_bytes=self._max_bytes)
        items: list[Event | DeadLetter] = []
        self._positions.clear()
        if self.batch.events:
            self._log.begin()
        for position, event in self.batch.events:
            failure = self._log.failures.get(position) if self._max_events == 1 else None
            if failure is not None and failure.is_dead:
                items.append(DeadLetter(event.location, failure.reason, event.event))
            else:
                self._positions[id(event.event)] = position
                items.append(self._log.parse(event, position))
        return items

    def record(self, translation: Translation, now: int) -> None:
        """Move the cursor, and store the positions of invalid events."""
        if self.batch is None or not self.batch.events:
            return
        self._log.move_cursor(self.batch.last)
        if self._max_events == 1:
            position = self.batch.last
            failure = self._log.failures.get(position)
            if failure is not None and failure.is_dead:
                return
            self._log.failures.delete(position)
        for letter in translation.dead:
            position = self._positions.get(id(letter.raw), self.batch.last)
            self._log.failures.record_dead(position, letter.location, letter.reason, now)
