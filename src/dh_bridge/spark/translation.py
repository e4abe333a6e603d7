"""A DataFrame of events into DataFrames of proposals, bad records and counts."""

from __future__ import annotations

from datetime import timezone
from typing import TYPE_CHECKING

from dh_bridge.errors import SettingsError
from dh_bridge.openlineage.times import parse_time
from dh_bridge.partitioned.families import group_runs, grouping_setting
from dh_bridge.partitioned.others import named_run_urns
from dh_bridge.session import Counts
from dh_bridge.settings.loading import settings_of
from dh_bridge.spark.rows import LINK, RECORD, STEP_OUTPUT, fetch_rows
from dh_bridge.spark.stages import (
    COUNTS,
    CROSS_RUN,
    DEAD_LETTER,
    PIECE,
    PROPOSAL,
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
    from pyspark.sql import DataFrame, SparkSession

    from dh_bridge.settings import Settings
    from dh_bridge.settings.loading import SettingsLike

PROPOSALS = (
    "entity_type string, entity_urn string, aspect_name string, change_type string, aspect string, timestamp timestamp,"
    " run_id string, location string"
)
"""Columns of proposals. ``aspect``: its JSON (the list of operations of a PATCH); of what one run says: ``timestamp`` of its
last event, ``run_id`` of OpenLineage, ``location`` where that event stood; null for what many runs share."""
BAD_RECORDS = "location string, reason string, raw binary"
"""Columns of bad records: where it stood, why it cannot be used, the event as it came."""

PARTITIONS_PER_CORE = 3


class SparkTranslation:
    """What a DataFrame of events comes to. Runs are folded when it is made; the rest is computed when it is asked for.

    ``proposals``, ``bad_records`` and ``rejected`` (proposals of ours that their schema refuses) are DataFrames;
    :meth:`counts` counts. :meth:`close` gives the workers' disks back.
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
        self._run_output, repeated_output = self._aggregate_runs(events)
        self._entity_output = self._aggregate_entities(repeated_output)
        self._cached_frames = [
            frame for frame in (self._run_output, repeated_output, self._entity_output) if frame is not None
        ]
        self._output = self._combine_output(repeated_output)

    @property
    def proposals(self) -> DataFrame:
        """The proposals (see PROPOSALS), of what runs share first."""
        return as_proposals(self._output.filter(f"kind = '{PROPOSAL}'"))

    @property
    def bad_records(self) -> DataFrame:
        """The events that cannot be used (see BAD_RECORDS)."""
        return self._run_output.filter(f"kind = '{DEAD_LETTER}'").selectExpr(
            "location", "aspect AS reason", "data AS raw"
        )

    @property
    def rejected(self) -> DataFrame:
        """The proposals that were left out as their schema refuses them: our fault, the others go on."""
        return as_rejected(self._output)

    def counts(self) -> Counts:
        """Return the counts: events are those that were translated; together with the dead ones they are all that came."""
        counts = sum_counts(self._output)
        counts.proposals = self._output.filter(f"kind = '{PROPOSAL}'").count()
        counts.rejected = self._output.filter(f"kind = '{REJECTED}'").count()
        return counts

    def close(self) -> None:
        """Forget what was folded; the DataFrames are of no more use."""
        for frame in self._cached_frames:
            frame.unpersist()

    def _aggregate_runs(self, events: DataFrame) -> tuple[DataFrame, DataFrame | None]:
        """Return what all runs come to, and what those do that had to hear of others first."""
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
            return output, None
        keys = self._spark.createDataFrame([(key,) for key in sorted(repeated_keys)], "key string")
        second_step = RunStep(self.settings, witnesses)
        # sorted behind the join, which may shuffle again
        repeated_records = sort_by_run(
            records.join(keys, "key", "left_semi").select(*column_names(RECORD)), self._partitions
        )
        repeated_output = repeated_records.mapInArrow(second_step, STEP_OUTPUT).persist(StorageLevel.DISK_ONLY)
        is_replaced = (output.key == keys.key) & output.kind.isin(PROPOSAL, REJECTED)
        return output.join(keys, is_replaced, "left_anti"), repeated_output

    def _related_runs(self, records: DataFrame) -> dict[str, str]:
        """Return run -> family of all runs that are one with others; one pass over the events of its own."""
        links = records.filter("reason IS NULL").mapInArrow(LinkStep(self.settings), LINK).distinct()
        return group_runs((row.key, row.other) for row in fetch_rows(links))

    def _group_records(self, records: DataFrame, group_by_run: dict[str, str]) -> DataFrame:
        """Return the records under the keys of their families."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        groups = self._spark.createDataFrame(sorted(group_by_run.items()), "key string, family string")
        grouped_records = records.join(F.broadcast(groups), "key", "left").withColumn(
            "key", F.coalesce("family", "key")
        )
        return grouped_records.select(*column_names(RECORD))

    def _aggregate_entities(self, repeated_output: DataFrame | None) -> DataFrame:
        from pyspark import StorageLevel  # noqa: PLC0415 - an optional extra

        run_output = self._run_output if repeated_output is None else self._run_output.unionByName(repeated_output)
        pieces = run_output.filter(f"kind = '{PIECE}'").select("key", "entity_urn", "data")
        sorted_pieces = pieces.repartition(self._partitions, "key").sortWithinPartitions("key", "entity_urn")
        return sorted_pieces.mapInArrow(EntityStep(self.settings), STEP_OUTPUT).persist(StorageLevel.DISK_ONLY)

    def _combine_output(self, repeated_output: DataFrame | None) -> DataFrame:
        output = self._entity_output.unionByName(self._run_output)
        # events of runs that were folded twice count once
        return (
            output
            if repeated_output is None
            else output.unionByName(repeated_output.filter(f"kind IN ('{PROPOSAL}', '{REJECTED}')"))
        )


def translate(events: DataFrame, settings: SettingsLike = None, *, partitions: int | None = None) -> DataFrame:
    """Return the proposals of ``events`` (see PROPOSALS). :class:`SparkTranslation` gives bad records and counts as well."""
    return SparkTranslation(events, settings, partitions=partitions).proposals


def collect_cross_run_facts(output: DataFrame) -> tuple[list[bytes], set[str]]:
    """Return what runs say of others, and the keys of those that are to be folded again to hear it (rows of FOUND)."""
    rows = output.filter(f"kind IN ('{CROSS_RUN}', '{UNRESOLVED}')").select("kind", "key", "data").collect()
    witnesses = [bytes(row.data) for row in rows if row.kind == CROSS_RUN]
    repeated_keys = {row.key for row in rows if row.kind == UNRESOLVED}
    repeated_keys.update(urn for run_facts in witnesses for urn in named_run_urns(decode_run(run_facts)[0]))
    return witnesses, repeated_keys


def sum_counts(output: DataFrame) -> Counts:
    """Return the counts among rows of FOUND, added up."""
    counts = Counts()
    for row in output.filter(f"kind = '{COUNTS}'").select("data").collect():
        counts.add(decode_counts(bytes(row.data)))
    return counts


def records_of(
    events: DataFrame, settings: Settings, between: tuple[str | None, str | None] = (None, None)
) -> DataFrame:
    """Return the records (see RECORD) of the events, as they lie."""
    records = events.select("location", "value", "whole").mapInArrow(RecordStep(settings), RECORD)
    for text, operator in zip(between, (">=", "<"), strict=True):
        if text is not None:
            records = records.filter(f"reason IS NOT NULL OR time {operator} {parse_micros(text)}")
    return records


def parse_micros(text: str) -> int:
    """Return the microseconds since 1970 of a time that somebody named."""
    try:
        return parse_time(text, timezone.utc)[0]
    except ValueError as error:
        raise SettingsError(str(error), location="--from, --until", remedy="e.g. 2026-01-31T00:00:00Z") from error


def sort_by_run(records: DataFrame, partitions: int) -> DataFrame:
    """Return records with those of one run side by side."""
    return records.repartition(partitions, "key").sortWithinPartitions("key", "time", "location")


def as_rejected(output: DataFrame) -> DataFrame:
    """Return which of rows of FOUND are proposals of ours that their schema refuses, and why."""
    return output.filter(f"kind = '{REJECTED}'").selectExpr(
        "entity_type", "entity_urn", "aspect_name", "change_type", "aspect AS reason"
    )


def as_proposals(output: DataFrame) -> DataFrame:
    """Return rows of FOUND as proposals (see PROPOSALS)."""
    return output.selectExpr(
        *("entity_type", "entity_urn", "aspect_name", "change_type", "aspect"),
        "timestamp_millis(time) AS timestamp",
        *("run_id", "location"),
    )


def column_names(columns: str) -> list[str]:
    """Return the names of columns that are told as ``name type, …``."""
    return [part.split()[0] for part in columns.split(",")]


def default_partitions(spark: SparkSession) -> int:
    """Return how many parts work is cut into where nobody says: three for each core."""
    return PARTITIONS_PER_CORE * int(spark.sparkContext.defaultParallelism)
