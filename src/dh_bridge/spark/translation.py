"""A DataFrame of events into DataFrames of proposals, bad records and counts."""

from __future__ import annotations

from datetime import timezone
from typing import TYPE_CHECKING

from dh_bridge.errors import SettingsError
from dh_bridge.openlineage.times import instant
from dh_bridge.replay.families import cause, families
from dh_bridge.replay.others import named_runs
from dh_bridge.session import Counts
from dh_bridge.settings.loading import settings_of
from dh_bridge.spark.rows import FOUND, LINK, RECORD, fetched
from dh_bridge.spark.stages import (
    BAD,
    COUNTS,
    OPEN,
    PIECE,
    PROPOSAL,
    REJECTED,
    TOLD,
    FindLinks,
    FoldEntities,
    FoldRuns,
    Records,
    counts_of,
)
from dh_bridge.translation.state_codec import decode_run

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dh_bridge.settings import Settings
    from dh_bridge.settings.loading import SettingsLike

PROPOSALS = (
    "entity_type string, entity_urn string, aspect_name string, change_type string, aspect string, timestamp timestamp,"
    " run_id string, place string"
)
"""Columns of proposals. ``aspect``: its JSON (the list of operations of a PATCH); of what one run says: ``timestamp`` of its
last event, ``run_id`` of OpenLineage, ``place`` where that event stood; null for what many runs share."""
BAD_RECORDS = "place string, reason string, raw binary"
"""Columns of bad records: where it stood, why it cannot be used, the event as it came."""

PARTS_PER_CORE = 3


class Translated:
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
        self._parts = partitions or parts_of(self._spark)
        self._runs, redone = self._folded(events)
        self._shared = self._shares(redone)
        self._held = [frame for frame in (self._runs, redone, self._shared) if frame is not None]
        self._found = self._all(redone)

    @property
    def proposals(self) -> DataFrame:
        """The proposals (see PROPOSALS), of what runs share first."""
        return as_proposals(self._found.filter(f"kind = '{PROPOSAL}'"))

    @property
    def bad_records(self) -> DataFrame:
        """The events that cannot be used (see BAD_RECORDS)."""
        return self._runs.filter(f"kind = '{BAD}'").selectExpr("place", "aspect AS reason", "data AS raw")

    @property
    def rejected(self) -> DataFrame:
        """The proposals that were left out as their schema refuses them: our fault, the others go on."""
        return as_rejected(self._found)

    def counts(self) -> Counts:
        """Return the counts: events are those that were translated; together with the dead ones they are all that came."""
        counts = total(self._found)
        counts.proposals = self._found.filter(f"kind = '{PROPOSAL}'").count()
        counts.rejected = self._found.filter(f"kind = '{REJECTED}'").count()
        return counts

    def close(self) -> None:
        """Forget what was folded; the DataFrames are of no more use."""
        for frame in self._held:
            frame.unpersist()

    def _folded(self, events: DataFrame) -> tuple[DataFrame, DataFrame | None]:
        """Return what all runs come to, and what those do that had to hear of others first."""
        from pyspark import StorageLevel  # noqa: PLC0415 - an optional extra

        records = records_of(events, self.settings, self._between)
        family = self._families(records) if cause(self.settings) else {}
        if family:
            records = self._by_family(records, family)
        records = ordered(records, self._parts)
        found = records.mapInArrow(FoldRuns(self.settings), FOUND).persist(StorageLevel.DISK_ONLY)
        witnesses, named = heard(found)
        again = {family.get(key, key) for key in named}
        if not again:
            return found, None
        keys = self._spark.createDataFrame([(key,) for key in sorted(again)], "key string")
        second = FoldRuns(self.settings, witnesses)
        # sorted behind the join, which may shuffle again
        anew = ordered(records.join(keys, "key", "left_semi").select(*columns_of(RECORD)), self._parts)
        redone = anew.mapInArrow(second, FOUND).persist(StorageLevel.DISK_ONLY)
        replaced = (found.key == keys.key) & found.kind.isin(PROPOSAL, REJECTED)
        return found.join(keys, replaced, "left_anti"), redone

    def _families(self, records: DataFrame) -> dict[str, str]:
        """Return run -> family of all runs that are one with others; one pass over the events of its own."""
        links = records.filter("reason IS NULL").mapInArrow(FindLinks(self.settings), LINK).distinct()
        return families((row.key, row.other) for row in fetched(links))

    def _by_family(self, records: DataFrame, family: dict[str, str]) -> DataFrame:
        """Return the records under the keys of their families."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        known = self._spark.createDataFrame(sorted(family.items()), "key string, family string")
        joined = records.join(F.broadcast(known), "key", "left").withColumn("key", F.coalesce("family", "key"))
        return joined.select(*columns_of(RECORD))

    def _shares(self, redone: DataFrame | None) -> DataFrame:
        from pyspark import StorageLevel  # noqa: PLC0415 - an optional extra

        every = self._runs if redone is None else self._runs.unionByName(redone)
        pieces = every.filter(f"kind = '{PIECE}'").select("key", "entity_urn", "data")
        sorted_pieces = pieces.repartition(self._parts, "key").sortWithinPartitions("key", "entity_urn")
        return sorted_pieces.mapInArrow(FoldEntities(self.settings), FOUND).persist(StorageLevel.DISK_ONLY)

    def _all(self, redone: DataFrame | None) -> DataFrame:
        found = self._shared.unionByName(self._runs)
        # events of runs that were folded twice count once
        return found if redone is None else found.unionByName(redone.filter(f"kind IN ('{PROPOSAL}', '{REJECTED}')"))


def translate(events: DataFrame, settings: SettingsLike = None, *, partitions: int | None = None) -> DataFrame:
    """Return the proposals of ``events`` (see PROPOSALS). :class:`Translated` gives bad records and counts as well."""
    return Translated(events, settings, partitions=partitions).proposals


def heard(found: DataFrame) -> tuple[list[bytes], set[str]]:
    """Return what runs say of others, and the keys of those that are to be folded again to hear it (rows of FOUND)."""
    said = found.filter(f"kind IN ('{TOLD}', '{OPEN}')").select("kind", "key", "data").collect()
    witnesses = [bytes(row.data) for row in said if row.kind == TOLD]
    again = {row.key for row in said if row.kind == OPEN}
    again.update(urn for told in witnesses for urn in named_runs(decode_run(told)[0]))
    return witnesses, again


def total(found: DataFrame) -> Counts:
    """Return the counts among rows of FOUND, added up."""
    counts = Counts()
    for row in found.filter(f"kind = '{COUNTS}'").select("data").collect():
        counts.add(counts_of(bytes(row.data)))
    return counts


def records_of(
    events: DataFrame, settings: Settings, between: tuple[str | None, str | None] = (None, None)
) -> DataFrame:
    """Return the records (see RECORD) of the events, as they lie."""
    records = events.select("place", "value", "whole").mapInArrow(Records(settings), RECORD)
    for text, sign in zip(between, (">=", "<"), strict=True):
        if text is not None:
            records = records.filter(f"reason IS NOT NULL OR time {sign} {moment(text)}")
    return records


def moment(text: str) -> int:
    """Return the microseconds since 1970 of a time that somebody named."""
    try:
        return instant(text, timezone.utc)[0]
    except ValueError as error:
        raise SettingsError(str(error), where="--from, --until", now="e.g. 2026-01-31T00:00:00Z") from error


def ordered(records: DataFrame, partitions: int) -> DataFrame:
    """Return records with those of one run side by side."""
    return records.repartition(partitions, "key").sortWithinPartitions("key", "time", "place")


def as_rejected(found: DataFrame) -> DataFrame:
    """Return which of rows of FOUND are proposals of ours that their schema refuses, and why."""
    return found.filter(f"kind = '{REJECTED}'").selectExpr(
        "entity_type", "entity_urn", "aspect_name", "change_type", "aspect AS reason"
    )


def as_proposals(found: DataFrame) -> DataFrame:
    """Return rows of FOUND as proposals (see PROPOSALS)."""
    return found.selectExpr(
        *("entity_type", "entity_urn", "aspect_name", "change_type", "aspect"),
        "timestamp_millis(time) AS timestamp",
        *("run_id", "place"),
    )


def columns_of(columns: str) -> list[str]:
    """Return the names of columns that are told as ``name type, …``."""
    return [part.split()[0] for part in columns.split(",")]


def parts_of(spark: SparkSession) -> int:
    """Return how many parts work is cut into where nobody says: three for each core."""
    return PARTS_PER_CORE * int(spark.sparkContext.defaultParallelism)
