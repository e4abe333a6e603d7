"""Where events come from: files and folders, tables of any format (topics: topics.py); each as (place, value, whole).

``place`` says where an event stood, ``value`` are its bytes (or those of an array of events), ``whole`` tells that the
value is a file as it lies there, to be unzipped and split by the worker that gets it; null, that ``place`` is a local file,
which the worker opens itself, and ``value`` the part of it (``start-end`` in bytes, ``0-0`` all).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from dh_bridge.errors import SettingsError
from dh_bridge.openlineage.read import SUFFIXES
from dh_bridge.spark.translation import PARTS_PER_CORE, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

PART = 64 << 20
"""Local files of JSON lines are read in parts of this size, of few events in smaller ones, so that no core is idle."""
_SMALLEST = 16 << 20
_TASKS = 64
_SHUFFLED = 128 << 20
_UNZIPPED = 8
"""Times that events are as large as their gzip, about."""
WHOLE_MOST = 8 << 20
"""Files of a store up to this size are read whole by one task: JSON lines, one event, or an array, as ``dh-bridge emit`` reads them.
Larger ones are split by Spark, and are taken for JSON lines."""
GZIP_MOST = 512 << 20
"""Gzip cannot be split: whole up to this size, so that a file that breaks off is told of and costs no others."""


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
        loaded = spark.read.format(format).options(**dict(options or {})).load(named)
        found = [frame(loaded, column, place=format)]
    whole = found[0]
    for part in found[1:]:
        whole = whole.unionByName(part)
    return whole


def parts_for(spark: SparkSession, paths: str | Sequence[str]) -> int:
    """Return into how many parts events are to be shuffled: of 128 MB of local files, and three for each core at least."""
    files = event_files(_local_ones([paths] if isinstance(paths, str) else list(paths)))
    size = sum(_size(file) * (_UNZIPPED if file.suffix == ".gz" else 1) for file in files)
    return max(parts_of(spark), -(-size // _SHUFFLED))


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
    elif kind == "struct":
        value = F.to_json(value).cast("binary")
    elif kind != "binary":
        raise SettingsError(f"{column!r} is of type {kind}", where="--column", now="string, binary or struct is needed")
    if isinstance(place, str):
        place = F.concat(F.lit(f"{place}["), F.monotonically_increasing_id().cast("string"), F.lit("]"))
    return events.select(place.alias("place"), value.alias("value"), F.lit(False).alias("whole"))  # noqa: FBT003


def stream_files(spark: SparkSession, path: str, *, options: Mapping[str, str] | None = None) -> DataFrame:
    """Return a landing folder as a stream: every new file whole, its gzip and its arrays as :func:`read` takes them."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    schema = "path string, modificationTime timestamp, length long, content binary"
    chosen = {"recursiveFileLookup": "true", **(options or {})}
    found = spark.readStream.format("binaryFile").schema(schema).options(**chosen).load(path)
    return found.filter(_has_suffix()).select(
        _plain_path(F.col("path")).alias("place"),
        F.col("content").alias("value"),
        F.lit(True).alias("whole"),  # noqa: FBT003
    )


def _files(spark: SparkSession, paths: list[str]) -> DataFrame:
    local = _local_ones(paths)
    remote = [path for path in paths if path not in local]
    parts = ([_local(spark, local)] if local else []) + ([_remote(spark, remote)] if remote else [])
    found = parts[0]
    for part in parts[1:]:
        found = found.unionByName(part)
    return found


def _local_ones(paths: list[str]) -> list[str]:
    return [path for path in paths if "://" not in path and not path.startswith("dbfs:/")]


def _local(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Return local files as places alone, ``whole`` null: workers open them, as ``dh-bridge emit`` does."""
    cores = int(spark.sparkContext.defaultParallelism)
    rows = [(path, f"{start}-{end}".encode(), None) for path, start, end in file_parts(paths, cores)]
    found = spark.createDataFrame(rows, "place string, value binary, whole boolean")
    return found.repartition(max(1, min(len(rows), _TASKS)))


def file_parts(paths: list[str], cores: int = 1) -> Iterator[tuple[str, int, int]]:
    """Yield (file, start, end in bytes): files of JSON lines that are large in parts, all others whole (0, 0)."""
    files = [(file, _size(file)) for file in event_files(paths)]
    share = sum(size for _, size in files) // (PARTS_PER_CORE * cores)
    part = min(PART, max(share, _SMALLEST))
    for file, size in files:
        if size <= part or not _holds_lines(file):
            yield str(file), 0, 0
            continue
        for start in range(0, size, part):
            yield str(file), start, min(start + part, size)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0  # the worker that opens it says why it cannot


def _holds_lines(file: Path) -> bool:
    """Return whether the first line is an event, and not the beginning of a document that goes on, or gzip."""
    with file.open("rb") as opened:
        first = opened.readline().strip()
    if first[:1] != b"{":
        return False
    try:
        msgspec.json.decode(first, type=msgspec.Raw)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def event_files(paths: list[str]) -> Iterator[Path]:
    """Yield the files that ``dh-bridge emit`` would read: those named, and those of folders whose ending tells events."""
    for path in map(Path, paths):
        if not path.is_dir():
            if not path.exists():
                raise SettingsError(f"there is no {path}", where="--events", now="name a file or a folder")
            yield path
            continue
        for file in sorted(path.rglob("*")):
            if file.is_file() and file.suffix.lower() in SUFFIXES and not file.name.startswith("."):
                yield file


def _remote(spark: SparkSession, paths: list[str]) -> DataFrame:
    """Return files of a store that Spark reaches; Spark passes over names that begin with ``_`` or ``.``."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    folders = spark.read.format("binaryFile").option("recursiveFileLookup", "true").load(paths)
    files = folders.filter(_has_suffix() | F.col("path").isin(*paths))
    gzipped = F.lower("path").endswith(".gz")
    whole = ((F.col("length") <= WHOLE_MOST) & ~gzipped) | (gzipped & (F.col("length") <= GZIP_MOST))
    large = [row.path for row in files.filter(~whole).select("path").collect()]
    found = files.filter(whole).select(
        F.col("path").alias("place"),
        F.col("content").alias("value"),
        F.lit(True).alias("whole"),  # noqa: FBT003
    )
    if not large:
        return found
    lines = spark.read.option("lineSep", "\n").text(large)
    # the place of a line is its block: Spark knows no line numbers
    place = F.concat_ws("@", F.col("_metadata.file_path"), F.col("_metadata.file_block_start").cast("string"))
    return found.unionByName(
        lines.select(place.alias("place"), F.col("value").cast("binary").alias("value"), F.lit(False).alias("whole"))  # noqa: FBT003
    )


def _has_suffix() -> Column:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    endings = "|".join(suffix.replace(".", r"\.") for suffix in SUFFIXES)
    return F.lower("path").rlike(f"({endings})$")


def _plain_path(path: Column) -> Column:
    """Return a local path as people write it; others keep their scheme."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    return F.regexp_replace(path, "^file:/+", "/")
