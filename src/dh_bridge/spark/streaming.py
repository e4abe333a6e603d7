"""A stream of events: after each batch the target has the result of one call over all events so far.

A run is merged again from its own events whenever a batch has more of them; what it contributes to jobs and datasets replaces
its earlier contribution. Only changes are sent.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING

from dh_bridge.partitioned.families import reject_grouping
from dh_bridge.partitioned.others import named_run_urns
from dh_bridge.partitioned.runs import PIECES_BY_RUN
from dh_bridge.settings.loading import settings_of
from dh_bridge.spark import state as kept
from dh_bridge.spark.changes import AFTER, BEFORE, BOTH
from dh_bridge.spark.checkpoint_lock import hold_for, lock_checkpoint, release
from dh_bridge.spark.checkpoint_notes import check_notes, notes_of
from dh_bridge.spark.damaged_files import add_missing_files, readable_batch
from dh_bridge.spark.folder_files import RowStats
from dh_bridge.spark.problems import is_spark_error, known_problem
from dh_bridge.spark.rows import RECORD, STEP_OUTPUT
from dh_bridge.spark.stages import CROSS_RUN, PIECE, EntityChangeStep, RecordStep, RunStep
from dh_bridge.spark.state import StreamState
from dh_bridge.spark.translation import (
    as_proposals,
    as_rejected,
    collect_cross_run_facts,
    column_names,
    default_partitions,
    sort_by_run,
)
from dh_bridge.state_codec.codec import decode_run, encode_registers

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from dh_bridge.settings import Settings
    from dh_bridge.settings.loading import SettingsLike

#: gets (proposals, bad records, number of the batch); called again with the same number after a crash
BatchConsumer = Callable[["DataFrame", "DataFrame", int], None]


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
) -> StreamingQuery:
    """Start to translate a stream of events (of :mod:`dh_bridge.spark.sources`) and return Spark's query.

    ``checkpoint`` holds Spark's offsets and, under ``dh_bridge``, the bridge's state; ``interval`` is the time between batches
    (``10 seconds``); without it the query processes the present events and ends. A run whose last event is ``retention_days``
    days older than the newest one, or than the present time if that is earlier, is evicted: what it stated about jobs and
    datasets stays, and later events of it are a run of their own. ``on_rejected`` gets the proposals of each batch that violate
    their schema (columns as of ``SparkTranslation.rejected``): they are left out, and the others are delivered.
    ``target`` is noted in the checkpoint; ``accept_changes`` as of :func:`dh_bridge.spark.checkpoint_notes.check_notes`.

    Raises:
        SettingsError: A setting is not supported, another stream uses the checkpoint, or it belongs to something else.
    """
    resolved_settings = settings_of(settings)
    reject_grouping(resolved_settings)
    folder = f"{checkpoint.rstrip('/')}/dh_bridge"

    spark_folder = f"{checkpoint.rstrip('/')}/spark"

    def batch(rows: DataFrame, number: int) -> None:
        gc.collect()  # frames of earlier batches: Py4J leaves them in cycles, and Spark keeps the plans of all that live here
        rows = add_missing_files(rows, events, spark_folder, number)
        stream_batch = StreamBatch(
            rows, number, folder, resolved_settings, partitions=partitions, retention_days=retention_days
        )
        stream_batch.run(consume, on_rejected, lambda: readable_batch(events, spark_folder, number))

    spark = events.sparkSession
    lock = lock_checkpoint(spark, checkpoint)
    writer = events.writeStream.foreachBatch(batch).option("checkpointLocation", spark_folder)
    writer = writer.trigger(availableNow=True) if interval is None else writer.trigger(processingTime=interval)
    try:
        notes = notes_of(resolved_settings, events, target)
        check_notes(spark, checkpoint, notes, accept_changes=accept_changes)
        query = writer.start()
    except BaseException:
        release(lock)
        raise
    hold_for(lock, query)
    return query


_QUERY_PREFIX = "urn:li:query:"
_EVENT_COLUMNS = {"time": "LONG", "location": "STRING", "raw": "BINARY"}


class StreamBatch:
    """One batch of a stream."""

    def __init__(  # noqa: PLR0913 - what a stream needs
        self,
        rows: DataFrame,
        number: int,
        folder: str,
        settings: Settings,
        *,
        partitions: int | None = None,
        retention_days: float | None = None,
    ) -> None:
        self._spark = rows.sparkSession
        self._settings = settings
        self._number = number
        self._retention_days = retention_days
        self._parts = partitions or default_partitions(self._spark)
        self._state = StreamState(self._spark, folder, number)
        self._cached_frames: list[DataFrame] = []
        self._set_rows(rows)

    def _set_rows(self, rows: DataFrame) -> None:
        """Set the events of the batch, in the form of a source."""
        records = self._cache(rows.select("location", "value", "whole").mapInArrow(RecordStep(self._settings), RECORD))
        self._dead_letters = records.filter("reason IS NOT NULL").selectExpr("location", "reason", "raw")
        self._new_events = records.filter("reason IS NULL").drop("reason")

    def run(
        self,
        consume: BatchConsumer,
        on_rejected: Callable[[DataFrame], None] | None = None,
        read_again: Callable[[], DataFrame | None] | None = None,
    ) -> None:
        """Translate, pass the changes to ``consume`` and the rest to the other functions; then store the state.

        ``read_again`` returns the events if files of the batch are damaged, without these; None if none is.
        """
        state = self._state
        try:
            size, first_key, last_key = self._measure_readable_events(read_again)
            earlier_events = state.read("events")
            batch_keys = self._cache(self._new_events.select("key").distinct())
            file_count = RowStats(0, size).file_count(kept.BYTES_PER_BATCH_FILE)
            batch_output, repeated_output, repeated_keys = self._aggregate_runs(
                earlier_events, batch_keys, (first_key, last_key)
            )
            run_output = batch_output.unionByName(repeated_output)
            # the runs that are merged again: those of the batch, and those about which other runs now have facts
            aggregated_keys = self._cache(batch_keys.unionByName(repeated_keys).distinct())
            pieces = self._cache(
                run_output.filter(f"kind = '{PIECE}'").selectExpr(
                    "key", "entity_urn AS urn", "data", "location AS origin"
                )
            )
            if "queries" in self._settings.optional_metadata:
                pieces = self._cache(pieces.unionByName(self._withdrawn_pieces(aggregated_keys, pieces)))
            entity_changes = self._aggregate_entities(aggregated_keys, pieces)
            output = entity_changes.unionByName(run_output)
            proposals = self._replace_creates(
                as_proposals(output, batch=self._number, dropped_keys=self._repeated_keys),
                earlier_events,
                aggregated_keys,
            )
            consume(proposals, self._dead_letters, self._number)
            if on_rejected is not None:
                on_rejected(as_rejected(output))
            new_rows = self._new_events.unionByName(self._repeated_rows(aggregated_keys, batch_keys))
            state.write("events", new_rows, file_count=file_count)
            state.write("pieces", pieces, file_count=file_count)
            state.write(
                "told",
                batch_output.filter(f"kind = '{CROSS_RUN}'").select("key", "data").unionByName(self._earlier_facts),
            )
            state.mark_complete()
            if self._number % kept.BATCHES_PER_COMPACTION == kept.BATCHES_PER_COMPACTION - 1:
                state.compact(self._retention_days)
        finally:
            for frame in self._cached_frames:
                frame.unpersist()

    def _measure_readable_events(self, read_again: Callable[[], DataFrame | None] | None) -> tuple[int, str, str]:
        """Return the same as :meth:`_measure_events`; it is the first one that reads the events."""
        try:
            return self._measure_events()
        except Exception as error:
            if (problem := known_problem(error, self._spark.version)) is not None:
                raise problem from error
            rows = read_again() if read_again is not None and is_spark_error(error) else None
            if rows is None:
                raise
            self._set_rows(rows)
            return self._measure_events()

    def _measure_events(self) -> tuple[int, str, str]:
        """Return the bytes of the events of the batch, and the first and last key of their runs."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        ((size, first_key, last_key),) = self._new_events.agg(
            F.sum(F.octet_length("raw")), F.min("key"), F.max("key")
        ).collect()
        return size or 0, first_key or "", last_key or ""

    @staticmethod
    def _replace_creates(proposals: DataFrame, earlier_events: DataFrame, aggregated_keys: DataFrame) -> DataFrame:
        """Return the proposals.

        A CREATE of a run that earlier batches wrote in part becomes an UPSERT, because all of it is known.
        """
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        continued_runs = (
            events_of_keys(earlier_events.filter("raw IS NOT NULL"), aggregated_keys)
            .selectExpr("key AS entity_urn", "true AS continued")
            .distinct()
        )
        is_continued = (F.col("change_type") == "CREATE") & F.col("continued").isNotNull()
        change_type = F.when(is_continued, F.lit("UPSERT")).otherwise(F.col("change_type"))
        marked_proposals = proposals.join(broadcast_keys(continued_runs), "entity_urn", "left")
        return marked_proposals.withColumn("change_type", change_type).select(*proposals.columns)

    def _repeated_rows(self, aggregated_keys: DataFrame, batch_keys: DataFrame) -> DataFrame:
        """Return the keys of runs that are merged again without events in the batch, so that their present pieces count."""
        keys_without_events = aggregated_keys.join(broadcast_keys(batch_keys), "key", "left_anti")
        null_columns = (f"CAST(NULL AS {kind}) AS {name}" for name, kind in _EVENT_COLUMNS.items())
        return keys_without_events.selectExpr("key", *null_columns)

    def _withdrawn_pieces(self, aggregated_keys: DataFrame, pieces: DataFrame) -> DataFrame:
        """Return an empty piece for each query that a run no longer states: it is removed, until a run states it again."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        query_pieces = self._state.valid_pieces().filter(f"key LIKE '{_QUERY_PREFIX}%'").select("key", "urn", "origin")
        query_pieces = query_pieces.join(
            broadcast_keys(aggregated_keys.withColumnRenamed("key", "origin")), "origin", "left_semi"
        )
        withdrawn_queries = query_pieces.join(pieces.select("key", "origin"), ["key", "origin"], "left_anti")
        return withdrawn_queries.select("key", "urn", F.lit(bytearray(encode_registers({}))).alias("data"), "origin")

    def _aggregate_runs(
        self, earlier_events: DataFrame, batch_keys: DataFrame, key_range: tuple[str, str]
    ) -> tuple[DataFrame, DataFrame, DataFrame]:
        """Return the results of the runs of the batch, those of runs that needed facts of other runs first.

        And the keys of these. ``key_range``: the first and the last one of ``batch_keys``.
        """
        earlier_records = earlier_events.filter("raw IS NOT NULL").select(*column_names(kept.EVENTS))
        batch_records = self._new_events.unionByName(events_of_keys(earlier_records, batch_keys, key_range))
        batch_output = self._cache(
            self._sort_records(batch_records).mapInArrow(RunStep(self._settings, max_held=PIECES_BY_RUN), STEP_OUTPUT)
        )
        witnesses, repeated = collect_cross_run_facts(batch_output)
        earlier_facts = self._state.read("told").join(self._state.latest_batches(), ["key", "batch"], "left_semi")
        earlier_rows = (
            earlier_facts.join(broadcast_keys(batch_keys), "key", "left_anti").select("key", "data").collect()
        )
        self._earlier_facts = earlier_facts.limit(0).select("key", "data")
        target_runs: set[str] = set()
        collapsed_by_run: dict[str, frozenset[str]] = {}
        for row in earlier_rows:
            run_facts, _ = decode_run(bytes(row.data))
            target_runs.update(named_run_urns(run_facts))
            collapsed_by_run[row.key] = run_facts.collapsed_urns
        if target_runs:
            target_rows = batch_keys.filter(batch_keys.key.isin(sorted(target_runs))).collect()
            repeated.update(row.key for row in target_rows)
        if (
            self._settings.temporary.dataset_type != "keep" and repeated
        ):  # any run may name a dataset that another one declares temporary
            repeated.update(row.key for row in earlier_events.select("key").distinct().collect())
        repeated |= runs_linked_to(
            collapsed_by_run, set().union(*(decode_run(run_facts)[0].collapsed_urns for run_facts in witnesses))
        )
        witnesses += [bytes(row.data) for row in earlier_rows]
        self._repeated_keys = repeated
        if not repeated:
            return batch_output, batch_output.limit(0), batch_keys.limit(0)
        keys = self._spark.createDataFrame([(key,) for key in sorted(repeated)], "key string")
        records = self._cache(events_of_keys(self._new_events.unionByName(earlier_records), keys))
        second_step = RunStep(self._settings, witnesses, max_held=PIECES_BY_RUN)
        repeated_output = self._cache(self._sort_records(records).mapInArrow(second_step, STEP_OUTPUT))
        self._earlier_facts = (
            earlier_facts.join(broadcast_keys(keys), "key", "left_semi")
            .join(broadcast_keys(batch_keys), "key", "left_anti")
            .select("key", "data")
        )
        repeated_sorted = sorted(repeated)
        first_output = batch_output.filter(
            ~batch_output.key.isin(repeated_sorted) | (batch_output.kind == CROSS_RUN)
        ).filter((batch_output.kind != PIECE) | ~batch_output.location.isin(repeated_sorted))
        return first_output, repeated_output, records.select("key").distinct()

    def _aggregate_entities(self, aggregated_keys: DataFrame, pieces: DataFrame) -> DataFrame:
        """Return the changes of shared entities."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        earlier_pieces = self._state.valid_pieces().drop("batch")
        replaced_origins = aggregated_keys.withColumnRenamed("key", "origin").withColumn("over", F.lit(1))
        aged_pieces = earlier_pieces.join(broadcast_keys(replaced_origins), "origin", "left").select(
            "key", "urn", "data", F.when(F.col("over").isNull(), F.lit(BOTH)).otherwise(F.lit(BEFORE)).alias("age")
        )
        groups = pieces.select("key").unionByName(aged_pieces.filter(f"age = {BEFORE}").select("key")).distinct()
        all_pieces = pieces.select("key", "urn", "data", F.lit(AFTER).alias("age")).unionByName(
            aged_pieces.join(broadcast_keys(groups), "key", "left_semi").select("key", "urn", "data", "age")
        )
        parts = all_pieces.repartition(self._parts, "key").sortWithinPartitions("key", "urn")
        return self._cache(parts.mapInArrow(EntityChangeStep(self._settings), STEP_OUTPUT))

    def _sort_records(self, records: DataFrame) -> DataFrame:
        rows = records.selectExpr("key", "time", "location", "raw", "CAST(NULL AS STRING) AS reason")
        return sort_by_run(rows, self._parts)

    def _cache(self, frame: DataFrame) -> DataFrame:
        from pyspark import StorageLevel  # noqa: PLC0415 - an optional extra

        self._cached_frames.append(frame.persist(StorageLevel.DISK_ONLY))
        return self._cached_frames[-1]


def runs_linked_to(datasets_by_run: Mapping[str, AbstractSet[str]], datasets: set[str]) -> set[str]:
    """Return the keys of the runs that name one of ``datasets``, or a dataset that such a run names; ``datasets_by_run``.

    By key.
    """
    linked_runs: set[str] = set()
    while new_runs := {
        key for key, run_datasets in datasets_by_run.items() if key not in linked_runs and run_datasets & datasets
    }:
        linked_runs |= new_runs
        datasets = datasets.union(*(datasets_by_run[key] for key in new_runs))
    return linked_runs


def events_of_keys(events: DataFrame, keys: DataFrame, key_range: tuple[str, str] | None = None) -> DataFrame:
    """Return the events of the keys; of sorted files only those parts are read that may have one of them.

    ``key_range``: the first and the last key, if they are known.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    ((first_key, last_key),) = [key_range] if key_range else keys.agg(F.min("key"), F.max("key")).collect()
    return events.filter(events.key.between(first_key or "", last_key or "")).join(
        broadcast_keys(keys), "key", "left_semi"
    )


def broadcast_keys(keys: DataFrame) -> DataFrame:
    """Return the keys of a batch marked as few: they are broadcast, instead of shuffling the history."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    return F.broadcast(keys)
