"""A DataFrame of events into DataFrames of proposals, bad records and counts."""

from __future__ import annotations

from datetime import timezone
from functools import reduce
from typing import TYPE_CHECKING

from dh_bridge.errors import SettingsError
from dh_bridge.openlineage.times import parse_time
from dh_bridge.partitioned.families import group_runs, grouping_setting
from dh_bridge.partitioned.others import named_run_urns
from dh_bridge.session import Counts
from dh_bridge.settings.loading import settings_of
from dh_bridge.spark.connect import is_connect
from dh_bridge.spark.current import current, points
from dh_bridge.spark.damaged_files import readable_events
from dh_bridge.spark.deliveries import deliver
from dh_bridge.spark.event_columns import frame
from dh_bridge.spark.lineage_tables import checks, column_edges, edges, runs
from dh_bridge.spark.packed_proposals import open_packs, proposal_stats
from dh_bridge.spark.problems import is_spark_error, known_problem
from dh_bridge.spark.proposal_packs import PackOpener
from dh_bridge.spark.rows import LINK, RECORD, STEP_OUTPUT, fetch_rows
from dh_bridge.spark.stages import (
    COUNTS,
    CROSS_RUN,
    DEAD_LETTER,
    PIECE,
    PROPOSAL_PACK,
    REJECTED,
    UNRESOLVED,
    EntityStep,
    LinkStep,
    RecordStep,
    RunStep,
    decode_counts,
)
from dh_bridge.state_codec.codec import decode_run

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from pyspark.sql import DataFrame, SparkSession
    from typing_extensions import Self

    from dh_bridge.settings import Settings
    from dh_bridge.settings.loading import SettingsLike
    from dh_bridge.spark.executors import SparkDelivery

BAD_RECORDS = "location string, reason string, raw binary"
"""Columns of bad records: location, reason, the event as it was read."""

PARTITIONS_PER_CORE = 3
RUN_ORDER = ("key", "time", "location")
"""The order of records for RunStep."""


class SparkTranslation:
    """The result of a DataFrame of events. Runs are merged when it is created; the rest is computed on request.

    ``proposals``, ``bad_records`` and ``rejected`` (proposals that violate their schema) are DataFrames; :meth:`counts` counts.
    :meth:`close` frees the workers' disks.
    """

    def __init__(
        self,
        events: DataFrame,
        settings: SettingsLike = None,
        *,
        partitions: int | None = None,
        between: tuple[str | None, str | None] = (None, None),
    ) -> None:
        """``events`` as of :mod:`dh_bridge.spark.sources`; ``partitions`` of the shuffles (default: three for each core).

        ``between``: only events from the first time on, and before the second (ISO 8601); bad records have no time.
        """
        self._between = between
        self.settings = settings_of(settings)
        self._spark = events.sparkSession
        self._partitions = partitions or default_partitions(self._spark)
        self._run_output, self._repeated_output, self._repeated_keys = self._aggregate_readable_runs(events)
        self._entity_output = self._aggregate_entities()
        outputs = (self._entity_output, self._run_output, self._repeated_output)
        self._cached_frames = [output for output in outputs if output is not None]
        self._proposals = open_packs(as_packs(_union(self._cached_frames)), PackOpener(self._repeated_keys))

    @property
    def proposals(self) -> DataFrame:
        """The proposals (see PROPOSALS), those of shared entities first."""
        return self._proposals

    @property
    def bad_records(self) -> DataFrame:
        """The events that cannot be used (see BAD_RECORDS)."""
        return self._run_output.filter(f"kind = '{DEAD_LETTER}'").selectExpr("location", "reason", "data AS raw")

    @property
    def rejected(self) -> DataFrame:
        """The proposals that were left out because they violate their schema: a bug of the bridge.

        The others are delivered.
        """
        run_output = self._run_output
        if self._repeated_keys:
            run_output = run_output.join(_keys_frame(self._spark, self._repeated_keys), "key", "left_anti").select(
                *column_names(STEP_OUTPUT)
            )
        repeated_outputs = [] if self._repeated_output is None else [self._repeated_output]
        return as_rejected(_union([self._entity_output, run_output, *repeated_outputs]))

    def counts(self) -> Counts:
        """Return the counts: events are those that were translated; together with the dead ones they are the input."""
        counts = sum_counts(_union([self._entity_output, self._run_output]))  # events of repeated runs count once
        counts.proposals = proposal_stats(self.proposals).row_count
        counts.rejected = self.rejected.count()
        return counts

    def current(self) -> DataFrame:
        """Return the latest value of each aspect, with all patches applied (see CURRENT)."""
        return current(self.proposals)

    def points(self) -> DataFrame:
        """Return the points of timeseries aspects (see POINTS)."""
        return points(self.proposals)

    def edges(self) -> DataFrame:
        """Return the lineage between datasets and jobs (see EDGES)."""
        return edges(self.proposals)

    def column_edges(self) -> DataFrame:
        """Return the lineage between columns (see COLUMN_EDGES)."""
        return column_edges(self.proposals)

    def runs(self) -> DataFrame:
        """Return the runs (see RUNS)."""
        return runs(self.proposals)

    def checks(self) -> DataFrame:
        """Return the data quality checks with their latest results (see CHECKS)."""
        return checks(self.proposals)

    def deliver(self, target: str, settings: SettingsLike = None) -> SparkDelivery:
        """Deliver the proposals.

        Args:
            target: As of :func:`dh_bridge.spark.deliver`.
            settings: Settings of the delivery (default: those of the translation).

        Returns:
            The counts and the failures.
        """
        return deliver(self.proposals, target, self.settings if settings is None else settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()

    def close(self) -> None:
        """Delete the merged runs; the DataFrames cannot be used afterwards."""
        for cached_frame in self._cached_frames:
            cached_frame.unpersist()

    def _aggregate_readable_runs(self, events: DataFrame) -> tuple[DataFrame, DataFrame | None, set[str]]:
        """Return the results of the runs; files that Spark cannot read are bad records."""
        try:
            return self._aggregate_runs(events)
        except Exception as error:
            if (problem := known_problem(error, self._spark.version)) is not None:
                raise problem from error
            readable = readable_events(events) if is_spark_error(error) else None
            if readable is None:
                raise
            return self._aggregate_runs(readable)

    def _aggregate_runs(self, events: DataFrame) -> tuple[DataFrame, DataFrame | None, set[str]]:
        """Return the results of all runs, those of runs that needed facts of other runs first, and the keys of these."""
        from pyspark import StorageLevel  # noqa: PLC0415 - an optional extra

        records = records_of(events, self.settings, self._between)
        group_by_run = self._related_runs(records) if grouping_setting(self.settings) else {}
        if group_by_run:
            records = self._group_records(records, group_by_run)
        records = sort_by_run(records, self._partitions)
        output = records.mapInArrow(RunStep(self.settings), STEP_OUTPUT).persist(StorageLevel.DISK_ONLY)
        witnesses, named_keys = collect_cross_run_facts(output)
        repeated_keys = {group_by_run.get(key, key) for key in named_keys}
        if not repeated_keys:
            return output, None, repeated_keys
        keys = _keys_frame(self._spark, repeated_keys)
        second_step = RunStep(self.settings, witnesses)
        # sorted after the join, which may shuffle again
        repeated_records = sort_by_run(
            records.join(keys, "key", "left_semi").select(*column_names(RECORD)), self._partitions
        )
        repeated_output = repeated_records.mapInArrow(second_step, STEP_OUTPUT).persist(StorageLevel.DISK_ONLY)
        return output, repeated_output, repeated_keys

    def _related_runs(self, records: DataFrame) -> dict[str, str]:
        """Return run -> family of all runs in families; one more pass over the events."""
        links = records.filter("reason IS NULL").mapInArrow(LinkStep(self.settings), LINK).distinct()
        return group_runs((row.key, row.other) for row in fetch_rows(links))

    def _group_records(self, records: DataFrame, group_by_run: dict[str, str]) -> DataFrame:
        """Return the records with the keys of their families."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        groups = self._spark.createDataFrame(sorted(group_by_run.items()), "key string, family string")
        grouped_records = records.join(F.broadcast(groups), "key", "left").withColumn(
            "key", F.coalesce("family", "key")
        )
        return grouped_records.select(*column_names(RECORD))

    def _aggregate_entities(self) -> DataFrame:
        from pyspark import StorageLevel  # noqa: PLC0415 - an optional extra

        repeated_outputs = [] if self._repeated_output is None else [self._repeated_output]
        run_output = _union([self._run_output, *repeated_outputs])
        pieces = run_output.filter(f"kind = '{PIECE}'").select("key", "entity_urn", "data")
        sorted_pieces = pieces.repartition(self._partitions, "key").sortWithinPartitions("key", "entity_urn")
        return sorted_pieces.mapInArrow(EntityStep(self.settings), STEP_OUTPUT).persist(StorageLevel.DISK_ONLY)


def translate(
    events: DataFrame,
    settings: SettingsLike = None,
    *,
    column: str | None = None,
    partitions: int | None = None,
    between: tuple[str | None, str | None] = (None, None),
) -> SparkTranslation:
    """Translate a DataFrame of events.

    Args:
        events: The events: of :func:`dh_bridge.spark.read`, of a topic, or any DataFrame with one in each row.
        settings: The settings.
        column: The column that holds the events; see :func:`dh_bridge.spark.frame` for what is used without it.
        partitions: The number of partitions of the shuffles (default: three for each core).
        between: Only events from the first time on, and before the second (ISO 8601).

    Returns:
        The translation, a context manager: at the end of ``with`` its disk space is freed.

    Raises:
        SettingsError: A setting is not valid, or no column has events.

    Example:
        ``with translate(events) as translation: translation.deliver("catalog:shop.db")``
    """
    return SparkTranslation(frame(events, column), settings, partitions=partitions, between=between)


def collect_cross_run_facts(output: DataFrame) -> tuple[list[bytes], set[str]]:
    """Return the facts about other runs, and the keys of the runs that are merged again with them (rows of STEP_OUTPUT)."""
    rows = output.filter(f"kind IN ('{CROSS_RUN}', '{UNRESOLVED}')").select("kind", "key", "data").collect()
    witnesses = [bytes(row.data) for row in rows if row.kind == CROSS_RUN]
    repeated_keys = {row.key for row in rows if row.kind == UNRESOLVED}
    repeated_keys.update(urn for run_facts in witnesses for urn in named_run_urns(decode_run(run_facts)[0]))
    return witnesses, repeated_keys


def sum_counts(output: DataFrame) -> Counts:
    """Return the sum of the counts among rows of STEP_OUTPUT."""
    counts = Counts()
    for row in output.filter(f"kind = '{COUNTS}'").select("data").collect():
        counts.add(decode_counts(bytes(row.data)))
    return counts


def records_of(
    events: DataFrame, settings: Settings, between: tuple[str | None, str | None] = (None, None)
) -> DataFrame:
    """Return the records (see RECORD) of the events, in their present order."""
    records = events.select("location", "value", "whole").mapInArrow(RecordStep(settings), RECORD)
    for text, operator in zip(between, (">=", "<"), strict=True):
        if text is not None:
            records = records.filter(f"reason IS NOT NULL OR time {operator} {parse_micros(text)}")
    return records


def parse_micros(text: str) -> int:
    """Return the microseconds since 1970 of a time that the user passed."""
    try:
        return parse_time(text, timezone.utc)[0]
    except ValueError as error:
        raise SettingsError(str(error), location="--from, --until", remedy="e.g. 2026-01-31T00:00:00Z") from error


def sort_by_run(records: DataFrame, partitions: int) -> DataFrame:
    """Return records with those of one run adjacent."""
    return records.repartition(partitions, "key").sortWithinPartitions(*RUN_ORDER)


def as_rejected(output: DataFrame) -> DataFrame:
    """Return the invalid proposals among rows of STEP_OUTPUT, with the reasons."""
    return output.filter(f"kind = '{REJECTED}'").selectExpr(
        "entity_type", "entity_urn", "aspect_name", "change_type", "reason"
    )


def as_packs(output: DataFrame) -> DataFrame:
    """Return the packs among rows of STEP_OUTPUT: their data, row_count and size."""
    return output.filter(f"kind = '{PROPOSAL_PACK}'").select("data", "row_count", "size")


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(lambda union, frame: union.unionByName(frame), frames)


def _keys_frame(spark: SparkSession, keys: Iterable[str]) -> DataFrame:
    return spark.createDataFrame([(key,) for key in sorted(keys)], "key string")


def column_names(columns: str) -> list[str]:
    """Return the names of columns that are written as ``name type, …``."""
    return [part.split()[0] for part in columns.split(",")]


def default_partitions(spark: SparkSession) -> int:
    """Return the default number of parts: three for each core; with Spark Connect, that of the session."""
    if is_connect(spark):  # the number of cores is unknown
        return int(spark.conf.get("spark.sql.shuffle.partitions") or PARTITIONS_PER_CORE)
    return PARTITIONS_PER_CORE * int(spark.sparkContext.defaultParallelism)
