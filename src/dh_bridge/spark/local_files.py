"""Files of local folders, which the workers write themselves: pyarrow needs a tenth of the CPU time that Spark's own writer needs.

Each task writes one file into a folder that readers skip; then the driver moves the files of the tasks that succeeded.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from dh_bridge.errors import SinkError
from dh_bridge.spark.connect import is_connect
from dh_bridge.spark.folder_files import PART_PREFIX
from dh_bridge.spark.hadoop import store_of
from dh_bridge.spark.rows import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

_WRITTEN = "name string, row_count long"
_ROW_GROUP_BYTES = 32 << 20
_PLAIN_COLUMNS = frozenset({"aspect", "sequence"})
"""Columns whose values rarely repeat: a dictionary of them costs time, and saves no space."""


Conversion: TypeAlias = "Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]"


def local_folder(spark: SparkSession, folder: str) -> Path | None:
    """Return the path of a folder if it is on a local disk; None for a folder of a store, and with Spark Connect."""
    if is_connect(spark):
        return None
    uri = store_of(spark, folder)[1].toUri()
    return Path(uri.getPath()) if uri.getScheme() == "file" else None


def write_local_parquet(rows: DataFrame, folder: Path, convert: Conversion | None = None) -> int:
    """Write each partition of rows into a Parquet file of a local folder, which all workers must see.

    Args:
        rows: The rows.
        folder: The folder; its present files stay.
        convert: What a worker makes of the rows before it writes them.

    Returns:
        The number of rows.

    Raises:
        SinkError: The folder cannot be written.
    """
    staging_folder = folder / f"_{uuid4()}"
    try:
        staging_folder.mkdir(parents=True)
        try:
            files = rows.mapInArrow(_ParquetWriter(str(staging_folder), convert), _WRITTEN).collect()
            for file in files:
                (staging_folder / file.name).rename(folder / file.name)
        finally:
            shutil.rmtree(staging_folder, ignore_errors=True)
    except OSError as error:
        raise SinkError(str(error), location=f"parquet:{folder}", retryable=True) from error
    return sum(file.row_count for file in files)


class _ParquetWriter:
    """The task of a worker: its rows into a file; it yields the name of the file, and the number of rows."""

    def __init__(self, folder: str, convert: Conversion | None = None) -> None:
        self._folder = folder
        self._convert = convert

    def __call__(self, record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the rows of a part; an empty part makes no file."""
        from pyspark import TaskContext  # noqa: PLC0415 - in a worker

        context = TaskContext.get()
        number = context.partitionId() if context is not None else 0
        name = f"{PART_PREFIX}{number:05}-{uuid4()}.snappy.parquet"
        row_count = 0
        writer = None
        batches = record_batches if self._convert is None else self._convert(record_batches)
        for table in _row_groups(batches):
            if writer is None:
                dictionary_columns = [column for column in table.column_names if column not in _PLAIN_COLUMNS]
                writer = pq.ParquetWriter(
                    Path(self._folder, name), table.schema, compression="snappy", use_dictionary=dictionary_columns
                )
            writer.write_table(table)
            row_count += table.num_rows
        if writer is not None:
            writer.close()
            yield pa.RecordBatch.from_arrays([pa.array([name]), pa.array([row_count])], schema=arrow_schema(_WRITTEN))


def _row_groups(record_batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield the rows in tables of _ROW_GROUP_BYTES."""
    pending: list[pa.RecordBatch] = []
    size = 0
    for batch in record_batches:
        if batch.num_rows:
            pending.append(batch)
            size += batch.nbytes
        if size >= _ROW_GROUP_BYTES:
            yield pa.Table.from_batches(pending)
            pending, size = [], 0
    if pending:
        yield pa.Table.from_batches(pending)
