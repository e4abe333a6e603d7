"""Sources of events: files and folders, tables of any format (topics: topics.py); each as (location, value, whole).

``location`` is where the event was read, ``value`` are its bytes (or those of an array of events), ``whole`` means that the
value is a whole file, which the worker decompresses and splits (null value: too large for Spark); with ``whole`` null,
``value`` is a part of a local file (files.py), which the worker opens itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.errors import SettingsError
from dh_bridge.spark.files import encode_parts, local_paths, unzipped_size
from dh_bridge.spark.stores import (
    NO_DUPLICATES,
    as_pattern,
    landing_pattern,
    max_content_bytes,
    plain_path,
    read_stored_files,
)
from dh_bridge.spark.translation import default_partitions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

_MAX_TASKS = 64
_PARTITION_BYTES = 32 << 20  # parts of 128 MB took 0.6 GB more of the JVM, and were not faster
_MAX_PARTITIONS = 2_000  # with more parts, the shuffle's own bookkeeping is larger than the parts
_FILE_FORMATS = ("parquet", "orc", "avro", "json", "csv", "xml", "text")
"""File formats whose columns a stream does not infer itself."""
_MAX_FILE_AGE = "36500d"
_MICROSECOND_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"


def read(
    spark: SparkSession,
    paths: str | Sequence[str],
    *,
    format: str | None = None,  # noqa: A002 - Spark's word
    column: str = "value",
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the events of files and folders, or of a table that the session reads with ``format``.

    Without a format, ``paths`` hold JSON lines, arrays or single events, gzipped or not. With one (``delta``, ``parquet``,
    ``text`` …, ``table`` for names in the catalog), ``column`` holds an event, or an array of them, in each row.
    """
    names = [paths] if isinstance(paths, str) else list(paths)
    if format is None:
        return _read_files(spark, names)
    if format == "table":
        tables = [spark.read.options(**dict(options or {})).table(name) for name in names]
        frames = [frame(table, column, location=name) for table, name in zip(tables, names, strict=True)]
    else:
        patterns = [as_pattern(spark, name) for name in names] if format.lower() in _FILE_FORMATS else names
        loaded = spark.read.format(format).options(**dict(options or {})).load(patterns)
        frames = [frame(loaded, column, location=format)]
    events = frames[0]
    for part in frames[1:]:
        events = events.unionByName(part)
    return events


def partitions_for(spark: SparkSession, paths: str | Sequence[str]) -> int:
    """Return the number of parts for the shuffle of events.

    Parts of 32 MB of local files, and at least three for each core; at most 2,000 parts, which are then larger.
    """
    size = unzipped_size(local_paths([paths] if isinstance(paths, str) else paths))
    return max(default_partitions(spark), min(-(-size // _PARTITION_BYTES), _MAX_PARTITIONS))


def frame(events: DataFrame, column: str = "value", *, location: str | Column = "row") -> DataFrame:
    """Return a DataFrame of events, one to a row in ``column`` (string, binary or a struct).

    In the form that the steps read.

    ``location`` is a column with the location of a row, or one text for all of them.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    if column not in events.columns:
        raise SettingsError(
            f"unknown column {column!r}; the columns are {', '.join(events.columns)}",
            location="--column",
            remedy="pass the column that contains the events",
        )
    kind = events.schema[column].dataType.typeName()
    value: Column = F.col(f"`{column}`")
    if kind == "string":
        value = value.cast("binary")  # one invalid byte in a string would end the task
    elif kind == "struct":  # Spark's own form of times stops at milliseconds
        times = {"timestampFormat": f"{_MICROSECOND_FORMAT}ZZZZZ", "timestampNTZFormat": _MICROSECOND_FORMAT}
        value = F.to_json(value, times).cast("binary")
    elif kind != "binary":
        raise SettingsError(
            f"column {column!r} has the type {kind}",
            location="--column",
            remedy="use a column of type string, binary or struct",
        )
    if isinstance(location, str):
        # the rows of a stream have no numbers
        row = F.lower(F.hex(F.xxhash64(value))) if events.isStreaming else F.monotonically_increasing_id()
        location = F.concat(F.lit(f"{location}["), row, F.lit("]"))
    return events.select(location.alias("location"), value.alias("value"), F.lit(False).alias("whole"))  # noqa: FBT003


def stream_rows(
    spark: SparkSession,
    name: str,
    *,
    format: str,  # noqa: A002 - Spark's word
    column: str = "value",
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return new rows of a folder or table of ``format`` as a stream; ``column`` holds the events, as for :func:`read`.

    Columns are those of the present files, so at least one must exist. An existing folder is used by its literal name, also
    with glob characters; files below it are read at any depth, and partitions make no columns.
    """
    reader_options = dict(options or {})
    reader = spark.readStream.options(**reader_options)
    if format == "table":
        return frame(reader.table(name), column, location=name)
    path = name
    if format.lower() in _FILE_FORMATS:
        path = as_pattern(spark, name)
        if path != name:
            reader_options = {**NO_DUPLICATES, **reader_options}
        existing = spark.read.format(format).options(**reader_options).load(path)
        reader = reader.options(**{"maxFileAge": _MAX_FILE_AGE, **reader_options}).schema(existing.schema)
    return frame(reader.format(format).load(path), column, location=format)


def stream_files(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> DataFrame:
    """Return a landing folder as a stream: every new file whole; gzip and arrays are read as :func:`read` does.

    Files of any age are new: Spark's own ``maxFileAge`` would skip those that are a week older than the newest one, without a
    message.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    schema = "path string, modificationTime timestamp, length long, content binary"
    reader_options = {**NO_DUPLICATES, "maxFileAge": _MAX_FILE_AGE, **(options or {})}
    pattern, is_event_file = landing_pattern(spark, path)
    files = (
        spark.readStream.format("binaryFile")
        .schema(schema)
        .options(**reader_options)
        .load(pattern)
        .filter(is_event_file)
    )
    # Spark would fail for such files; the worker reports them: content that is not requested is not read
    max_bytes = max_content_bytes(spark)
    contents = (
        (F.col("length") <= max_bytes, F.col("content")),
        (F.col("length") > max_bytes, F.lit(None).cast("binary")),
    )
    small, large = (
        files.filter(size).select(plain_path().alias("location"), value.alias("value"), F.lit(True).alias("whole"))  # noqa: FBT003
        for size, value in contents
    )
    return small.unionByName(large)


def _read_files(spark: SparkSession, paths: list[str]) -> DataFrame:
    local = local_paths(paths)
    remote = [path for path in paths if path not in local]
    parts = ([_read_local_files(spark, local)] if local else []) + (
        [read_stored_files(spark, remote)] if remote else []
    )
    events = parts[0]
    for part in parts[1:]:
        events = events.unionByName(part)
    return events


def _read_local_files(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Return local files as parts, ``whole`` null: workers open them, as ``dh-bridge emit`` does."""
    rows = [(*part, None) for part in encode_parts(paths, default_partitions(spark))]
    parts = spark.createDataFrame(rows, "location string, value binary, whole boolean")
    return parts.repartition(max(1, min(len(rows), _MAX_TASKS)))
