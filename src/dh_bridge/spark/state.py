"""What a stream remembers: a folder of Parquet files for each batch, read by those that come after it.

::

    events/batch=N   the records of batch N                              (key, time, place, raw)
    pieces/batch=N   what the runs of batch N contribute to entities     (key, urn, data, origin)
    told/batch=N     what the runs of batch N say of other runs          (key, data)
    done/batch=N     all of batch N is written
    done/format=F    the version of the codec that wrote pieces and told; a folder of another version is refused
    …/base=N         what batches 0 to N left, in one; done/base=N says that it is whole

Batch N reads what is below N and writes its own: a batch that is run again after a crash reads what it read before and writes
over what it wrote. Of a run that goes on, the pieces of its last batch count; those of a run that was let go (by the age of its
last event) are folded together and have no origin.
"""

from __future__ import annotations

import re
import time
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from dh_bridge.replay.entities import gather
from dh_bridge.spark.rows import Row, batches, rows_of
from dh_bridge.spark.stores import store_of
from dh_bridge.translation.state_codec import VERSION, StateVersionError, decode_slots, encode_slots

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

EVENTS = "key string, time long, place string, raw binary"
PIECES = "key string, urn string, data binary, origin string"
TOLD = "key string, data binary"
TABLES = {"events": EVENTS, "pieces": PIECES, "told": TOLD}
COMPACT = 20
"""Batches after which what was written is made one, so that the number of files stays small."""
_MARK = re.compile(r"(batch|base)=(\d+)\Z")
_FORMAT = "format="
_DAY = 86_400_000_000


class State:
    """The state folder of a stream, as batch ``number`` sees it.

    Raises:
        StateVersionError: Another version of dh-bridge wrote the folder.
    """

    def __init__(self, spark: SparkSession, folder: str, number: int) -> None:
        self._spark = spark
        self._folder = folder.rstrip("/")
        self._number = number
        self._new = self._is_new()
        marks = self._marks()
        self._base = max((at for kind, at in marks if kind == "base"), default=-1)
        self._before = sorted(at for kind, at in marks if kind == "batch" and at > self._base)

    def read(self, name: str) -> DataFrame:
        """Return the rows of all earlier batches, with ``batch``, their number."""
        columns = f"{TABLES[name]}, batch long"
        found = self._spark.createDataFrame([], columns)
        base = f"{self._folder}/{name}"
        if self._before:
            paths = [f"{base}/batch={number}" for number in self._before]
            rows = self._reader(columns).option("basePath", base).parquet(*paths)
            found = rows.select(*found.columns)
        if self._base >= 0:
            found = found.unionByName(self._reader(columns).parquet(f"{base}/base={self._base}"))
        return found

    def _reader(self, columns: str) -> DataFrameReader:
        # Spark's own option: the folder is what it is, also with [ ] { } in its name
        return self._spark.read.schema(columns).option("__globPaths__", "false")

    def valid_pieces(self) -> DataFrame:
        """Return the pieces that count: of each run those of its last batch, and of those let go what they left."""
        latest = self.latest().withColumnRenamed("key", "origin")
        pieces = self.read("pieces")
        own = pieces.join(latest, ["origin", "batch"], "left_semi").select(*pieces.columns)
        return own.unionByName(pieces.filter("origin = ''"))

    def latest(self) -> DataFrame:
        """Return the last batch of each run."""
        return self.read("events").groupBy("key").agg({"batch": "max"}).withColumnRenamed("max(batch)", "batch")

    def write(self, name: str, rows: DataFrame) -> None:
        """Write the rows of this batch, in place of what an earlier try may have left."""
        rows.write.mode("overwrite").parquet(f"{self._folder}/{name}/batch={self._number}")

    def done(self) -> None:
        """Note that all of this batch is written."""
        if self._new:
            self._note(f"{_FORMAT}{VERSION}")
            self._new = False
        self._note(f"batch={self._number}")

    def compacted(self, retain: float | None) -> None:
        """Make one of all batches up to this one, which is done; let go of runs whose last event is ``retain`` days old."""
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        now = State(self._spark, self._folder, self._number + 1)
        if now._base == self._number:  # this batch is run again: what would be read is what would be written over
            self._forget()
            return
        events = now.read("events")
        held = events.groupBy("key").agg(F.max("time").alias("last"))
        if retain is not None:
            last = events.agg(F.max("time").alias("newest")).collect()[0].newest
            newest = min(last or 0, time.time_ns() // 1000)  # an event of the year 9999 lets go of no others
            held = held.filter(F.col("last") >= newest - int(retain * _DAY))
        held = held.select("key")
        pieces = now.valid_pieces()
        origins = held.withColumnRenamed("key", "origin")
        gone = pieces.join(origins, "origin", "left_anti").select("key", "urn", "data")
        left = gone.repartition("key").sortWithinPartitions("key").mapInArrow(MergePieces(), f"{PIECES}, batch long")
        mine = pieces.join(origins, "origin", "left_semi").select(*left.columns)
        told = now.read("told").join(now.latest(), ["key", "batch"], "left_semi").join(held, "key", "left_semi")
        for name, rows in (
            # sorted: ids of runs begin with their time, so that a batch need not read what is far behind it (`among`)
            ("events", events.join(held, "key", "left_semi").select(*events.columns).sortWithinPartitions("key")),
            ("pieces", mine.unionByName(left)),
            ("told", told.select("key", "data", "batch")),
        ):
            rows.write.mode("overwrite").parquet(f"{self._folder}/{name}/base={self._number}")
        self._note(f"base={self._number}")
        self._forget()

    def _forget(self) -> None:
        """Remove what the base before this one made one: the batches up to it can not be run again."""
        for kind, at in self._marks():
            if at <= self._base and not (kind == "base" and at == self._base):
                for name in (*TABLES, "done"):  # the mark last: what it names is found again after a crash
                    files, path = self._files(f"{name}/{kind}={at}")
                    files.delete(path, True)  # noqa: FBT003

    def _note(self, mark: str) -> None:
        whole = self._spark.createDataFrame([(mark,)], "mark string").coalesce(1)
        whole.write.mode("overwrite").parquet(f"{self._folder}/done/{mark}")

    def _marks(self) -> list[tuple[str, int]]:
        """Return ("batch" or "base", number) of what is whole, of earlier batches."""
        marks = map(_MARK.match, self._names())
        found = [(mark[1], int(mark[2])) for mark in marks if mark is not None]
        return [(kind, at) for kind, at in found if at < self._number]

    def _is_new(self) -> bool:
        """Return whether no batch has written to the folder; refuse the folder of another version."""
        names = self._names()
        if f"{_FORMAT}{VERSION}" in names:
            return False
        formats = [name.replace("=", " ") for name in names if name.startswith(_FORMAT)]
        if formats or any(map(_MARK.match, names)):
            raise StateVersionError(formats[0] if formats else "a pickle", where=self._folder)
        return True

    def _names(self) -> list[str]:
        """Return the names of the marks."""
        files, path = self._files("done")
        return [status.getPath().getName() for status in files.listStatus(path)] if files.exists(path) else []

    def _files(self, name: str) -> tuple[Any, Any]:
        """Return Hadoop's file system and path of a part of the folder."""
        return store_of(self._spark, f"{self._folder}/{name}")


class MergePieces:
    """(key, urn, data), sorted by key -> PIECES without origin: one piece for each entity."""

    def __call__(self, found: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the merged pieces of a part."""
        return batches(self._rows(found), f"{PIECES}, batch long")

    def _rows(self, found: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        for key, pieces in groupby(rows_of(found), key=itemgetter(0)):
            for urn, slots in gather((urn, decode_slots(data)) for _, urn, data in pieces).items():
                yield key, urn, encode_slots(slots), "", 0
