"""A batch of a stream: after it, the target has the result of one call over all events so far.

A run is merged again from its own events whenever a batch has more of them; what it contributes to jobs and datasets replaces
its earlier contribution. Only changes are sent.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from dh_bridge.partitioned.others import named_run_urns
from dh_bridge.partitioned.runs import PIECES_BY_RUN
from dh_bridge.spark import state as kept
from dh_bridge.spark.batch_metrics import BatchMetrics, DeliveryCounts, now_text
from dh_bridge.spark.changes import AFTER, BEFORE, BOTH
from dh_bridge.spark.folder_files import RowStats
from dh_bridge.spark.key_sets import MAX_LISTED_KEYS, KeySet
from dh_bridge.spark.output_order import stream_id
from dh_bridge.spark.packed_proposals import open_packs
from dh_bridge.spark.problems import is_spark_error, known_problem
from dh_bridge.spark.proposal_packs import PackOpener
from dh_bridge.spark.rows import STEP_OUTPUT
from dh_bridge.spark.stages import CROSS_RUN, PIECE, EntityChangeStep, RunStep
from dh_bridge.spark.state import StreamState
from dh_bridge.spark.translation import (
    RUN_ORDER,
    as_packs,
    as_rejected,
    collect_cross_run_facts,
    column_names,
    default_partitions,
    records_of,
    sort_by_run,
)
from dh_bridge.state_codec.codec import decode_run, encode_registers

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from pyspark.sql import DataFrame

    from dh_bridge.settings import Settings

#: gets (proposals, bad records, number of the batch), and may return the counts; called again with the same number after a crash
BatchConsumer = Callable[["DataFrame", "DataFrame", int], "DeliveryCounts | None"]

MAX_SMALL_BATCH_EVENTS = MAX_LISTED_KEYS
MAX_SMALL_BATCH_BYTES = 8 << 20
MAX_SMALL_STATE_BYTES = 64 << 20
"""A batch and a state up to all these bounds are processed by one task for each step: shuffles of them would take longer."""

_QUERY_PREFIX = "urn:li:query:"
_EVENT_COLUMNS = {"time": "LONG", "location": "STRING", "raw": "BINARY"}


class StreamBatch:
    """One batch of a stream: its records (see RECORD), and their number."""

    def __init__(  # noqa: PLR0913 - what a stream needs
        self,
        records: DataFrame,
        number: int,
        folder: str,
        settings: Settings,
        *,
        partitions: int | None = None,
        retention_days: float | None = None,
    ) -> None:
        self._spark = records.sparkSession
        self._settings = settings
        self._number = number
        self._retention_days = retention_days
        self._parts = partitions or default_partitions(self._spark)
        self._state = StreamState(self._spark, folder, number)
        self._cached_frames: list[DataFrame] = []
        self._is_small = False
        self._set_records(records)

    def _set_records(self, records: DataFrame) -> None:
        """Set the records of the batch."""
        self._records = self._cache(records)
        self._dead_letters = self._records.filter("reason IS NOT NULL").selectExpr("location", "reason", "raw")
        self._new_events = self._records.filter("reason IS NULL").drop("reason")

    def run(
        self,
        consume: BatchConsumer,
        on_rejected: Callable[[DataFrame], None] | None = None,
        read_again: Callable[[], DataFrame | None] | None = None,
    ) -> BatchMetrics:
        """Translate, pass the changes to ``consume`` and the rest to the other functions; then store the state.

        Args:
            consume: Delivers the proposals.
            on_rejected: Gets the proposals that violate their schema.
            read_again: Returns the events if files of the batch are damaged, without these; None if none is.

        Returns:
            The metrics.
        """
        started = time.monotonic()
        try:
            size, key_range = self._measure_readable_events(read_again)
            proposals, output = self._translate(key_range)
            counts = consume(proposals, self._dead_letters, self._number)
            if on_rejected is not None:
                on_rejected(as_rejected(output))
            self._store(RowStats(0, size).file_count(kept.BYTES_PER_BATCH_FILE))
            if self._number % kept.BATCHES_PER_COMPACTION == kept.BATCHES_PER_COMPACTION - 1:
                self._state.compact(self._retention_days)
            delivered, refused = counts or (None, None)
            return BatchMetrics(
                stream_id(self._spark), self._number, now_text(), self._event_count, self._dead_count, delivered, refused,
                round(time.monotonic() - started, 3),
            )  # fmt: skip
        finally:
            for frame in self._cached_frames:
                frame.unpersist()

    def _translate(self, key_range: tuple[str, str]) -> tuple[DataFrame, DataFrame]:
        """Return the proposals, and all results of the batch. ``key_range``: the first and the last key of its runs."""
        earlier_events = self._state.read("events")
        self._batch_keys = self._keys_of_batch()
        self._batch_output, repeated_output, self._aggregated_keys = self._aggregate_runs(
            earlier_events, self._batch_keys, key_range
        )
        run_output = self._batch_output.unionByName(repeated_output)
        pieces = run_output.filter(f"kind = '{PIECE}'").selectExpr(
            "key", "entity_urn AS urn", "data", "location AS origin"
        )
        pieces = self._state.one_task(pieces) if self._is_small else self._cache(pieces)
        if "queries" in self._settings.optional_metadata:
            pieces = self._cache(pieces.unionByName(self._withdrawn_pieces(self._aggregated_keys, pieces)))
        self._pieces = pieces
        output = self._aggregate_entities(self._aggregated_keys, pieces).unionByName(run_output)
        continued_runs = self._continued_runs(earlier_events, None if self._repeated_keys else key_range)
        opener = PackOpener(self._repeated_keys, continued_runs.listed or ())
        proposals = open_packs(as_packs(output), opener, batch=self._number, is_small=self._is_small)
        if continued_runs.listed is None:
            proposals = replace_creates(proposals, continued_runs)
        return proposals, output

    def _store(self, file_count: int) -> None:
        """Write the state of the batch, into at most ``file_count`` files each, and mark it as complete."""
        state = self._state
        new_rows = self._new_events
        if self._repeated_keys:
            new_rows = new_rows.unionByName(self._repeated_rows(self._aggregated_keys, self._batch_keys))
        state.write("events", new_rows, file_count=file_count)
        state.write("pieces", self._pieces, file_count=file_count)
        if self._has_cross_run_facts or self._repeated_keys:
            cross_run_facts = self._batch_output.filter(f"kind = '{CROSS_RUN}'").select("key", "data")
            state.write("told", cross_run_facts.unionByName(self._earlier_facts))
        else:
            state.write_empty("told")
        state.mark_complete()

    def _measure_readable_events(
        self, read_again: Callable[[], DataFrame | None] | None
    ) -> tuple[int, tuple[str, str]]:
        """Return the same as :meth:`_measure_events`; it is the first one that reads the events."""
        try:
            return self._measure_events()
        except Exception as error:
            if (problem := known_problem(error, self._spark.version)) is not None:
                raise problem from error
            rows = read_again() if read_again is not None and is_spark_error(error) else None
            if rows is None:
                raise
            self._set_records(records_of(rows, self._settings))
            return self._measure_events()

    def _measure_events(self) -> tuple[int, tuple[str, str]]:
        """Count the events; return their bytes, and the first and last key of their runs."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        is_event = F.col("reason").isNull()
        event_keys = F.when(is_event, F.col("key"))
        ((self._event_count, self._dead_count, size, first_key, last_key),) = self._records.agg(
            F.count_if(is_event),
            F.count_if(~is_event),
            F.sum(F.when(is_event, F.octet_length("raw"))),
            F.min(event_keys),
            F.max(event_keys),
        ).collect()
        if not self._dead_count:
            self._dead_letters = self._dead_letters.limit(0)  # Spark knows without a job that it is empty
        self._is_small = (
            self._event_count <= MAX_SMALL_BATCH_EVENTS
            and (size or 0) <= MAX_SMALL_BATCH_BYTES
            and self._state.use_one_task(MAX_SMALL_STATE_BYTES)
        )
        return size or 0, (first_key or "", last_key or "")

    def _keys_of_batch(self) -> KeySet:
        """Return the keys of the runs of the batch."""
        keys = self._new_events.select("key").distinct()
        if self._event_count <= MAX_LISTED_KEYS:
            return KeySet(keys, (row.key for row in self._new_events.select("key").collect()))
        return KeySet(self._cache(keys))

    def _continued_runs(self, earlier_events: DataFrame, key_range: tuple[str, str] | None) -> KeySet:
        """Return the runs that earlier batches wrote in part.

        All of such a run is known, so a CREATE of it becomes an UPSERT. ``key_range``: the first and the last key of the runs,
        if they are known.
        """
        if not self._state.has_earlier_batches:
            return KeySet(self._batch_keys.frame.limit(0), ())
        earlier_rows = events_of_keys(earlier_events.filter("raw IS NOT NULL"), self._aggregated_keys, key_range)
        continued_frame = earlier_rows.select("key").distinct()
        if self._aggregated_keys.listed is None:
            return KeySet(self._cache(continued_frame))
        rows = earlier_rows.select("key") if self._is_small else continued_frame
        return KeySet(continued_frame, (row.key for row in rows.collect()))

    def _repeated_rows(self, aggregated_keys: KeySet, batch_keys: KeySet) -> DataFrame:
        """Return the keys of runs that are merged again without events in the batch, so that their present pieces count."""
        keys_without_events = batch_keys.exclude(aggregated_keys.frame)
        null_columns = (f"CAST(NULL AS {kind}) AS {name}" for name, kind in _EVENT_COLUMNS.items())
        return keys_without_events.selectExpr("key", *null_columns)

    def _withdrawn_pieces(self, aggregated_keys: KeySet, pieces: DataFrame) -> DataFrame:
        """Return an empty piece for each query that a run no longer states: it is removed, until a run states it again."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        query_pieces = self._state.valid_pieces().filter(f"key LIKE '{_QUERY_PREFIX}%'").select("key", "urn", "origin")
        query_pieces = aggregated_keys.select(query_pieces, "origin")
        present_pieces = self._state.join_side(pieces.select("key", "origin"))
        withdrawn_queries = query_pieces.join(present_pieces, ["key", "origin"], "left_anti")
        return withdrawn_queries.select("key", "urn", F.lit(bytearray(encode_registers({}))).alias("data"), "origin")

    def _aggregate_runs(
        self, earlier_events: DataFrame, batch_keys: KeySet, key_range: tuple[str, str]
    ) -> tuple[DataFrame, DataFrame, KeySet]:
        """Return the results of the runs of the batch, and those of runs that needed facts of other runs first.

        And the keys of the runs that are merged again: those of the batch, and those about which other runs now have facts.
        ``key_range``: the first and the last one of ``batch_keys``.
        """
        earlier_records = earlier_events.filter("raw IS NOT NULL").select(*column_names(kept.EVENTS))
        batch_records = self._new_events.unionByName(events_of_keys(earlier_records, batch_keys, key_range))
        batch_output = self._cache(
            self._sort_records(batch_records).mapInArrow(RunStep(self._settings, max_held=PIECES_BY_RUN), STEP_OUTPUT)
        )
        witnesses, repeated = collect_cross_run_facts(batch_output)
        self._has_cross_run_facts = bool(witnesses)
        latest_batches = self._state.join_side(self._state.latest_batches())
        earlier_facts = self._state.read("told").join(latest_batches, ["key", "batch"], "left_semi")
        earlier_rows = batch_keys.exclude(earlier_facts).select("key", "data").collect()
        self._earlier_facts = earlier_facts.limit(0).select("key", "data")
        target_runs: set[str] = set()
        collapsed_by_run: dict[str, frozenset[str]] = {}
        for row in earlier_rows:
            run_facts, _ = decode_run(bytes(row.data))
            target_runs.update(named_run_urns(run_facts))
            collapsed_by_run[row.key] = run_facts.collapsed_urns
        if target_runs:
            batch_frame = batch_keys.frame
            target_rows = batch_frame.filter(batch_frame.key.isin(sorted(target_runs))).collect()
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
            return batch_output, batch_output.limit(0), batch_keys
        keys = KeySet(self._spark.createDataFrame([(key,) for key in sorted(repeated)], "key string"), repeated)
        records = self._cache(events_of_keys(self._new_events.unionByName(earlier_records), keys))
        second_step = RunStep(self._settings, witnesses, max_held=PIECES_BY_RUN)
        repeated_output = self._cache(self._sort_records(records).mapInArrow(second_step, STEP_OUTPUT))
        self._earlier_facts = batch_keys.exclude(keys.select(earlier_facts)).select("key", "data")
        repeated_sorted = sorted(repeated)
        first_output = batch_output.filter(
            ~batch_output.key.isin(repeated_sorted) | (batch_output.kind == CROSS_RUN)
        ).filter((batch_output.kind != PIECE) | ~batch_output.location.isin(repeated_sorted))
        aggregated_frame = self._cache(batch_keys.frame.unionByName(records.select("key")).distinct())
        if keys.listed is None or batch_keys.listed is None:
            return first_output, repeated_output, KeySet(aggregated_frame)
        return first_output, repeated_output, KeySet(aggregated_frame, (row.key for row in aggregated_frame.collect()))

    def _aggregate_entities(self, aggregated_keys: KeySet, pieces: DataFrame) -> DataFrame:
        """Return the changes of shared entities."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        earlier_pieces = aggregated_keys.mark(self._state.valid_pieces().drop("batch"), "origin", "is_replaced")
        aged_pieces = earlier_pieces.select(
            "key", "urn", "data", F.when(F.col("is_replaced"), F.lit(BEFORE)).otherwise(F.lit(BOTH)).alias("age")
        )
        groups = pieces.select("key").unionByName(aged_pieces.filter(f"age = {BEFORE}").select("key"))
        groups = self._state.join_side(groups) if self._is_small else F.broadcast(groups.distinct())
        all_pieces = pieces.select("key", "urn", "data", F.lit(AFTER).alias("age")).unionByName(
            aged_pieces.join(groups, "key", "left_semi").select("key", "urn", "data", "age")
        )
        parts = all_pieces.coalesce(1) if self._is_small else all_pieces.repartition(self._parts, "key")
        parts = parts.sortWithinPartitions("key", "urn")
        return self._cache(parts.mapInArrow(EntityChangeStep(self._settings), STEP_OUTPUT))

    def _sort_records(self, records: DataFrame) -> DataFrame:
        rows = records.selectExpr("key", "time", "location", "raw", "CAST(NULL AS STRING) AS reason")
        return rows.coalesce(1).sortWithinPartitions(*RUN_ORDER) if self._is_small else sort_by_run(rows, self._parts)

    def _cache(self, frame: DataFrame) -> DataFrame:
        from pyspark import StorageLevel  # noqa: PLC0415 - an optional extra

        self._cached_frames.append(frame.persist(StorageLevel.DISK_ONLY))
        return self._cached_frames[-1]


def replace_creates(proposals: DataFrame, continued_runs: KeySet) -> DataFrame:
    """Return proposals with UPSERT in place of CREATE for the runs that earlier batches wrote in part."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    is_continued = (F.col("change_type") == "CREATE") & F.col("continued")
    change_type = F.when(is_continued, F.lit("UPSERT")).otherwise(F.col("change_type"))
    marked_proposals = continued_runs.mark(proposals, "entity_urn", "continued")
    return marked_proposals.withColumn("change_type", change_type).select(*proposals.columns)


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


def events_of_keys(events: DataFrame, keys: KeySet, key_range: tuple[str, str] | None = None) -> DataFrame:
    """Return the events of the keys; of sorted files only those parts are read that may have one of them.

    ``key_range``: the first and the last key, if they are known.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    if key_range is None and keys.listed is not None:
        key_range = (keys.listed[0], keys.listed[-1]) if keys.listed else ("", "")
    ((first_key, last_key),) = [key_range] if key_range else keys.frame.agg(F.min("key"), F.max("key")).collect()
    return keys.select(events.filter(events.key.between(first_key or "", last_key or "")))
