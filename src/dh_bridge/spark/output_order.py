"""The order of proposals in a table: columns that order the rows of batches and streams, and rows sorted by them.

A stream writes changes. So two rows of one aspect have to be applied in the order in which they were written: by the number of
their batch, then by their position in it. Wall time orders different streams and batch jobs that write into one table.
"""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, NamedTuple

from dh_bridge.spark.connect import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ORDER_COLUMNS = "stream_id string, batch long, sequence long, written_at timestamp"
"""``stream_id``: the id of the stream in its checkpoint; ``batch``: its number in the stream; both are null in a batch job.
``sequence``: position among the rows that were written together, ascending, with gaps; ``written_at``: the wall time of the
batch, or of the batch job."""
ORDER_NAMES = tuple(column.split()[0] for column in ORDER_COLUMNS.split(", "))
_ROW_TIME = "_row_time"
_QUERY_ID_PROPERTY, _BATCH_PROPERTY = "sql.streaming.queryId", "streaming.sql.batchId"
"""Spark's local properties in the function for a batch: the id of the stream, which stays the same as long as its checkpoint,
and the number of the batch."""


def stream_id(spark: SparkSession) -> str | None:
    """Return the id of the stream whose batch is being processed; None outside of a stream.

    If Python's threads are not Spark's (``PYSPARK_PIN_THREAD=false``), the id is unknown, so None.
    """
    return None if is_connect(spark) else spark.sparkContext.getLocalProperty(_QUERY_ID_PROPERTY)


def batch_number(spark: SparkSession) -> int | None:
    """Return the number of the stream's batch that is being processed; None where :func:`stream_id` is None."""
    number = None if is_connect(spark) else spark.sparkContext.getLocalProperty(_BATCH_PROPERTY)
    return None if number is None else int(number)


class WriteOrder(NamedTuple):
    """The values of ORDER_COLUMNS that all rows of a batch, or of a batch job, share."""

    stream_id: str | None
    batch: int | None
    written_at: datetime


def write_order(spark: SparkSession, batch: int | None = None) -> WriteOrder:
    """Return the values for rows that are made now; ``batch`` as of :func:`with_order`."""
    return WriteOrder(stream_id(spark), batch_number(spark) if batch is None else batch, datetime.now(timezone.utc))


def with_order(rows: DataFrame, *, batch: int | None = None, order: WriteOrder | None = None) -> DataFrame:
    """Return rows with ORDER_COLUMNS, in their present order; columns that they already have stay.

    Args:
        rows: The rows.
        batch: The number of the stream's batch that they belong to (default: the batch that is being processed).
        order: The values that all rows share (default: those of ``batch`` and of the present time).
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    if order is None:
        order = write_order(rows.sparkSession, batch)
    values = {
        "stream_id": F.lit(order.stream_id).cast("string"),
        "batch": F.lit(order.batch).cast("long"),
        "sequence": F.monotonically_increasing_id(),
        "written_at": F.lit(order.written_at),
    }
    missing_columns = [values[name].alias(name) for name in ORDER_NAMES if name not in rows.columns]
    return rows.select("*", *missing_columns) if missing_columns else rows


def sort_by_entity(rows: DataFrame, partitions: int | None = None, *, leading: str | None = None) -> DataFrame:
    """Return rows with those of an entity adjacent, in one partition, and in the order in which they were written.

    Rows of several streams are ordered by ``written_at``. Within a stream, the number of the batch decides: a clock that goes
    back between two batches changes nothing, because a row counts as written no earlier than those of the batches before.

    Args:
        rows: The rows; ORDER_COLUMNS that they lack are added.
        partitions: The number of partitions (default: Spark's).
        leading: A column that orders the rows of an entity before all others.
    """
    from pyspark.sql import Window  # noqa: PLC0415 - an optional extra
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    ordered_rows = with_order(rows)
    parts = ordered_rows.repartition(partitions, "entity_urn") if partitions else ordered_rows.repartition("entity_urn")
    leading_columns = [leading] if leading else []
    rows_of_stream = Window.partitionBy("entity_urn", *leading_columns, "stream_id").orderBy("batch", "written_at")
    timed_rows = parts.withColumn(_ROW_TIME, F.max("written_at").over(rows_of_stream))
    order = ("entity_urn", *leading_columns, _ROW_TIME, "stream_id", "batch", "sequence")
    return timed_rows.sortWithinPartitions(*order).drop(_ROW_TIME)
