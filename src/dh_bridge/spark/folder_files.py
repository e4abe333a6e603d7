"""Folders that Spark writes: few files, by the size of their rows, and the files of a stream's batch exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.errors import SinkError
from dh_bridge.spark.hadoop import store_of
from dh_bridge.spark.stores import escape_glob

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

BYTES_PER_FILE = 256 << 20
"""Bytes of the JSON texts in a file of proposals: some 20 MB as Parquet. One task writes a file, so larger ones would take minutes."""
NO_SUCCESS_FILE = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}
"""Hadoop's option: an empty file _SUCCESS in each folder of a batch would double the number of files."""
PART_PREFIX = "part-"
_BATCH_DIGITS = 10
"""Digits of the number of a batch in names of files, so that sorting the names sorts the batches."""


class RowStats(NamedTuple):
    """The number of rows, and the bytes of the column that is most of their size."""

    row_count: int
    size: int

    def file_count(self, bytes_per_file: int = BYTES_PER_FILE) -> int:
        """Return the number of files for the rows."""
        return max(1, -(-self.size // bytes_per_file))


def row_stats(rows: DataFrame, column: str) -> RowStats:
    """Count rows, and the bytes of their ``column``; this computes the rows."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    ((row_count, size),) = rows.agg(F.count(F.lit(1)), F.sum(F.octet_length(column))).collect()
    return RowStats(row_count, size or 0)


def into_files(rows: DataFrame, count: int) -> DataFrame:
    """Return the rows in at most ``count`` partitions, each of which becomes a file."""
    return rows.coalesce(count)


def write_batch_files(
    rows: DataFrame, folder: str, *, stream: str, batch: int, write: Callable[[DataFrame, str], int]
) -> int:
    """Write the files of a stream's batch into ``folder``, and replace those of an earlier attempt.

    The files are ``part-STREAM-BATCH-…``. ``write`` writes them into a folder that readers skip, and returns the number of rows;
    then they are moved.

    Returns:
        The number of rows.

    Raises:
        SinkError: A file cannot be moved.
    """
    spark = rows.sparkSession
    base = folder.rstrip("/")
    store, _ = store_of(spark, folder)
    file_prefix = f"{base}/{PART_PREFIX}{stream}-{batch:0{_BATCH_DIGITS}}-"
    staging_folder = f"{base}/_{stream}-{batch}"
    staging_path = store_of(spark, staging_folder)[1]
    store.delete(staging_path, True)  # noqa: FBT003 - Java's
    row_count = write(rows, staging_folder)
    for stale_file in store.globStatus(store_of(spark, f"{escape_glob(file_prefix)}*")[1]) or ():
        store.delete(stale_file.getPath(), False)  # noqa: FBT003 - Java's
    for file in store.listStatus(staging_path):
        name = file.getPath().getName()
        if not name.startswith(PART_PREFIX):
            continue
        final_path = store_of(spark, file_prefix + name.removeprefix(PART_PREFIX))[1]
        if not store.rename(file.getPath(), final_path):
            raise SinkError(
                f"cannot move the file to {final_path}", location=f"{staging_folder}/{name}", retryable=True
            )
    store.delete(staging_path, True)  # noqa: FBT003 - Java's
    return row_count
