"""A stream of events: after each batch the target holds what one call over all events so far would give.

A run is folded again, from its own events, whenever a batch has more of them; what it contributes to jobs and datasets
replaces what it contributed before. Only what changes is sent.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING

from dh_bridge.replay.families import refuse
from dh_bridge.replay.others import named_runs
from dh_bridge.replay.runs import APART
from dh_bridge.settings.loading import settings_of
from dh_bridge.spark import state as kept
from dh_bridge.spark.changes import AFTER, BEFORE, BOTH
from dh_bridge.spark.rows import FOUND, RECORD
from dh_bridge.spark.stages import PIECE, PROPOSAL, TOLD, ChangeEntities, FoldRuns, Records
from dh_bridge.spark.state import State
from dh_bridge.spark.translation import as_proposals, as_rejected, columns_of, heard, ordered, parts_of
from dh_bridge.translation.state_codec import decode_run, encode_slots

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from dh_bridge.settings import Settings
    from dh_bridge.settings.loading import SettingsLike

#: takes (proposals, bad records, number of the batch); called again with the same number after a crash
Taker = Callable[["DataFrame", "DataFrame", int], None]


def stream(  # noqa: PLR0913 - what a stream needs
    events: DataFrame,
    taker: Taker,
    *,
    checkpoint: str,
    settings: SettingsLike = None,
    partitions: int | None = None,
    every: str | None = None,
    retain: float | None = None,
    rejected: Callable[[DataFrame], None] | None = None,
) -> StreamingQuery:
    """Start to translate a stream of events (of :mod:`dh_bridge.spark.sources`) and return Spark's query.

    ``checkpoint`` holds Spark's offsets and, under ``dh_bridge``, our state; ``every`` is the time between batches
    (``10 seconds``); without it the query takes what there is and ends. A run whose last event is ``retain`` days older than
    the newest one, or than the clock's now if that is earlier, is let go: what it said of jobs and datasets stays, and later
    events of it are a run of their own.
    ``rejected`` gets the proposals of each batch that their schema refuses (columns as of ``Translated.rejected``): they are
    left out, and the others go on.
    """
    chosen = settings_of(settings)
    refuse(chosen)
    folder = f"{checkpoint.rstrip('/')}/dh_bridge"

    def batch(rows: DataFrame, number: int) -> None:
        gc.collect()  # frames of batches before: Py4J leaves them in cycles, and Spark keeps the plans of all that live here
        Batch(rows, number, folder, chosen, partitions=partitions, retain=retain).run(taker, rejected)

    writer = events.writeStream.foreachBatch(batch).option("checkpointLocation", f"{checkpoint.rstrip('/')}/spark")
    writer = writer.trigger(availableNow=True) if every is None else writer.trigger(processingTime=every)
    return writer.start()


_QUERY = "urn:li:query:"
_EMPTY = {"time": "LONG", "place": "STRING", "raw": "BINARY"}


class Batch:
    """One batch of a stream."""

    def __init__(  # noqa: PLR0913 - what a stream needs
        self,
        rows: DataFrame,
        number: int,
        folder: str,
        settings: Settings,
        *,
        partitions: int | None = None,
        retain: float | None = None,
    ) -> None:
        self._spark = rows.sparkSession
        self._settings = settings
        self._number = number
        self._retain = retain
        self._parts = partitions or parts_of(self._spark)
        self._state = State(self._spark, folder, number)
        self._held: list[DataFrame] = []
        found = self._hold(rows.select("place", "value", "whole").mapInArrow(Records(settings), RECORD))
        self._bad = found.filter("reason IS NOT NULL").selectExpr("place", "reason", "raw")
        self._new = found.filter("reason IS NULL").drop("reason")

    def run(
        self,
        taker: Taker,
        rejected: Callable[[DataFrame], None] | None = None,
    ) -> None:
        """Translate, hand the changes to ``taker``, what is told beside them to the others; then remember."""
        state = self._state
        try:
            old = state.read("events")
            touched = self._hold(self._new.select("key").distinct())
            found, redone, named = self._runs(old, touched)
            every = found.unionByName(redone)
            # the runs that are folded anew: those of the batch, and those that others now speak of
            anew = self._hold(touched.unionByName(named).distinct())
            pieces = self._hold(
                every.filter(f"kind = '{PIECE}'").selectExpr("key", "entity_urn AS urn", "data", "place AS origin")
            )
            if self._settings.queries == "on":
                pieces = self._hold(pieces.unionByName(self._taken_back(anew, pieces)))
            changed = self._shared(anew, pieces)
            news = changed.unionByName(every)
            proposals = self._completed(as_proposals(news.filter(f"kind = '{PROPOSAL}'")), old, anew)
            taker(proposals, self._bad, self._number)
            if rejected is not None:
                rejected(as_rejected(news))
            state.write("events", self._new.unionByName(self._again(anew, touched)))
            state.write("pieces", pieces)
            state.write("told", found.filter(f"kind = '{TOLD}'").select("key", "data").unionByName(self._told_before))
            state.done()
            if self._number % kept.COMPACT == kept.COMPACT - 1:
                state.compacted(self._retain)
        finally:
            for frame in self._held:
                frame.unpersist()

    @staticmethod
    def _completed(proposals: DataFrame, old: DataFrame, anew: DataFrame) -> DataFrame:
        """Return the proposals; a CREATE of a run that earlier batches wrote in part is an UPSERT, as it knows all of them."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        earlier = (
            among(old.filter("raw IS NOT NULL"), anew).selectExpr("key AS entity_urn", "true AS continued").distinct()
        )
        continued = (F.col("change_type") == "CREATE") & F.col("continued").isNotNull()
        change = F.when(continued, F.lit("UPSERT")).otherwise(F.col("change_type"))
        joined = proposals.join(few(earlier), "entity_urn", "left")
        return joined.withColumn("change_type", change).select(*proposals.columns)

    def _again(self, anew: DataFrame, touched: DataFrame) -> DataFrame:
        """Return the keys of runs that are folded anew without events of the batch, so that their pieces of now count."""
        silent = anew.join(few(touched), "key", "left_anti")
        nothing = (f"CAST(NULL AS {kind}) AS {name}" for name, kind in _EMPTY.items())
        return silent.selectExpr("key", *nothing)

    def _taken_back(self, anew: DataFrame, pieces: DataFrame) -> DataFrame:
        """Return an empty piece for each query that a run told of and tells of no more: it is removed, until one tells again."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        told = self._state.valid_pieces().filter(f"key LIKE '{_QUERY}%'").select("key", "urn", "origin")
        told = told.join(few(anew.withColumnRenamed("key", "origin")), "origin", "left_semi")
        gone = told.join(pieces.select("key", "origin"), ["key", "origin"], "left_anti")
        return gone.select("key", "urn", F.lit(bytearray(encode_slots({}))).alias("data"), "origin")

    def _runs(self, old: DataFrame, touched: DataFrame) -> tuple[DataFrame, DataFrame, DataFrame]:
        """Return what the runs of the batch come to, what those do that had to hear of others first, and the keys of these."""
        past = old.filter("raw IS NOT NULL").select(*columns_of(kept.EVENTS))
        known = self._new.unionByName(among(past, touched))
        found = self._hold(self._ordered(known).mapInArrow(FoldRuns(self._settings, held=APART), FOUND))
        witnesses, again = heard(found)
        earlier = self._state.read("told").join(self._state.latest(), ["key", "batch"], "left_semi")
        before = earlier.join(few(touched), "key", "left_anti").select("key", "data").collect()
        self._told_before = earlier.limit(0).select("key", "data")
        earlier_targets: set[str] = set()
        through: dict[str, frozenset[str]] = {}
        for row in before:
            told, _ = decode_run(bytes(row.data))
            earlier_targets.update(named_runs(told))
            through[row.key] = told.through
        if earlier_targets:
            mine = touched.filter(touched.key.isin(sorted(earlier_targets))).collect()
            again.update(row.key for row in mine)
        if self._settings.temporary != "keep" and again:  # any run may name what another one calls temporary
            again.update(row.key for row in old.select("key").distinct().collect())
        again |= linked(through, set().union(*(decode_run(told)[0].through for told in witnesses)))
        witnesses += [bytes(row.data) for row in before]
        if not again:
            return found, found.limit(0), touched.limit(0)
        keys = self._spark.createDataFrame([(key,) for key in sorted(again)], "key string")
        records = self._hold(among(self._new.unionByName(past), keys))
        second = FoldRuns(self._settings, witnesses, held=APART)
        redone = self._hold(self._ordered(records).mapInArrow(second, FOUND))
        self._told_before = (
            earlier.join(few(keys), "key", "left_semi").join(few(touched), "key", "left_anti").select("key", "data")
        )
        late = sorted(again)
        first = found.filter(~found.key.isin(late) | (found.kind == TOLD)).filter(
            (found.kind != PIECE) | ~found.place.isin(late)
        )
        return first, redone, records.select("key").distinct()

    def _shared(self, anew: DataFrame, pieces: DataFrame) -> DataFrame:
        """Return the changes of what runs share."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        past = self._state.valid_pieces().drop("batch")
        over = anew.withColumnRenamed("key", "origin").withColumn("over", F.lit(1))
        aged = past.join(few(over), "origin", "left").select(
            "key", "urn", "data", F.when(F.col("over").isNull(), F.lit(BOTH)).otherwise(F.lit(BEFORE)).alias("age")
        )
        groups = pieces.select("key").unionByName(aged.filter(f"age = {BEFORE}").select("key")).distinct()
        both = pieces.select("key", "urn", "data", F.lit(AFTER).alias("age")).unionByName(
            aged.join(few(groups), "key", "left_semi").select("key", "urn", "data", "age")
        )
        parts = both.repartition(self._parts, "key").sortWithinPartitions("key", "urn")
        return self._hold(parts.mapInArrow(ChangeEntities(self._settings), FOUND))

    def _ordered(self, records: DataFrame) -> DataFrame:
        rows = records.selectExpr("key", "time", "place", "raw", "CAST(NULL AS STRING) AS reason")
        return ordered(rows, self._parts)

    def _hold(self, frame: DataFrame) -> DataFrame:
        from pyspark import StorageLevel  # noqa: PLC0415 - an optional extra

        self._held.append(frame.persist(StorageLevel.DISK_ONLY))
        return self._held[-1]


def linked(named: Mapping[str, AbstractSet[str]], datasets: set[str]) -> set[str]:
    """Return the keys of the runs that name one of ``datasets``, or another one that a run so found names; ``named``: by key."""
    found: set[str] = set()
    while fresh := {key for key, own in named.items() if key not in found and own & datasets}:
        found |= fresh
        datasets = datasets.union(*(named[key] for key in fresh))
    return found


def among(events: DataFrame, keys: DataFrame) -> DataFrame:
    """Return the events of the keys; of sorted files only those parts are read where one of them can be."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    ((first, last),) = keys.agg(F.min("key"), F.max("key")).collect()
    return events.filter(events.key.between(first or "", last or "")).join(few(keys), "key", "left_semi")


def few(keys: DataFrame) -> DataFrame:
    """Return the keys of a batch marked as few: they are sent to where the history lies, instead of shuffling that."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    return F.broadcast(keys)
