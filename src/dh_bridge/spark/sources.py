"""Where events come from: files and folders, tables of any format (topics: topics.py); each as (place, value, whole).

``place`` says where an event stood, ``value`` are its bytes (or those of an array of events), ``whole`` tells that the
value is a file as it lies there, to be unzipped and split by the worker that gets it (null: it is too large for Spark);
``whole`` null, that ``value`` is a part of a local file (files.py), which the worker opens itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.errors import SettingsError
from dh_bridge.spark.files import local_ones, packed_parts, unzipped_size
from dh_bridge.spark.stores import EACH_ONCE, as_pattern, content_most, landing, plain_path, stored
from dh_bridge.spark.translation import parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

_TASKS = 64
_SHUFFLED = 32 << 20  # parts of 128 MB took 0.6 GB more of the JVM, and were not faster
_MOST_PARTS = 2_000  # of more, the shuffle's own books weigh more than the parts
_FILES = ("parquet", "orc", "avro", "json", "csv", "xml", "text")
"""Formats of files, whose columns a stream does not look for itself."""
_ANY_AGE = "36500d"
_SIX_DIGITS = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"


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
    named = [paths] if isinstance(paths, str) else list(paths)
    if format is None:
        return _files(spark, named)
    if format == "table":
        tables = [spark.read.options(**dict(options or {})).table(name) for name in named]
        found = [frame(table, column, place=name) for table, name in zip(tables, named, strict=True)]
    else:
        places = [as_pattern(spark, name) for name in named] if format.lower() in _FILES else named
        loaded = spark.read.format(format).options(**dict(options or {})).load(places)
        found = [frame(loaded, column, place=format)]
    whole = found[0]
    for part in found[1:]:
        whole = whole.unionByName(part)
    return whole


def parts_for(spark: SparkSession, paths: str | Sequence[str]) -> int:
    """Return into how many parts events are to be shuffled.

    Of 32 MB of local files, and three for each core at least; more than 2,000 parts are not made, but larger ones.
    """
    size = unzipped_size(local_ones([paths] if isinstance(paths, str) else paths))
    return max(parts_of(spark), min(-(-size // _SHUFFLED), _MOST_PARTS))


def frame(events: DataFrame, column: str = "value", *, place: str | Column = "row") -> DataFrame:
    """Return a DataFrame of events, one to a row in ``column`` (string, binary or a struct), as the steps take it.

    ``place`` is a column that says where a row is from, or a word for all of them.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    if column not in events.columns:
        raise SettingsError(
            f"there is no column {column!r}, only {', '.join(events.columns)}",
            where="--column",
            now="name the one that holds the events",
        )
    kind = events.schema[column].dataType.typeName()
    value: Column = F.col(f"`{column}`")
    if kind == "string":
        value = value.cast("binary")  # one invalid byte in a string would end the task
    elif kind == "struct":  # Spark's own form of times stops at milliseconds
        times = {"timestampFormat": f"{_SIX_DIGITS}ZZZZZ", "timestampNTZFormat": _SIX_DIGITS}
        value = F.to_json(value, times).cast("binary")
    elif kind != "binary":
        raise SettingsError(f"{column!r} is of type {kind}", where="--column", now="string, binary or struct is needed")
    if isinstance(place, str):
        # the rows of a stream have no numbers
        row = F.lower(F.hex(F.xxhash64(value))) if events.isStreaming else F.monotonically_increasing_id()
        place = F.concat(F.lit(f"{place}["), row, F.lit("]"))
    return events.select(place.alias("place"), value.alias("value"), F.lit(False).alias("whole"))  # noqa: FBT003


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
    chosen = dict(options or {})
    reader = spark.readStream.options(**chosen)
    if format == "table":
        return frame(reader.table(name), column, place=name)
    place = name
    if format.lower() in _FILES:
        place = as_pattern(spark, name)
        if place != name:
            chosen = {**EACH_ONCE, **chosen}
        there = spark.read.format(format).options(**chosen).load(place)
        reader = reader.options(**{"maxFileAge": _ANY_AGE, **chosen}).schema(there.schema)
    return frame(reader.format(format).load(place), column, place=format)


def stream_files(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> DataFrame:
    """Return a landing folder as a stream: every new file whole, its gzip and its arrays as :func:`read` takes them.

    Files of any age are new: Spark's own ``maxFileAge`` would pass over those a week older than the newest one, in silence.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    schema = "path string, modificationTime timestamp, length long, content binary"
    chosen = {**EACH_ONCE, "maxFileAge": _ANY_AGE, **(options or {})}
    place, wanted = landing(spark, path)
    found = spark.readStream.format("binaryFile").schema(schema).options(**chosen).load(place).filter(wanted)
    # what Spark would break off at is told of by the worker: content that nobody asks for is not read
    most = content_most(spark)
    sized = ((F.col("length") <= most, F.col("content")), (F.col("length") > most, F.lit(None).cast("binary")))
    small, large = (
        found.filter(size).select(plain_path().alias("place"), value.alias("value"), F.lit(True).alias("whole"))  # noqa: FBT003
        for size, value in sized
    )
    return small.unionByName(large)


def _files(spark: SparkSession, paths: list[str]) -> DataFrame:
    local = local_ones(paths)
    remote = [path for path in paths if path not in local]
    parts = ([_local(spark, local)] if local else []) + ([stored(spark, remote)] if remote else [])
    found = parts[0]
    for part in parts[1:]:
        found = found.unionByName(part)
    return found


def _local(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Return local files as parts, ``whole`` null: workers open them, as ``dh-bridge emit`` does."""
    rows = [(*part, None) for part in packed_parts(paths, parts_of(spark))]
    found = spark.createDataFrame(rows, "place string, value binary, whole boolean")
    return found.repartition(max(1, min(len(rows), _TASKS)))
