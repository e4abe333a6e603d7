"""The ledger: one SQLite file that knows every run it was told of, and what was sent of it.

A batch of events is one transaction: states are read, events folded, what changed is rendered and compared with what was
sent, and all of it is written; with an embedded catalogue in the same file, that too. A process that dies leaves the file as
it was before its last batch, and the same events sent again change nothing that is there already.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from dh_bridge.call import Call, Translation
from dh_bridge.ledger.fold import LedgerFold
from dh_bridge.ledger.sent import Sent
from dh_bridge.openlineage.events import DeadLetter, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from dh_bridge.catalog.store import Catalog
    from dh_bridge.sinks.base import Delivery
    from dh_bridge.translation.options import Options

BATCH = 1_000
BYTES = 16 * 1024 * 1024


class Ledger:
    """Folds batches of events into ``catalog``'s file; ``clock`` gives the time in seconds."""

    def __init__(
        self,
        catalog: Catalog,
        options: Options,
        *,
        full: bool = False,
        report: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        options.stubs = True
        self._catalog = catalog
        self._clock = clock
        self._fold = LedgerFold(catalog.connection, options)
        self._call = Call(options, report=report, fold=self._fold)
        self._sent = Sent(catalog.connection, full=full)
        self._seen: int | None = None

    def stream(self, items: Iterable[Event | DeadLetter]) -> Iterator[tuple[Translation, Delivery]]:
        """Yield what each batch of ``items`` sends, once it is in the file."""
        batch: list[Event | DeadLetter] = []
        size = 0
        for item in items:
            batch.append(item)
            size += len(item.raw)
            if len(batch) >= BATCH or size >= BYTES:
                yield self.take(batch)
                batch, size = [], 0
        if batch:
            yield self.take(batch)

    def take(self, items: Iterable[Event | DeadLetter]) -> tuple[Translation, Delivery]:
        """Fold one batch, in one transaction; a SinkError means that nothing of it happened."""
        now = int(self._clock() * 1000)
        try:
            with self._catalog.transaction():
                self._look_for_others()
                for item in items:
                    if isinstance(item, DeadLetter):
                        self._call.dead.append(item)
                    else:
                        self._call.add(item)
                translation = self._call.close(None)
                translation.proposals = self._sent.changed(translation.proposals, now)
                translation.counts.proposals = len(translation.proposals)
                self._fold.save(now)
                delivery = self._catalog.apply(translation.proposals)
                for failure in delivery.failed:
                    self._sent.forget(failure.proposal)
        except BaseException:
            self._fold.forget()
            raise
        return translation, delivery

    def _look_for_others(self) -> None:
        """Forget what is in memory when another process has written to the file since the last batch."""
        (seen,) = self._catalog.connection.execute("PRAGMA data_version").fetchone()
        if seen != self._seen:
            self._fold.forget()
            self._seen = seen
