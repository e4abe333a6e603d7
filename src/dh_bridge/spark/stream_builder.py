"""A stream of events into a target: ``stream(events, checkpoint=…).to(…).every(…).start()``."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from dh_bridge.delivery import open_target
from dh_bridge.errors import SettingsError, SinkError
from dh_bridge.partitioned.families import reject_grouping
from dh_bridge.settings.loading import settings_of
from dh_bridge.sinks.base import address_of
from dh_bridge.spark.batch_metrics import DeliveryCounts, MetricsFile
from dh_bridge.spark.checkpoint_notes import source_names, with_source
from dh_bridge.spark.connect import STREAM_ALTERNATIVE, require_jvm
from dh_bridge.spark.deliveries import deliver_rows
from dh_bridge.spark.event_columns import frame
from dh_bridge.spark.state_upgrade import current_state_folder
from dh_bridge.spark.stream_batch import BatchConsumer, StreamBatch
from dh_bridge.spark.streaming import start_stream
from dh_bridge.spark.targets import FOLDER_SCHEMES, write_batch
from dh_bridge.spark.translation import records_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from typing_extensions import Self

    from dh_bridge.settings import Settings
    from dh_bridge.settings.loading import SettingsLike

log = logging.getLogger("dh_bridge.spark")


def stream(  # noqa: PLR0913 - what a stream needs
    events: DataFrame,
    *,
    checkpoint: str,
    settings: SettingsLike = None,
    column: str | None = None,
    partitions: int | None = None,
    accept_changes: bool = False,
) -> EventStream:
    """Return a stream of events, to be started.

    Args:
        events: A streaming DataFrame: of :func:`dh_bridge.spark.stream_files`, :func:`stream_rows` or :func:`kafka`, or any with
            an event in each row.
        checkpoint: The folder with Spark's offsets and the state of the runs. One stream at a time can use it.
        settings: The settings.
        column: The column that holds the events; see :func:`dh_bridge.spark.frame` for what is used without it.
        partitions: The number of partitions of the shuffles (default: three for each core).
        accept_changes: Whether the stream starts although the checkpoint belongs to another DataHub version, other settings,
            another source or target.

    Returns:
        The stream: name its target with ``to``, then ``start`` it.

    Raises:
        SettingsError: No column has events.

    Example:
        ``stream(events, checkpoint="state").to("parquet:proposals").every("1 minute").start()``
    """
    require_jvm(events.sparkSession, "a stream", STREAM_ALTERNATIVE)
    rows = frame(events, column)
    names = source_names(events)
    named_rows = rows if names is None else with_source(rows, *names)
    return EventStream(named_rows, checkpoint, settings_of(settings), partitions, accept_changes=accept_changes)


class EventStream:
    """A stream that is not started; see :func:`stream`. Its methods return it, so that calls can be chained."""

    def __init__(
        self,
        events: DataFrame,
        checkpoint: str,
        settings: Settings,
        partitions: int | None,
        *,
        accept_changes: bool = False,
    ) -> None:
        self._accept_changes = accept_changes
        self._events = events
        self._checkpoint = checkpoint
        self._settings = settings
        self._partitions = partitions
        self._target: str | BatchConsumer | None = None
        self._interval: str | None = None
        self._retention_days: float | None = None
        self._bad_records: str | None = None
        self._undelivered: str | None = None
        self._metrics: str | None = None

    def to(self, target: str | BatchConsumer) -> Self:
        """Set the target: as of :func:`dh_bridge.spark.deliver`, or a function (proposals, bad_records, number of the batch).

        Spark calls the function again with the same number if a batch fails. If it returns
        :class:`~dh_bridge.spark.DeliveryCounts`, the metrics of the batch have these.
        """
        self._target = target
        return self

    def every(self, interval: str) -> Self:
        """Process new events every ``interval``, for example ``10 seconds``; without it, process those that exist, then end."""
        self._interval = interval
        return self

    def retain(self, days: float) -> Self:
        """Delete the state of runs this many days after their last event, so that the checkpoint does not grow without limit."""
        self._retention_days = days
        return self

    def bad_records(self, folder: str) -> Self:
        """Write the events that cannot be used into Parquet files of ``folder``; without it they are counted in a warning."""
        self._bad_records = folder
        return self

    def undelivered(self, folder: str) -> Self:
        """Write the proposals that the target rejects into Parquet files of ``folder``; without it they are in a warning."""
        self._undelivered = folder
        return self

    def metrics(self, file: str) -> Self:
        """Append a JSON line for each batch to a file of the driver: events, dead, delivered, refused, seconds."""
        self._metrics = file
        return self

    def start(self) -> StreamingQuery:
        """Start the stream and return Spark's query.

        Raises:
            SettingsError: There is no target, a setting is not supported, or another stream uses the checkpoint.
            SinkError: The target cannot be reached.
        """
        if self._target is None:
            raise SettingsError(
                "the stream has no target", location="stream", remedy="call .to(target) before .start()"
            )
        settings, consume = self._settings, self._target
        if isinstance(consume, str):
            settings, consume = self._prepare(consume)
        return start_stream(
            self._events, consume, checkpoint=self._checkpoint, settings=settings, partitions=self._partitions,
            interval=self._interval, retention_days=self._retention_days,
            target=self._target if isinstance(self._target, str) else None, accept_changes=self._accept_changes,
            on_metrics=None if self._metrics is None else MetricsFile(self._metrics).write,
        )  # fmt: skip

    def _prepare(self, target: str) -> tuple[Settings, BatchConsumer]:
        """Return the settings with the version of the target's server, and the function that delivers a batch."""
        settings = self._settings
        if target.partition(":")[0] not in FOLDER_SCHEMES or not address_of(target):
            delivery_target = open_target(target, settings)
            delivery_target.sink.close()
            settings = delivery_target.settings

        def consume(proposals: DataFrame, bad_records: DataFrame, number: int) -> DeliveryCounts:
            counts = self._deliver(proposals, target, settings, number)
            if self._bad_records is not None:
                bad_records.write.mode("overwrite").parquet(f"{self._bad_records.rstrip('/')}/batch={number}")
            elif not bad_records.isEmpty():
                log.warning(
                    "batch %d: %d events cannot be used: set .bad_records(folder) to store them",
                    number, bad_records.count(),
                )  # fmt: skip
            return counts

        return settings, consume

    def _deliver(self, proposals: DataFrame, target: str, settings: Settings, number: int) -> DeliveryCounts:
        """Deliver a batch; a SinkError, so that Spark repeats it, if proposals may be delivered later."""
        delivery = deliver_rows(proposals, target, settings, batch=number)
        try:
            if delivery.retryable_count:
                raise SinkError(
                    f"{delivery.retryable_count:,} proposals were not delivered, and may get through later",
                    location=f"batch {number}",
                    remedy="start the stream again: it repeats the batch",
                    retryable=True,
                )
            if delivery.failed_count and self._undelivered is not None:
                write_batch(delivery.failures, f"parquet:{self._undelivered}", number)
            elif delivery.failed_count:
                first = delivery.failures.first()
                log.warning(
                    "batch %d: %d proposals were rejected, first: %s: set .undelivered(folder) to store them",
                    number, delivery.failed_count, first.reason if first else "",
                )  # fmt: skip
            return DeliveryCounts(delivery.delivered_count, delivery.failed_count)
        finally:
            delivery.close()


def batch_function(  # noqa: PLR0913 - what a stream needs
    consume: BatchConsumer,
    *,
    state: str,
    settings: SettingsLike = None,
    column: str | None = None,
    partitions: int | None = None,
    retention_days: float | None = None,
) -> Callable[[DataFrame, int], None]:
    """Return the function for your own ``foreachBatch``: it translates a batch of events and calls ``consume``.

    Args:
        consume: A function (proposals, bad_records, number of the batch). Spark calls it again with the same number if a batch
            fails.
        state: The folder with the state of the runs. Use one for each checkpoint: they belong together.
        settings: The settings.
        column: The column that holds the events; see :func:`dh_bridge.spark.frame` for what is used without it.
        partitions: The number of partitions of the shuffles (default: three for each core).
        retention_days: Days after which the state of a run is deleted, counted from its last event.

    Returns:
        The function (rows, number of the batch).

    Raises:
        SettingsError: A setting is not supported by streams.

    Example:
        ``rows.writeStream.foreachBatch(batch_function(merge_batch, state="state")).option("checkpointLocation", "offsets")``
    """
    resolved_settings = settings_of(settings)
    reject_grouping(resolved_settings)

    def translate_batch(rows: DataFrame, number: int) -> None:
        require_jvm(rows.sparkSession, "a stream", STREAM_ALTERNATIVE)
        events = frame(rows, column)
        folder = current_state_folder(rows.sparkSession, state, resolved_settings, partitions=partitions)
        batch = StreamBatch(
            records_of(events, resolved_settings),
            number,
            folder,
            resolved_settings,
            partitions=partitions,
            retention_days=retention_days,
        )
        batch.run(consume)

    return translate_batch
