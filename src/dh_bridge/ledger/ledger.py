"""The ledger: one SQLite file with the states of runs and the fingerprints of what was sent.

A batch of events is one transaction: states are read, events are merged, changes are rendered and compared with what was sent.
The proposals go into the catalogue in the same file, or into the outbox for another sink. If the process dies, the file is as
before its last batch. The same events, sent again, change nothing.
"""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from dh_bridge.errors import SinkError
from dh_bridge.ledger.batch_results import merge_results
from dh_bridge.ledger.batch_source import ReceivedItems
from dh_bridge.ledger.batches import MAX_BATCH_BYTES, iter_batches
from dh_bridge.ledger.compression import compression_of
from dh_bridge.ledger.fold import StatefulAggregator
from dh_bridge.ledger.ledger_log import LedgerLog
from dh_bridge.ledger.lineage_links import LineageLinks
from dh_bridge.ledger.log_folder import LogFolder
from dh_bridge.ledger.outbox_relay import OutboxRelay
from dh_bridge.ledger.producer_activity import ProducerActivityWriter
from dh_bridge.ledger.rerender import DeliveryLog
from dh_bridge.ledger.run_history import RunHistoryWriter
from dh_bridge.ledger.sent import DAY_MILLIS, SentFingerprints
from dh_bridge.ledger.withheld import WithheldWrites
from dh_bridge.openlineage.events import DeadLetter, Event
from dh_bridge.session import Session, Translation, count_entities
from dh_bridge.sinks.abilities import holds_ledger
from dh_bridge.sinks.base import Delivery
from dh_bridge.storage.damage import diagnose_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dh_bridge.event_log import EventLog
    from dh_bridge.ledger.batch_source import BatchSource
    from dh_bridge.options import Options
    from dh_bridge.sinks.base import Failure, Sink
    from dh_bridge.storage.database import Database

_FIRST_BATCH = 1_000
"""Events of a batch until the ledger has a dictionary: what is written before it takes twice the space."""

END_TIMEOUT_SECONDS = 60.0
"""Seconds for which the end of a stream waits for the delivery of another process."""

RERENDERED_PER_BATCH = 200
"""Entities that are rendered again with each batch after `writes` changed."""

_NO_DELIVERY = Delivery(0, [])


class BatchApproval(Protocol):
    """Sees the proposals of a batch, and the entities that the ledger never sent, before anything is stored.

    Its error undoes the batch.
    """

    @property
    def is_asking(self) -> bool:
        """Whether it may reject a batch: its events are then accepted after it."""

    def __call__(self, translation: Translation, new_urns: set[str], /) -> None:
        """Approve a batch, or raise an error."""


class Ledger:
    """Merges batches of events into ``file`` and delivers to ``sink``; of a catalogue, both are one file.

    ``options`` are stateful. ``full`` sends every aspect that a batch names, changed or not. ``clock`` returns the time in
    seconds. ``approve_batch`` may reject a batch before anything is stored. ``monotonic_clock`` measures pauses and ages.
    ``delivery_id`` is the run id of the sink's proposals. ``event_log`` stores the events; None: the ledger has no log.
    """

    def __init__(  # noqa: PLR0913 - the options of an entry point
        self,
        file: Database,
        options: Options,
        sink: Sink,
        *,
        full: bool = False,
        report: bool = False,
        clock: Callable[[], float] = time.time,
        monotonic_clock: Callable[[], float] = time.monotonic,
        approve_batch: BatchApproval | None = None,
        delivery_id: str | None = None,
        event_log: EventLog | None = None,
    ) -> None:
        settings = options.settings.ledger
        self._file = file
        self._sink = sink
        self._is_catalogue = holds_ledger(sink) and sink.catalog is file
        self._clock = clock
        self._monotonic_clock = monotonic_clock
        self._batch_size = settings.batch
        links = LineageLinks(file.connection)
        if not (self._is_catalogue or links.are_stored):
            with file.transaction():
                links.store_all()
        self._aggregator = StatefulAggregator(file.connection, options, full=full)
        self._session = Session(options, report=report, aggregator=self._aggregator)
        self._withheld = WithheldWrites(file.connection, options.settings.writes)
        if self._withheld.is_outdated:
            with file.transaction():
                self._withheld.restart()
        self._fingerprints = SentFingerprints(
            file.connection,
            point_millis=settings.retention_days * DAY_MILLIS,
            full=full,
            undelete=options.settings.jobs.undelete == "on_run",
            is_withheld=self._withheld.check_withheld,
        )
        self._history_writer = RunHistoryWriter(file.connection)
        self._activity_writer = ProducerActivityWriter(file.connection, options.identity.producer)
        self._compression = compression_of(file.connection)
        self._data_version: int | None = None
        self.relay = OutboxRelay(
            file,
            sink,
            options.settings,
            self._mark_unsent,
            self._withheld,
            clock=clock,
            monotonic_clock=monotonic_clock,
        )
        self._approve_batch = approve_batch
        self._delivery_log = DeliveryLog(file.connection)
        self._delivery_id = delivery_id
        self._retention_days = settings.retention_days
        #: whether the events of the last batch are in the log: after an error, they need not be passed again
        self.is_batch_logged = False
        self._log = None if event_log is None else LedgerLog(event_log, file.connection, options, clock)

    def stream(self, items: Iterable[Event | DeadLetter]) -> Iterator[tuple[Translation, Delivery]]:
        """Process ``items`` in batches; yield the changes and deliveries of each. Waiting proposals are delivered first.

        If a sink breaks off, its proposals wait in the outbox and are retried with a later batch and at the end. Proposals that
        an earlier list of ``writes`` excluded are rendered between the batches and after them. While another process delivers
        from the same ledger, batches are merged and nothing is sent; the end waits for that process.
        """
        if not self._is_catalogue:
            yield self._empty_translation(), self.relay.deliver()
        if self._log is not None:  # up to its present end: beside a busy process, the log never ends
            yield from self._deliver_after(self.fold_log(last=self._log.last_position()))
        for batch in iter_batches(items, self._max_events, self._monotonic_clock):
            yield from self._process_each(batch)
            yield from islice(self.render_withheld(), 1)
        yield from self.render_withheld()
        if self.relay.has_skipped_delivery:
            yield self._empty_translation(), self.relay.deliver_own(END_TIMEOUT_SECONDS)

    def fold_log(
        self, *, max_events: int | None = None, careful_events: int = 0, last: int | None = None
    ) -> Iterator[tuple[Translation, Delivery]]:
        """Process the events of the log that are not processed yet, and yield the result of each batch.

        Another process accepted them, or this process was killed before it had processed them. Nothing is delivered, except to
        a catalogue.

        Args:
            max_events: events of a batch, by default ``ledger.batch``.
            careful_events: how many events are processed one by one, because a process ended while it processed them.
            last: the position of the last event to process; None: all.

        Yields:
            The result of each batch.
        """
        if self._log is None:
            return
        folder = LogFolder(
            self._file, self._log, self.process_source, self._clock, max_events=max_events or self._batch_size,
            max_bytes=MAX_BATCH_BYTES, careful_events=careful_events,
        )  # fmt: skip
        yield from folder.fold(last)

    def _max_events(self) -> int:
        """Return the number of events of a batch: fewer until the ledger has a dictionary of its own values."""
        return self._batch_size if self._compression.has_own_dictionary else min(self._batch_size, _FIRST_BATCH)

    def render_withheld(self) -> Iterator[tuple[Translation, Delivery]]:
        """Yield proposals that an earlier list of ``writes`` excluded, RERENDERED_PER_BATCH entities at a time.

        It stops if a delivery fails.
        """
        while self._withheld.has_pending and (
            self._is_catalogue or (self.relay.last_error is None and not self.relay.outbox.is_paused)
        ):
            yield self.process_and_deliver([])

    @property
    def path(self) -> str:
        """The file; ``:memory:`` if there is none."""
        return self._file.path

    def process_and_deliver(self, items: Sequence[Event | DeadLetter]) -> tuple[Translation, Delivery]:
        """Do what :meth:`process_batch` does, then deliver waiting proposals, unless the target failed a moment ago."""
        return merge_results(self._process_each(items))

    def _process_each(self, items: Sequence[Event | DeadLetter]) -> Iterator[tuple[Translation, Delivery]]:
        """Yield the result of each transaction, and of the delivery of waiting proposals."""
        return self._deliver_after(self._process_items(items))

    def _deliver_after(self, results: Iterator[tuple[Translation, Delivery]]) -> Iterator[tuple[Translation, Delivery]]:
        """Yield results; the last one has the delivery of waiting proposals."""
        last_result = None
        try:
            for result in results:
                if last_result is not None:
                    yield last_result
                last_result = result
        except SinkError:
            if last_result is not None:
                yield last_result
            raise
        if last_result is None:
            return
        translation, delivery = last_result
        if not self._is_catalogue:
            try:
                delivery = self.relay.deliver_if_due()
            except Exception as error:
                self._raise_if_damaged(error)
                raise
        yield translation, delivery

    def _raise_if_damaged(self, error: BaseException) -> None:
        """Raise a SinkError if an error shows that the file is damaged."""
        fault = diagnose_error(self._file.connection, self._file.path, error, checks_file=False)
        if fault is not None:
            raise fault from error

    def process_batch(self, items: Sequence[Event | DeadLetter]) -> tuple[Translation, Delivery]:
        """Append events to the log, and process them, in one transaction as a rule; without a log, only process them.

        Events that are in the log are not lost: if this call fails later, the next one processes them. The proposals wait in the
        outbox; those of a catalogue are written at once. Without ``items``, entities are rendered again only.

        Raises:
            SinkError: A file cannot be written, or the outbox is full.
        """
        return merge_results(self._process_items(items))

    def _process_items(self, items: Sequence[Event | DeadLetter]) -> Iterator[tuple[Translation, Delivery]]:
        """Yield the results of :meth:`process_batch`, one at least."""
        self.is_batch_logged = False
        if self._log is None or not items or (self._approve_batch is not None and self._approve_batch.is_asking):
            yield self.process_source(ReceivedItems(items, self._log))
            return
        self.relay.require_capacity()
        letters = self._log.accept(items)
        self.is_batch_logged = True
        try:
            has_result = False
            if letters:
                self._session.dead += letters
                has_result = True
                yield self._empty_translation(), _NO_DELIVERY
            for result in self.fold_log(last=self._log.last_accepted):
                has_result = True
                yield result
            if not has_result:  # another process was faster
                yield self._empty_translation(), _NO_DELIVERY
        finally:
            self._log.forget_accepted()

    def process_source(self, source: BatchSource) -> tuple[Translation, Delivery]:
        """Process the events of a source in one transaction."""
        self.relay.require_capacity()
        is_rerender = source.is_rerender
        now = int(self._clock() * 1000)
        delivery = _NO_DELIVERY
        try:
            with self._file.transaction():
                self._clear_stale_caches()
                self._aggregator.rerender_keys = (
                    self._withheld.take_pending(RERENDERED_PER_BATCH) if is_rerender else ()
                )
                translation = self._translate(source.take())
                rendered_urns = self._aggregator.rendered_urns
                self._fingerprints.new_run_keys = self._aggregator.runs.new_keys
                translation.proposals = self._fingerprints.select_changed(
                    translation.proposals, now, complete_urns=rendered_urns, is_rerender=is_rerender
                )
                entity_counts, counts = count_entities(translation.proposals)[1], translation.counts
                counts.jobs, counts.datasets, counts.proposals = (
                    entity_counts.jobs,
                    entity_counts.datasets,
                    entity_counts.proposals,
                )
                counts.filtered.update(self._withheld.take_counts())
                if self._aggregator.late_event_count:
                    counts.notes["late events of runs that the ledger has deleted"] += self._aggregator.late_event_count
                if self._approve_batch is not None:
                    self._approve_batch(translation, self._fingerprints.first_sent_urns)
                if self._delivery_id is not None and translation.proposals:
                    self._delivery_log.record(self._delivery_id, now, retention_days=self._retention_days)
                self._history_writer.save(self._aggregator.runs, translation.proposals, now)
                self._activity_writer.save(now)
                self._aggregator.save(now, is_rerender=is_rerender)
                if self._is_catalogue:
                    delivery = self._sink.emit(translation.proposals)
                    self._mark_unsent(delivery.failures)
                else:
                    self.relay.add(translation.proposals, self._fingerprints.first_sent_urns, now)
                self._compression.train_if_due()
                source.record(translation, now)  # last: an event that cannot be processed is not stored in the log
        except BaseException as error:
            self._aggregator.clear_cache()
            self._session.discard()
            self._history_writer.discard()
            self._activity_writer.discard()
            self._withheld.discard_counts()
            self._compression.forget()
            self._raise_if_damaged(error)
            raise
        if self._log is not None:
            self._log.trim()
        return translation, delivery

    def _translate(self, items: Iterable[Event | DeadLetter]) -> Translation:
        for item in items:
            if isinstance(item, DeadLetter):
                self._session.dead.append(item)
            else:
                self._history_writer.add_event(self._session.add(item), item)
                self._activity_writer.add_event(item)
        return self._session.close(None)

    def _empty_translation(self) -> Translation:
        return self._session.close([])

    def _mark_unsent(self, failed: Iterable[Failure]) -> None:
        """Mark proposals as unsent that the target rejected permanently."""
        for failure in failed:
            self._fingerprints.mark_unsent(failure.proposal)

    def _clear_stale_caches(self) -> None:
        """Clear the caches if another process has written to the file since the last batch."""
        (data_version,) = self._file.connection.execute("PRAGMA data_version").fetchone()
        if data_version != self._data_version:
            self._aggregator.clear_cache()
            self._compression.forget()
            self._data_version = data_version
