"""Rows between the steps: their schemas for Spark and for Arrow, and batches of bounded size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dh_bridge.errors import SettingsError
from dh_bridge.spark.connect import is_connect

try:
    import pyarrow as pa
except ModuleNotFoundError as missing:  # an optional extra
    raise SettingsError(
        "pyarrow is not installed", location="spark", remedy="pip install 'dh-bridge[spark]'"
    ) from missing
except ImportError as broken:  # such as 26 beside NumPy 1, which pip lets be
    raise SettingsError(
        f"cannot import pyarrow: {broken}", location="spark", remedy="pip install -U numpy pyarrow"
    ) from broken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame
    from pyspark.sql import Row as SparkRow

Row = tuple[Any, ...]

#: An event on its way to its run; ``reason`` has the reason if it cannot be used, else null.
RECORD = "key string, time long, location string, raw binary, reason string"
#: A run, and another run of its family
LINK = "key string, other string"
#: A result of a step, by ``kind``: a pack of proposals with their number and the bytes of their JSON texts, a piece of a shared entity, facts
#: about other runs, counts …
STEP_OUTPUT = (
    "kind string, key string, entity_type string, entity_urn string, aspect_name string, change_type string,"
    " reason string, location string, data binary, row_count long, size long"
)
_TYPES = {
    "string": pa.string(),
    "long": pa.int64(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
}

MAX_BATCH_ROWS = 2_000
MAX_BATCH_BYTES = 8 << 20
"""A batch ends at either bound, so that memory stays flat for events of any size."""


def arrow_schema(columns: str) -> pa.Schema:
    """Return the Arrow schema of columns in Spark's words: ``name type`` or ``name type NOT NULL``, separated by commas."""
    fields = (part.split() for part in columns.split(","))
    return pa.schema([pa.field(name, _TYPES[kind], nullable=not words) for name, kind, *words in fields])


def rows_of(record_batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """Yield the rows of Arrow batches."""
    for batch in record_batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def fetch_rows(frame: DataFrame, *, prefetch: bool = False) -> Iterator[SparkRow]:
    """Yield the rows of a frame in the driver, partition by partition; ``prefetch``: the next one is computed meanwhile.

    As an RDD, except with Spark Connect: the jobs of ``DataFrame.toLocalIterator`` run after their query has ended, and Spark 4 then keeps them, with all
    that they refer to, for as long as it lives.
    """
    if is_connect(frame.sparkSession):
        return frame.toLocalIterator(prefetchPartitions=prefetch)
    return frame.rdd.toLocalIterator(prefetchPartitions=prefetch)


def to_record_batches(rows: Iterable[Row], columns: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows as Arrow batches."""
    schema = arrow_schema(columns)
    sized_columns = [number for number, field in enumerate(schema) if field.type in (pa.string(), pa.binary())]
    batch_rows: list[Row] = []
    size = 0
    for row in rows:
        batch_rows.append(row)
        for number in sized_columns:
            if cell := row[number]:
                size += len(cell)
        if len(batch_rows) >= MAX_BATCH_ROWS or size >= MAX_BATCH_BYTES:
            yield _batch(batch_rows, schema)
            batch_rows, size = [], 0
    if batch_rows:
        yield _batch(batch_rows, schema)


def _batch(rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays(
        [to_array(list(column), field.type) for column, field in zip(columns, schema, strict=True)], schema=schema
    )


def to_array(values: list[Any], data_type: pa.DataType) -> pa.Array:
    """Return values as an array of Arrow."""
    try:
        return pa.array(values, data_type)
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON allows and UTF-8 does not
        return pa.array(
            [None if value is None else value.encode("utf-8", "replace").decode() for value in values], data_type
        )
