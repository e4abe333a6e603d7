"""What a stream remembers: a folder of Parquet files for each batch, read by those that come after it.

::

    events/<batch>   the records of the batch                            (key, time, place, raw)
    pieces/<batch>   what the runs of the batch contribute to entities   (key, urn, data, origin)
    told/<batch>     what the runs of the batch say of other runs        (key, data)

Batch N reads the folders below N and writes those of N: a batch that is run again after a crash reads what it read before and
writes over what it wrote. Of a run that goes on, the pieces of its last batch count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS = "key string, time long, place string, raw binary"
PIECES = "key string, urn string, data binary, origin string"
TOLD = "key string, data binary"


class State:
    """The state folder of a stream, as batch ``number`` sees it."""

    def __init__(self, spark: SparkSession, folder: str, number: int) -> None:
        self._spark = spark
        self._folder = folder.rstrip("/")
        self._number = number
        self._before = self._batches()

    def read(self, name: str, columns: str) -> DataFrame:
        """Return the rows of all earlier batches, with ``batch``, their number."""
        found = self._spark.createDataFrame([], f"{columns}, batch long")
        if self._before:
            base = f"{self._folder}/{name}"
            paths = [f"{base}/batch={number}" for number in self._before]
            rows = self._spark.read.schema(f"{columns}, batch long").option("basePath", base).parquet(*paths)
            found = rows.select(*found.columns)
        return found

    def write(self, name: str, rows: DataFrame) -> None:
        """Write the rows of this batch, in place of what an earlier try may have left."""
        rows.write.mode("overwrite").parquet(f"{self._folder}/{name}/batch={self._number}")

    def done(self) -> None:
        """Note that all of this batch is written."""
        self._spark.createDataFrame([(self._number,)], "batch long").coalesce(1).write.mode("overwrite").parquet(
            f"{self._folder}/done/batch={self._number}"
        )

    def _batches(self) -> list[int]:
        """Return the numbers of the earlier batches whose folders are whole."""
        jvm: Any = self._spark.sparkContext._jvm  # noqa: SLF001 - Spark's own way to Hadoop's file systems
        conf: Any = self._spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - as above
        path = jvm.org.apache.hadoop.fs.Path(f"{self._folder}/done")
        files = path.getFileSystem(conf)
        if not files.exists(path):
            return []
        names = [status.getPath().getName() for status in files.listStatus(path)]
        numbers = [int(name.partition("=")[2]) for name in names if name.startswith("batch=")]
        return sorted(number for number in numbers if number < self._number)
