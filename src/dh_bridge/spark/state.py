"""The state of a stream: a folder of Parquet files for each batch, read by later batches.

::

    events/batch=N   the records of batch N                              (key, time, location, raw)
    pieces/batch=N   contributions of the runs of batch N to entities      (key, urn, data, origin)
    told/batch=N     facts of the runs of batch N about other runs       (key, data)
    done/batch=N     all of batch N is written
    done/format=F    the version of the codec that wrote pieces and told; a folder of another version is rejected (state_upgrade.py)
    …/base=N         the merged rows of batches 0 to N; done/base=N marks it as complete

Batch N reads the folders below N and writes its own: a batch that is repeated after a crash reads the same rows and replaces its
own files. Of a continued run, the pieces of its last batch count; those of evicted runs (by the age of their last event) are merged
and have no origin.
"""

from __future__ import annotations

import io
import re
import time
from functools import reduce
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from dh_bridge.partitioned.entities import merge_pieces
from dh_bridge.spark.folder_files import NO_SUCCESS_FILE, into_files
from dh_bridge.spark.hadoop import store_of
from dh_bridge.spark.rows import Row, arrow_schema, rows_of, to_record_batches
from dh_bridge.state_codec.codec import VERSION, StateVersionError, decode_registers, encode_registers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

EVENTS = "key string, time long, location string, raw binary"
PIECES = "key string, urn string, data binary, origin string"
CROSS_RUN_FACTS = "key string, data binary"
TABLES = {"events": EVENTS, "pieces": PIECES, "told": CROSS_RUN_FACTS}
BATCHES_PER_COMPACTION = 20
"""Batches after which their rows are merged into one folder, so that the number of files is limited."""
BYTES_PER_BATCH_FILE = 64 << 20
"""Bytes of the events in a file of a batch."""
BYTES_PER_BASE_FILE = 64 << 20
"""Bytes of a merged Parquet file; a batch reads only the files that may have its runs."""
_MARK_NAME = re.compile(r"(batch|base)=(\d+)\Z")
_FORMAT = "format="
_MICROS_PER_DAY = 86_400_000_000


class StreamState:
    """The state folder of a stream, for batch ``number``.

    Raises:
        StateVersionError: Another version of dh-bridge wrote the folder.
    """

    def __init__(self, spark: SparkSession, folder: str, number: int, *, any_format: bool = False) -> None:
        """``any_format``: only the events are read, which have the same format in all releases."""
        self._spark = spark
        self._folder = folder.rstrip("/")
        self._number = number
        self._is_one_task = False
        self._frames: dict[str, DataFrame] = {}
        self._is_new_folder = not any_format and self._is_new()
        marks = self._read_marks()
        self._base = max((mark_number for mark_kind, mark_number in marks if mark_kind == "base"), default=-1)
        self._earlier_batches = sorted(
            mark_number for mark_kind, mark_number in marks if mark_kind == "batch" and mark_number > self._base
        )

    @property
    def has_earlier_batches(self) -> bool:
        """Whether earlier batches wrote to the folder."""
        return self._base >= 0 or bool(self._earlier_batches)

    def read(self, name: str) -> DataFrame:
        """Return the rows of all earlier batches, with ``batch``, their number."""
        if name not in self._frames:
            self._frames[name] = self._read(name)
        return self.one_task(self._frames[name]) if self._is_one_task else self._frames[name]

    def use_one_task(self, max_bytes: int) -> bool:
        """Read each table in one task from now on if the state has at most ``max_bytes``; return whether it has."""
        size = sum(_estimated_bytes(self.read(name)) for name in TABLES) if self.has_earlier_batches else 0
        self._is_one_task = size <= max_bytes
        return self._is_one_task

    def one_task(self, rows: DataFrame) -> DataFrame:
        """Return the rows in one partition: joins and groups of such rows need no shuffle."""
        return rows.coalesce(1)

    def join_side(self, rows: DataFrame) -> DataFrame:
        """Return the rows for the right side of a join: if tables are read in one task, so that Spark need not broadcast them."""
        return self.one_task(rows).hint("shuffle_hash") if self._is_one_task else rows

    def _read(self, name: str) -> DataFrame:
        columns = f"{TABLES[name]}, batch long"
        base = f"{self._folder}/{name}"
        frames = []
        if self._earlier_batches:
            paths = [f"{base}/batch={number}" for number in self._earlier_batches]
            rows = self._reader(columns).option("basePath", base).parquet(*paths)
            frames.append(rows.select(*arrow_schema(columns).names))
        if self._base >= 0:
            frames.append(self._reader(columns).parquet(f"{base}/base={self._base}"))
        if not frames:  # no part of a union: Spark takes the size of such a frame for huge
            return self._spark.createDataFrame([], columns)
        return reduce(lambda union, frame: union.unionByName(frame), frames)

    def _reader(self, columns: str) -> DataFrameReader:
        # Spark's own option: use the literal name of the folder, also with [ ] { }
        return self._spark.read.schema(columns).option("__globPaths__", "false")

    def valid_pieces(self) -> DataFrame:
        """Return the valid pieces: of each run those of its last batch, and the merged ones of evicted runs."""
        latest = self.join_side(self.latest_batches().withColumnRenamed("key", "origin"))
        pieces = self.read("pieces")
        latest_pieces = pieces.join(latest, ["origin", "batch"], "left_semi").select(*pieces.columns)
        valid_pieces = latest_pieces.unionByName(pieces.filter("origin = ''"))
        return self.one_task(valid_pieces) if self._is_one_task else valid_pieces

    def has_evicted_runs(self) -> bool:
        """Return whether there are contributions of runs whose events were deleted."""
        return bool(self.read("pieces").filter("origin = ''").take(1))

    def latest_batches(self) -> DataFrame:
        """Return the last batch of each run."""
        return self.read("events").groupBy("key").agg({"batch": "max"}).withColumnRenamed("max(batch)", "batch")

    def write(self, name: str, rows: DataFrame, *, file_count: int = 1) -> None:
        """Write the rows of this batch into at most ``file_count`` files, and replace those of an earlier try."""
        self._write_files(into_files(rows, file_count), f"{name}/batch={self._number}")

    def write_empty(self, name: str) -> None:
        """Write a table of this batch that has no rows, and replace that of an earlier try; Spark needs no job for it."""
        store, folder = self._file_system(f"{name}/batch={self._number}")
        store.delete(folder, True)  # noqa: FBT003 - Java's
        buffer = io.BytesIO()
        pq.write_table(arrow_schema(TABLES[name]).empty_table(), buffer)
        stream = store.create(self._file_system(f"{name}/batch={self._number}/part-0.parquet")[1], True)  # noqa: FBT003 - Java's
        try:
            stream.write(bytearray(buffer.getvalue()))
        finally:
            stream.close()

    def _write_files(self, rows: DataFrame, name: str) -> None:
        rows.write.mode("overwrite").options(**NO_SUCCESS_FILE).parquet(f"{self._folder}/{name}")

    def mark_complete(self) -> None:
        """Mark this batch as completely written."""
        if self._is_new_folder:
            self._write_mark(f"{_FORMAT}{VERSION}")
            self._is_new_folder = False
        self._write_mark(f"batch={self._number}")

    def compact(self, retention_days: float | None) -> None:
        """Merge all batches up to this one, which is done, into a base.

        Evict runs whose last event is ``retention_days`` days old.
        """
        from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

        next_state = StreamState(self._spark, self._folder, self._number + 1)
        if next_state._base == self._number:  # this batch is run again: it would read the files that it replaces
            self._delete_compacted()
            return
        events = next_state.read("events")
        retained_runs = events.groupBy("key").agg(F.max("time").alias("last"))
        if retention_days is not None:
            last_time = events.agg(F.max("time").alias("newest")).collect()[0].newest
            newest_time = min(last_time or 0, time.time_ns() // 1000)  # an event of the year 9999 evicts no others
            retained_runs = retained_runs.filter(F.col("last") >= newest_time - int(retention_days * _MICROS_PER_DAY))
        retained_runs = retained_runs.select("key")
        pieces = next_state.valid_pieces()
        origins = retained_runs.withColumnRenamed("key", "origin")
        expired_pieces = pieces.join(origins, "origin", "left_anti").select("key", "urn", "data")
        merged_pieces = (
            expired_pieces.repartition("key")
            .sortWithinPartitions("key")
            .mapInArrow(PieceMerger(), f"{PIECES}, batch long")
        )
        retained_pieces = pieces.join(origins, "origin", "left_semi").select(*merged_pieces.columns)
        cross_run_facts = (
            next_state.read("told")
            .join(next_state.latest_batches(), ["key", "batch"], "left_semi")
            .join(retained_runs, "key", "left_semi")
        )
        for name, rows in (
            ("events", events.join(retained_runs, "key", "left_semi").select(*events.columns)),
            ("pieces", retained_pieces.unionByName(merged_pieces)),
            ("told", cross_run_facts.select("key", "data", "batch")),
        ):
            # sorted: ids of runs begin with their time, so a batch need not read much older ones (`events_of_keys`)
            parts = rows.repartitionByRange(next_state._file_count(name), "key").sortWithinPartitions("key")
            self._write_files(parts, f"{name}/base={self._number}")
        self._write_mark(f"base={self._number}")
        self._delete_compacted()

    def _delete_compacted(self) -> None:
        """Delete the base before this one, and its batches: they cannot be run again."""
        for kind, mark_number in self._read_marks():
            if mark_number <= self._base and not (kind == "base" and mark_number == self._base):
                for name in (*TABLES, "done"):  # the mark last: the files that it names are found again after a crash
                    files, path = self._file_system(f"{name}/{kind}={mark_number}")
                    files.delete(path, True)  # noqa: FBT003

    def _file_count(self, name: str) -> int:
        """Return the number of files for the rows of all earlier batches, by the size of their present files."""
        folders = [f"batch={number}" for number in self._earlier_batches]
        folders += [f"base={self._base}"] if self._base >= 0 else []
        located_folders = [self._file_system(f"{name}/{folder}") for folder in folders]
        size = sum(int(store.getContentSummary(path).getLength()) for store, path in located_folders)
        return max(1, -(-size // BYTES_PER_BASE_FILE))

    def _write_mark(self, mark: str) -> None:
        files, path = self._file_system(f"done/{mark}")
        files.create(path, True).close()  # noqa: FBT003 - Java's

    def _read_marks(self) -> list[tuple[str, int]]:
        """Return ("batch" or "base", number) of the complete earlier batches."""
        marks = map(_MARK_NAME.match, self._mark_names())
        numbered_marks = [(mark[1], int(mark[2])) for mark in marks if mark is not None]
        return [(kind, mark_number) for kind, mark_number in numbered_marks if mark_number < self._number]

    def _is_new(self) -> bool:
        """Return whether no batch has written to the folder; raise an error for the folder of another version."""
        names = self._mark_names()
        if f"{_FORMAT}{VERSION}" in names:
            return False
        formats = [name.replace("=", " ") for name in names if name.startswith(_FORMAT)]
        if formats or any(map(_MARK_NAME.match, names)):
            raise StateVersionError(formats[0] if formats else "a pickle", location=self._folder)
        return True

    def _mark_names(self) -> list[str]:
        """Return the names of the marks."""
        return mark_names(self._spark, self._folder)

    def _file_system(self, name: str) -> tuple[Any, Any]:
        """Return Hadoop's file system and path of a part of the folder."""
        return store_of(self._spark, f"{self._folder}/{name}")


def _estimated_bytes(rows: DataFrame) -> int:
    """Return Spark's estimate of the bytes of rows that files hold."""
    plan: Any = rows._jdf.queryExecution().analyzed()  # noqa: SLF001 - there is no public way
    return int(plan.stats().sizeInBytes())


def mark_names(spark: SparkSession, folder: str) -> list[str]:
    """Return the names of the marks in a state folder."""
    files, path = store_of(spark, f"{folder}/done")
    return [status.getPath().getName() for status in files.listStatus(path)] if files.exists(path) else []


class PieceMerger:
    """(key, urn, data), sorted by key -> PIECES without origin: one piece for each entity."""

    def __call__(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the merged pieces of a part."""
        return to_record_batches(self._rows(record_batches), f"{PIECES}, batch long")

    def _rows(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
        for key, pieces in groupby(rows_of(record_batches), key=itemgetter(0)):
            for urn, registers in merge_pieces((urn, decode_registers(data)) for _, urn, data in pieces).items():
                yield key, urn, encode_registers(registers), "", 0
