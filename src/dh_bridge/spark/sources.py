"""Sources of events: files and folders, tables of any format (topics: topics.py); each as (location, value, whole).

``location`` is where the event was read, ``value`` are its bytes (or those of an array of events), ``whole`` means that the
value is a whole file, which the worker decompresses and splits (null value: too large for Spark); with ``whole`` null,
``value`` is a part of a local file (files.py), which the worker opens itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dh_bridge.spark.checkpoint_notes import with_source
from dh_bridge.spark.connect import STREAM_ALTERNATIVE, require_jvm
from dh_bridge.spark.damaged_files import FileReader, readers_of, with_readers
from dh_bridge.spark.event_columns import frame
from dh_bridge.spark.files import encode_parts, local_paths, unzipped_size
from dh_bridge.spark.problems import known_problem
from dh_bridge.spark.stores import (
    NO_DUPLICATES,
    NO_GLOB,
    as_pattern,
    landing_pattern,
    max_content_bytes,
    plain_path,
    read_stored_files,
)
from dh_bridge.spark.translation import default_partitions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

_MAX_TASKS = 64
_PARTITION_BYTES = 32 << 20  # parts of 128 MB took 0.6 GB more of the JVM, and were not faster
_MAX_PARTITIONS = 2_000  # with more parts, the shuffle's own bookkeeping is larger than the parts
_FILE_FORMATS = ("parquet", "orc", "avro", "json", "csv", "xml", "text")
"""File formats whose columns a stream does not infer itself."""
_CONNECT_READER = "read them with the session: translate(spark.read.text(path)), or spark.table(name)"
_MAX_FILE_AGE = "36500d"


def read(
    spark: SparkSession,
    paths: str | Sequence[str],
    *,
    format: str | None = None,  # noqa: A002 - Spark's word
    column: str = "value",
    options: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the events of files and folders, or of a table that the session reads with ``format``.

    Without a format, ``paths`` hold JSON lines, arrays or single events, packed with gzip or Zstandard or not. With one (``delta``, ``parquet``,
    ``text`` …, ``table`` for names in the catalog), ``column`` holds an event, or an array of them, in each row.
    """
    names = [paths] if isinstance(paths, str) else list(paths)
    if format is None or format.lower() in _FILE_FORMATS:
        require_jvm(spark, "reading files by their paths", _CONNECT_READER)
    if format is None:
        return _read_files(spark, names)
    if format == "table":
        tables = [spark.read.options(**dict(options or {})).table(name) for name in names]
        return _union([frame(table, column, location=name) for table, name in zip(tables, names, strict=True)])
    if format.lower() not in _FILE_FORMATS:
        return frame(_load(spark, format, names, options), column, location=format)
    patterns = [as_pattern(spark, name) for name in names]
    loaded = _load(spark, format, patterns, options)
    events = frame(loaded, column, location=format)
    literal_reader = spark.read.format(format).options(**dict(options or {}), **NO_GLOB).schema(loaded.schema)
    file_reader = FileReader(
        lambda paths: frame(literal_reader.load(paths), column, location=format), lambda: list(loaded.inputFiles())
    )
    return with_readers(events, [(events, file_reader)])


def _load(spark: SparkSession, name: str, paths: Sequence[str], options: Mapping[str, str] | None) -> DataFrame:
    """Return the rows of a data source; a SettingsError if Spark does not have it."""
    try:
        return spark.read.format(name).options(**dict(options or {})).load(list(paths))
    except Exception as error:
        problem = known_problem(error, spark.version)
        raise error if problem is None else problem from error


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of all frames, with the readers of their files."""
    events = frames[0]
    for part in frames[1:]:
        events = events.unionByName(part)
    readers = [reader for frame in frames for reader in readers_of(frame) or ((frame, None),)]
    return with_readers(events, readers)


def partitions_for(spark: SparkSession, paths: str | Sequence[str]) -> int:
    """Return the number of parts for the shuffle of events.

    Parts of 32 MB of local files, and at least three for each core; at most 2,000 parts, which are then larger.
    """
    size = unzipped_size(local_paths([paths] if isinstance(paths, str) else paths))
    return max(default_partitions(spark), min(-(-size // _PARTITION_BYTES), _MAX_PARTITIONS))


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
    require_jvm(spark, "a stream", STREAM_ALTERNATIVE)
    reader_options = dict(options or {})
    reader = spark.readStream.options(**reader_options)
    if format == "table":
        return with_source(frame(reader.table(name), column, location=name), name)
    if format.lower() not in _FILE_FORMATS:
        try:
            return with_source(frame(reader.format(format).load(name), column, location=format), name)
        except Exception as error:
            problem = known_problem(error, spark.version)
            raise error if problem is None else problem from error
    path = as_pattern(spark, name)
    if path != name:
        reader_options = {**NO_DUPLICATES, **reader_options}
    schema = spark.read.format(format).options(**reader_options).load(path).schema
    reader = reader.options(**{"maxFileAge": _MAX_FILE_AGE, **reader_options}).schema(schema)
    events = frame(reader.format(format).load(path), column, location=format)
    literal_reader = spark.read.format(format).options(**reader_options, **NO_GLOB).schema(schema)
    file_reader = FileReader(lambda paths: frame(literal_reader.load(paths), column, location=format))
    return with_source(with_readers(events, [(events, file_reader)]), name)


def stream_files(
    spark: SparkSession, paths: str | Sequence[str], *, options: Mapping[str, str] | None = None
) -> DataFrame:
    """Return landing folders as a stream: every new file whole; gzip and arrays are read as :func:`read` does.

    Files of any age are new: Spark's own ``maxFileAge`` would skip those that are a week older than the newest one, without a
    message.
    """
    require_jvm(spark, "a stream", STREAM_ALTERNATIVE)
    names = [paths] if isinstance(paths, str) else list(paths)
    return with_source(_union([_stream_folder(spark, name, options) for name in names]), *names)


def _stream_folder(spark: SparkSession, path: str, options: Mapping[str, str] | None) -> DataFrame:
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
    literal_reader = spark.read.format("binaryFile").options(**NO_DUPLICATES, **NO_GLOB)
    events = _whole_files(files)
    return with_readers(events, [(events, FileReader(lambda names: _whole_files(literal_reader.load(names))))])


def _whole_files(files: DataFrame) -> DataFrame:
    """Return files of Spark's binary format as events. Spark would fail for files that are too large; the worker reports them."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    max_bytes = max_content_bytes(files.sparkSession)
    contents = (
        (F.col("length") <= max_bytes, F.col("content")),  # content that is not requested is not read
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
    return _union(parts)


def _read_local_files(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Return local files as parts, ``whole`` null: workers open them, as ``dh-bridge emit`` does."""
    rows = [(*part, None) for part in encode_parts(paths, default_partitions(spark))]
    parts = spark.createDataFrame(rows, "location string, value binary, whole boolean")
    return parts.repartition(max(1, min(len(rows), _MAX_TASKS)))
