"""Files that Spark opens itself: those of a store (``s3a://``, ``hdfs://`` …), and landing folders anywhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dh_bridge.errors import SettingsError
from dh_bridge.openlineage.folders import SUFFIXES
from dh_bridge.spark.damaged_files import FileReader, with_readers
from dh_bridge.spark.hadoop import store_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

MAX_WHOLE_BYTES = 8 << 20
"""Files of a store up to this size are read whole by one task: JSON lines, one event, or an array, as ``dh-bridge emit`` reads them.
Larger ones are split by Spark, and are taken for JSON lines."""
MAX_PACKED_BYTES = 512 << 20
"""Gzip and Zstandard cannot be split: a packed file is read whole up to this size, so that a truncated file is reported and affects no others."""
MAX_CONTENT_OPTION = "spark.sql.sources.binaryFile.maxLength"
_MAX_VECTOR_BYTES = 1 << 30
NO_GLOB = {"__globPaths__": "false"}
"""Spark's own option: names are literal, also with [ ] { }."""
NO_DUPLICATES = {"recursiveFileLookup": "true"}
"""Of several files with [ ] { } * ? in their paths Spark otherwise reads each as often as there are such files
(``DataSource.checkAndGlobPathIfNecessary``, from 3.5 to 4.3)."""
_GLOB = re.compile(r"[\[\]{}*?\\]")


def read_stored_files(spark: SparkSession, paths: Sequence[str]) -> DataFrame:
    """Return the files of a store: named files with any ending, and those of folders whose ending is one of events."""
    folders, file_paths = _find_paths(spark, paths)
    reader = spark.read.format("binaryFile").options(**NO_DUPLICATES, **NO_GLOB)
    parts = ([reader.load(folders).filter(has_suffix())] if folders else []) + (
        [reader.load(file_paths)] if file_paths else []
    )
    files = parts[0] if len(parts) == 1 else parts[0].unionByName(parts[1])

    def list_files() -> list[str]:
        below_folders = reader.load(folders).inputFiles() if folders else []
        named = reader.load(file_paths).inputFiles() if file_paths else []
        return [uri for uri in below_folders if uri.lower().endswith(SUFFIXES)] + list(named)

    events = _events_of_files(spark, files)
    file_reader = FileReader(lambda names: _events_of_files(spark, reader.load(names)), list_files)
    return with_readers(events, [(events, file_reader)])


def _events_of_files(spark: SparkSession, files: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    is_packed = F.lower("path").endswith(".gz") | F.lower("path").endswith(".zst")
    is_read_at_once = ((F.col("length") <= MAX_WHOLE_BYTES) & ~is_packed) | (
        is_packed & (F.col("length") <= MAX_PACKED_BYTES)
    )
    large = [row.path for row in files.filter(~is_read_at_once).select("path").collect()]
    events = files.filter(is_read_at_once).select(
        F.col("path").alias("location"),
        F.col("content").alias("value"),
        F.lit(True).alias("whole"),  # noqa: FBT003
    )
    if not large:
        return events
    lines = spark.read.options(lineSep="\n", **NO_DUPLICATES, **NO_GLOB).text(large)
    # the location of a line is its block: Spark does not know line numbers
    location = F.concat_ws("@", F.col("_metadata.file_path"), F.col("_metadata.file_block_start").cast("string"))
    return events.unionByName(
        lines.select(
            location.alias("location"),
            F.col("value").cast("binary").alias("value"),
            F.lit(False).alias("whole"),  # noqa: FBT003
        )
    )


def _find_paths(spark: SparkSession, paths: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the named folders and files, as patterns or literally; raise an error for a name that matches nothing."""
    folders: list[str] = []
    files: list[str] = []
    for path in paths:
        store, hadoop_path = store_of(spark, path)
        statuses = (
            [store.getFileStatus(hadoop_path)]
            if store.exists(hadoop_path)
            else list(store.globStatus(hadoop_path) or ())
        )
        visible_statuses = [
            status for status in statuses if status.isDirectory() or not _is_hidden(status.getPath().getName())
        ]
        if not visible_statuses:
            remedy = "use the path of a file or folder; Spark ignores files whose names begin with _ or ."
            raise SettingsError(f"{path} does not exist", location="--events", remedy=remedy)
        for status in visible_statuses:
            (folders if status.isDirectory() else files).append(status.getPath().toString())
    return folders, files


def _is_hidden(name: str) -> bool:
    """Return whether Spark skips a file with this name (HadoopFSUtils.shouldFilterOutPathName)."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name) or name.endswith("._COPYING_")


def landing_pattern(spark: SparkSession, path: str) -> tuple[str, Column]:
    """Return a landing folder, file or pattern in the form of Spark's streams, and a test for its files of events.

    Streams read all names as patterns, so the name of an existing folder is escaped. Files of events are named files, those as
    deep as ``path``, and those below folders with an ending of events.
    """
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    store, hadoop_path = store_of(spark, path)
    exists = store.exists(hadoop_path)
    if not exists and not _GLOB.search(path):
        raise SettingsError(
            f"{path} does not exist", location="--events", remedy="use the path of a folder that exists"
        )
    path_in_store = F.regexp_replace("path", r"^[\w.+-]+:(//[^/]*)?", "")
    depth = F.size(F.split(path_in_store, "/")) - 1
    return escape_glob(path) if exists else path, has_suffix() | (depth == hadoop_path.depth())


def as_pattern(spark: SparkSession, path: str) -> str:
    """Return a name for readers that take all names as patterns: the name of an existing file is escaped."""
    store, hadoop_path = store_of(spark, path)
    return escape_glob(path) if store.exists(hadoop_path) else path


def escape_glob(path: str) -> str:
    """Return the pattern that matches only this name."""
    return _GLOB.sub(r"\\\g<0>", path)


def exists_in_store(spark: SparkSession, path: str) -> bool:
    """Return whether ``path``, a name or a pattern, matches anything."""
    store, hadoop_path = store_of(spark, path)
    return bool(store.exists(hadoop_path) or store.globStatus(hadoop_path))


def max_content_bytes(spark: SparkSession) -> int:
    """Return the maximum bytes of a file that is passed whole: Spark's own bound, and that of Java's Arrow vectors.

    A larger file would fail the job.
    """
    return min(int(spark.conf.get(MAX_CONTENT_OPTION) or 0), _MAX_VECTOR_BYTES)


def has_suffix() -> Column:
    """Return whether the ending of ``path`` is one of events."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    endings = "|".join(suffix.replace(".", r"\.") for suffix in SUFFIXES)
    return F.lower("path").rlike(f"({endings})$")


def plain_path() -> Column:
    """Return a local ``path`` in its usual form; others keep their scheme."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    return F.regexp_replace("path", "^file:/+", "/")
