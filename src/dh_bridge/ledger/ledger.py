"""The ledger: one SQLite file that knows every run it was told of, and what was sent of it.

A batch of events is one transaction: states are read, events folded, what changed is rendered and compared with what was
sent. The proposals go into the embedded catalogue in the same file, or into the outbox on their way to another sink. A process
that dies leaves the file as it was before its last batch; the same events sent again change nothing that is there already.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING

from dh_bridge.ledger.fold import LedgerFold
from dh_bridge.ledger.outbox_relay import Courier
from dh_bridge.ledger.rerender import Deliveries
from dh_bridge.ledger.run_history import Journal
from dh_bridge.ledger.sent import DAY, Sent
from dh_bridge.ledger.withheld import Withheld
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.session import Call, Translation, counted
from dh_bridge.sinks.abilities import holds_ledger
from dh_bridge.sinks.base import Delivery
from dh_bridge.storage.damage import diagnose

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dh_bridge.sinks.base import Failure, Sink
    from dh_bridge.storage.database import Database
    from dh_bridge.translation.options import Options

BYTES = 64 * 1024 * 1024
"""A batch ends early when its raw events are this large, so that memory stays flat whatever the events' size."""

SECONDS = 10.0
"""A batch ends early when its first event came this long ago, so that a slow pipe is not held up."""

PATIENCE = 60.0
"""Seconds that the end of a stream waits for another process to end its delivery."""

AT_ONCE = 200
"""Entities that are rendered once more with a batch, since `writes` lets through what it withheld."""

_EMPTY = Delivery(0, [])
Gate = Callable[[Translation, "set[str]"], None]


class Ledger:
    """Folds batches of events into ``file``; ``sink`` is where proposals go: into that same file if it is its catalogue.

    ``options`` are stateful ones. ``full`` sends every aspect of what a batch touches, changed or not. ``clock`` gives the time
    in seconds. ``gate`` sees what a batch comes to, and which entities the ledger never sent before, ahead of anything that is
    kept; what it raises undoes the batch. ``ticks`` is the clock of pauses and ages, which no step of the wall clock moves.
    ``delivery`` is the id under which the sink writes.
    """

    def __init__(  # noqa: PLR0913 - what a door may choose
        self,
        file: Database,
        options: Options,
        sink: Sink,
        *,
        full: bool = False,
        report: bool = False,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
        gate: Gate | None = None,
        delivery: str | None = None,
    ) -> None:
        settings = options.settings.ledger
        self._file = file
        self._sink = sink
        self._inside = holds_ledger(sink) and sink.catalog is file
        self._clock = clock
        self._ticks = ticks
        self._batch = settings.batch
        self._fold = LedgerFold(file.connection, options, full=full)
        self._call = Call(options, report=report, fold=self._fold)
        revive = options.settings.jobs.revive == "on_run"
        self._withheld = Withheld(file.connection, options.settings.writes)
        if self._withheld.outdated:
            with file.transaction():
                self._withheld.begin_again()
        self._sent = Sent(
            file.connection,
            refresh=settings.refresh_days * DAY,
            points=settings.retention_days * DAY,
            full=full,
            revive=revive,
            refuses=self._withheld.refuses,
        )
        self._journal = Journal(file.connection)
        self._seen: int | None = None
        self.courier = Courier(file, sink, options.settings, self._forget, self._withheld, clock=clock, ticks=ticks)
        self._gate = gate
        self._deliveries = Deliveries(file.connection)
        self._delivery = delivery
        self._days = settings.retention_days

    def stream(self, items: Iterable[Event | DeadLetter]) -> Iterator[tuple[Translation, Delivery]]:
        """Yield what each batch of ``items`` changed, and what was delivered; what waited from before goes first.

        What a sink that breaks off did not take waits in the outbox, and is tried again with a later batch, and once more at the
        end. What another list of ``writes`` withheld comes between the batches, and the rest of it behind them. While another process
        delivers from the same ledger, batches are folded and nothing is sent; their end waits for that process.
        """
        if not self._inside:
            yield self._nothing(), self.courier.deliver()
        batch: list[Event | DeadLetter] = []
        size, began = 0, 0.0
        for item in items:
            began = began if batch else self._ticks()
            batch.append(item)
            size += len(item.raw)
            if len(batch) >= self._batch or size >= BYTES or self._ticks() - began >= SECONDS:
                yield self.take(batch)
                yield from islice(self.catching_up(), 1)
                batch, size = [], 0
        if batch:
            yield self.take(batch)
        yield from self.catching_up()
        if self.courier.owes:
            yield self._nothing(), self.courier.see_off(PATIENCE)

    def catching_up(self) -> Iterator[tuple[Translation, Delivery]]:
        """Yield what another list of ``writes`` withheld, AT_ONCE entities at a time, as long as that can be delivered."""
        while self._withheld.owes and (
            self._inside or (self.courier.broken is None and not self.courier.outbox.paused)
        ):
            yield self.take([])

    @property
    def path(self) -> str:
        """The file; ``:memory:`` if there is none."""
        return self._file.path

    def sync(self) -> None:
        """From now on let a batch end only when it is on the disk, for those whose events nobody sends again."""
        self._file.connection.execute("PRAGMA synchronous = FULL")

    def take(self, items: Sequence[Event | DeadLetter]) -> tuple[Translation, Delivery]:
        """Fold one batch as :meth:`fold` does, then deliver what waits, unless the place took nothing a moment ago."""
        translation, delivery = self.fold(items)
        if not self._inside:
            try:
                delivery = self.courier.deliver_by_the_way()
            except Exception as error:
                self._blame(error)
                raise
        return translation, delivery

    def _blame(self, error: BaseException) -> None:
        """Raise a SinkError in the place of an error that shows that the file is damaged."""
        fault = diagnose(self._file.connection, self._file.path, error, search=False)
        if fault is not None:
            raise fault from error

    def fold(self, items: Sequence[Event | DeadLetter]) -> tuple[Translation, Delivery]:
        """Fold one batch, in one transaction; a SinkError of the file means that nothing of it happened.

        What comes of it waits in the outbox; that of a catalogue is delivered with it. Nothing is folded either when the outbox
        is full: a SinkError says so. Without ``items`` it is a step of catching up.
        """
        quiet = not items
        self.courier.look_for_room()
        now = int(self._clock() * 1000)
        delivery = _EMPTY
        try:
            with self._file.transaction():
                self._look_for_others()
                self._fold.again = self._withheld.due(AT_ONCE) if quiet else ()
                translation = self._translated(items)
                whole = self._fold.rendered
                self._sent.new = self._fold.runs.new
                translation.proposals = self._sent.changed(translation.proposals, now, whole=whole, quiet=quiet)
                told, counts = counted(translation.proposals)[1], translation.counts
                counts.jobs, counts.datasets, counts.proposals = told.jobs, told.datasets, told.proposals
                counts.filtered.update(self._withheld.told())
                if self._fold.late:
                    counts.notes["late events of runs that were let go"] += self._fold.late
                if self._gate is not None:
                    self._gate(translation, self._sent.fresh)
                if self._delivery is not None and translation.proposals:
                    self._deliveries.note(self._delivery, now, days=self._days)
                self._journal.save(self._fold.runs, translation.proposals, now)
                self._fold.save(now, quiet=quiet)
                if self._inside:
                    delivery = self._sink.emit(translation.proposals)
                    self._forget(delivery.failed)
                else:
                    self.courier.put(translation.proposals, self._sent.fresh, now)
        except BaseException as error:
            self._fold.forget()
            self._call.forget()
            self._journal.forget()
            self._withheld.forget()
            self._blame(error)
            raise
        return translation, delivery

    def _translated(self, items: Iterable[Event | DeadLetter]) -> Translation:
        for item in items:
            if isinstance(item, DeadLetter):
                self._call.dead.append(item)
            else:
                self._journal.note(self._call.add(item), item)
        return self._call.close(None)

    def _nothing(self) -> Translation:
        return self._call.close([])

    def _forget(self, failed: Iterable[Failure]) -> None:
        """What was refused for good is no part of what was sent."""
        for failure in failed:
            self._sent.forget(failure.proposal)

    def _look_for_others(self) -> None:
        """Forget what is in memory when another process has written to the file since the last batch."""
        (seen,) = self._file.connection.execute("PRAGMA data_version").fetchone()
        if seen != self._seen:
            self._fold.forget()
            self._seen = seen
