"""A stream of events: each batch is translated and delivered, and its state is stored in the checkpoint."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from dh_bridge.partitioned.families import reject_grouping
from dh_bridge.settings.loading import settings_of
from dh_bridge.spark.batch_metrics import BatchMetrics, observed
from dh_bridge.spark.checkpoint_lock import hold_for, lock_checkpoint, release
from dh_bridge.spark.checkpoint_notes import check_notes, notes_of
from dh_bridge.spark.connect import STREAM_ALTERNATIVE, require_jvm
from dh_bridge.spark.damaged_files import missing_files, readable_batch
from dh_bridge.spark.state_upgrade import current_state_folder
from dh_bridge.spark.stream_batch import BatchConsumer, StreamBatch
from dh_bridge.spark.translation import records_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from dh_bridge.settings.loading import SettingsLike


def start_stream(  # noqa: PLR0913 - what a stream needs
    events: DataFrame,
    consume: BatchConsumer,
    *,
    checkpoint: str,
    settings: SettingsLike = None,
    partitions: int | None = None,
    interval: str | None = None,
    retention_days: float | None = None,
    on_rejected: Callable[[DataFrame], None] | None = None,
    target: str | None = None,
    accept_changes: bool = False,
    on_metrics: Callable[[BatchMetrics], None] | None = None,
) -> StreamingQuery:
    """Start to translate a stream of events (of :mod:`dh_bridge.spark.sources`) and return Spark's query.

    ``checkpoint`` holds Spark's offsets and, under ``dh_bridge``, the bridge's state; ``interval`` is the time between batches
    (``10 seconds``); without it the query processes the present events and ends. A run whose last event is ``retention_days``
    days older than the newest one, or than the present time if that is earlier, is evicted: what it stated about jobs and
    datasets stays, and later events of it are a run of their own. ``on_rejected`` gets the proposals of each batch that violate
    their schema (columns as of ``SparkTranslation.rejected``): they are left out, and the others are delivered.
    ``on_metrics`` gets the metrics of each batch. ``target`` is noted in the checkpoint; ``accept_changes`` as of
    :func:`dh_bridge.spark.checkpoint_notes.check_notes`. A state of an earlier release is built again.

    Raises:
        SettingsError: A setting is not supported, another stream uses the checkpoint, or it belongs to something else.
    """
    require_jvm(events.sparkSession, "a stream", STREAM_ALTERNATIVE)
    resolved_settings = settings_of(settings)
    reject_grouping(resolved_settings)
    root = f"{checkpoint.rstrip('/')}/dh_bridge"
    folder = root  # of the state, once the checkpoint is locked
    spark_folder = f"{checkpoint.rstrip('/')}/spark"

    def batch(records: DataFrame, number: int) -> None:
        gc.collect()  # frames of earlier batches: Py4J leaves them in cycles, and Spark keeps the plans of all that live here
        if (missing := missing_files(events, spark_folder, number)) is not None:
            records = records.unionByName(records_of(missing, resolved_settings))
        stream_batch = StreamBatch(
            records, number, folder, resolved_settings, partitions=partitions, retention_days=retention_days
        )
        metrics = stream_batch.run(consume, on_rejected, lambda: readable_batch(events, spark_folder, number))
        if on_metrics is not None:
            on_metrics(metrics)

    spark = events.sparkSession
    lock = lock_checkpoint(spark, checkpoint)
    records = observed(records_of(events, resolved_settings))
    writer = records.writeStream.foreachBatch(batch).option("checkpointLocation", spark_folder)
    writer = writer.trigger(availableNow=True) if interval is None else writer.trigger(processingTime=interval)
    try:
        notes = notes_of(resolved_settings, events, target)
        check_notes(spark, checkpoint, notes, accept_changes=accept_changes)
        folder = current_state_folder(spark, root, resolved_settings, partitions=partitions)
        query = writer.start()
    except BaseException:
        release(lock)
        raise
    hold_for(lock, query)
    return query
