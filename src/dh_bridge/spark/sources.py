"""Where events come from: files and folders, tables of any format (topics: topics.py); each as (location, value, whole).

``location`` says where an event stood, ``value`` are its bytes (or those of an array of events), ``whole`` tells that the
value is a file as it lies there, to be unzipped and split by the worker that gets it (null: it is too large for Spark);
``whole`` null, that ``value`` is a part of a local file (files.py), which the worker opens itself.
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
_MAX_PARTITIONS = 2_000  # of more, the shuffle's own books weigh more than the parts
_FILE_FORMATS = ("parquet", "orc", "avro", "json", "csv", "xml", "text")
"""Formats of files, whose columns a stream does not look for itself."""
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
    """Return into how many parts events are to be shuffled.

    Of 32 MB of local files, and three for each core at least; more than 2,000 parts are not made, but larger ones.
    """
    size = unzipped_size(local_paths([paths] if isinstance(paths, str) else paths))
    return max(default_partitions(spark), min(-(-size // _PARTITION_BYTES), _MAX_PARTITIONS))


def frame(events: DataFrame, column: str = "value", *, location: str | Column = "row") -> DataFrame:
    """Return a DataFrame of events, one to a row in ``column`` (string, binary or a struct), as the steps take it.

    ``location`` is a column that says where a row is from, or a word for all of them.
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
    """Return what a folder or table of ``format`` gets as a stream; ``column`` holds the events, as for :func:`read`.

    Columns of files are those of what is there: one file at least. A folder that is there is taken by its name, also one
    with glob characters; below such a one files are taken however deep, and partitions make no columns.
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
    """Return a landing folder as a stream: every new file whole, its gzip and its arrays as :func:`read` takes them.

    Files of any age are new: Spark's own ``maxFileAge`` would pass over those a week older than the newest one, in silence.
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
    # what Spark would break off at is told of by the worker: content that nobody asks for is not read
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
