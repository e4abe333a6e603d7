"""A ledger whose target is not open: it appends events to its log, and processes none.

Events are translated for the version of their server. As long as no version is known, they wait in the log.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dh_bridge.ledger.batches import iter_batches
from dh_bridge.ledger.ledger_log import LedgerLog, open_event_log
from dh_bridge.options import Options
from dh_bridge.storage.database import Database

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from dh_bridge.event_log import EventLog, LogStatus
    from dh_bridge.openlineage.events import DeadLetter, Event
    from dh_bridge.settings import Settings


class AcceptingLedger:
    """Accepts events for the ledger ``file``; the process that opens the target later merges and delivers them."""

    def __init__(self, file: Database, event_log: EventLog, settings: Settings) -> None:
        self._event_log = event_log
        self._batch_size = settings.ledger.batch
        self._ledger_log = LedgerLog(event_log, file.connection, Options(settings), time.time)

    def accept(self, items: Sequence[Event | DeadLetter]) -> list[DeadLetter]:
        """Append events to the log; return those that cannot be used.

        Raises:
            SinkError: The log is full, or cannot be written; no event is accepted.
        """
        letters = self._ledger_log.accept(items)
        self._ledger_log.forget_accepted()
        return letters

    def stream(self, items: Iterable[Event | DeadLetter]) -> Iterator[tuple[int, list[DeadLetter]]]:
        """Accept events in batches; yield the number of accepted events of each, and the others."""
        for batch in iter_batches(items, lambda: self._batch_size, time.monotonic):
            letters = self.accept(batch)
            yield len(batch) - len(letters), letters

    def status(self) -> LogStatus:
        """Return how many events wait in the log."""
        return self._event_log.status(self._ledger_log.cursor())


@contextmanager
def open_accepting_ledger(ledger_path: Path, settings: Settings) -> Iterator[AcceptingLedger]:
    """Yield the ledger ``ledger_path``, which is created if it does not exist.

    Raises:
        SinkError: The file is no ledger, or cannot be written.
    """
    event_log = open_event_log(ledger_path, settings)
    assert event_log is not None  # noqa: S101 - a file
    with Database(ledger_path) as file, event_log:
        yield AcceptingLedger(file, event_log, settings)
