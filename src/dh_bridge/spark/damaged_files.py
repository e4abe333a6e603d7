"""Files that Spark cannot read, as bad records with their names, instead of an error of the whole job.

Spark fails a job, and each restart of a stream, at the first file that is damaged or that was deleted after it was listed; its
options to ignore such files are silent. So a source notes how its files are read again one by one: only if a job fails, the files
are tried in groups, until the damaged ones are known.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from dh_bridge.spark.hadoop import read_bytes, store_of
from dh_bridge.spark.problems import innermost_cause, is_spark_error

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

EVENT_COLUMNS = "location string, value binary, whole boolean"
"""Columns of a source, see :mod:`dh_bridge.spark.sources`."""
UNREADABLE_MARK = b"!"
"""Begins the ``value`` of a file that cannot be read, with ``whole`` null; the reason follows."""
_READERS = "_dh_bridge_readers"


class FileReader(NamedTuple):
    """How the files of one source are read again.

    Attributes:
        load: returns the events of some files, in the form of a source.
        list_files: returns all files of a batch job; of a stream, its log has them.
    """

    load: Callable[[list[str]], DataFrame]
    list_files: Callable[[], list[str]] | None = None


def with_readers(events: DataFrame, readers: Sequence[tuple[DataFrame, FileReader | None]]) -> DataFrame:
    """Return ``events``, the union of sources, with the readers of each source, in order (None: it has no files)."""
    setattr(events, _READERS, tuple(readers))
    return events


def readers_of(events: DataFrame) -> tuple[tuple[DataFrame, FileReader | None], ...]:
    """Return the readers of a source; none for a DataFrame that was made by other means."""
    # with Spark Connect, getattr returns a column of any name
    readers: tuple[tuple[DataFrame, FileReader | None], ...] = vars(events).get(_READERS, ())
    return readers


def readable_events(events: DataFrame) -> DataFrame | None:
    """Return the events of a batch job without the damaged files, which are rows with the reason.

    None if no file is damaged, or if the source has no files: then another error ended the job.
    """
    parts: list[DataFrame] = []
    damaged: dict[str, str] = {}
    for frame, reader in readers_of(events):
        if reader is None or reader.list_files is None:
            parts.append(frame)
            continue
        paths = _literal_paths(events.sparkSession, reader.list_files())
        damaged |= find_damaged(reader.load, paths)
        parts += [reader.load(readable)] if (readable := [path for path in paths if path not in damaged]) else []
    return _union(events.sparkSession, parts, damaged) if damaged else None


def readable_batch(events: DataFrame, checkpoint: str, number: int) -> DataFrame | None:
    """Return the same for a batch of a stream of files, whose checkpoint of Spark is ``checkpoint``."""
    spark, readers = events.sparkSession, readers_of(events)
    if not readers or any(reader is None for _, reader in readers):
        return None
    parts: list[DataFrame] = []
    damaged: dict[str, str] = {}
    for (_, reader), paths in zip(readers, batch_files(spark, checkpoint, number), strict=True):
        if reader is not None and paths:
            damaged |= find_damaged(reader.load, paths)
            parts += [reader.load(readable)] if (readable := [path for path in paths if path not in damaged]) else []
    return _union(spark, parts, damaged) if damaged else None


def missing_files(events: DataFrame, checkpoint: str, number: int) -> DataFrame | None:
    """Return a row for each file of a stream's batch that was deleted after it was listed; None if there is none.

    Spark skips such a file without a message when it repeats a batch.
    """
    spark, readers = events.sparkSession, readers_of(events)
    if not readers or any(reader is None for _, reader in readers):
        return None
    paths = [path for paths in batch_files(spark, checkpoint, number) for path in paths]
    if not paths:
        return None
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark's own way to Hadoop's names
    store, _ = store_of(spark, paths[0])
    missing = [path for path in paths if not store.exists(jvm.org.apache.hadoop.fs.Path(path))]
    return _union(spark, [], dict.fromkeys(missing, "it does not exist any more")) if missing else None


def find_damaged(load: Callable[[list[str]], DataFrame], paths: list[str]) -> dict[str, str]:
    """Return path -> reason of the files that cannot be read; halves of the files are tried, so few damaged ones are found soon."""
    try:
        load(paths).write.format("noop").mode("overwrite").save()
    except Exception as error:
        if not is_spark_error(error):
            raise
        if len(paths) == 1:
            return {paths[0]: innermost_cause(str(error))}
        middle = len(paths) // 2
        return find_damaged(load, paths[:middle]) | find_damaged(load, paths[middle:])
    return {}


def batch_files(spark: SparkSession, checkpoint: str, number: int) -> list[list[str]]:
    """Return the files of a batch by source, from the logs in Spark's checkpoint."""
    folder = checkpoint.rstrip("/")
    offsets = _log_lines(spark, f"{folder}/offsets/{number}")[1:]
    earlier = _log_lines(spark, f"{folder}/offsets/{number - 1}")[1:] if number else []
    return [
        _source_files(spark, f"{folder}/sources/{source}", _log_offset(earlier, source), _log_offset(offsets, source))
        for source in range(len(offsets))
    ]


def _log_offset(offsets: list[str], source: int) -> int:
    """Return the number of the last entry of a source's log that a batch has; -1 for none."""
    if source >= len(offsets) or offsets[source] == "-":
        return -1
    return int(json.loads(offsets[source])["logOffset"])


def _source_files(spark: SparkSession, log: str, after: int, until: int) -> list[str]:
    texts: dict[str, None] = {}
    for entry in range(after + 1, until + 1):
        for name in (str(entry), f"{entry}.compact"):
            for line in _log_lines(spark, f"{log}/{name}"):
                file = json.loads(line)
                if file["batchId"] == entry:
                    texts[file["path"]] = None
    return _literal_paths(spark, list(texts))


def _log_lines(spark: SparkSession, name: str) -> list[str]:
    """Return the lines of a file of Spark's checkpoint after its version; none if the file does not exist."""
    return (read_bytes(spark, name) or b"").decode().splitlines()[1:]


def _literal_paths(spark: SparkSession, uris: list[str]) -> list[str]:
    """Return the names of files that Spark writes as URIs, with ``%20`` for a space."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark's own way from a URI to a name
    return [str(jvm.org.apache.hadoop.fs.Path(jvm.java.net.URI(uri)).toString()) for uri in uris]


def _union(spark: SparkSession, parts: list[DataFrame], damaged: dict[str, str]) -> DataFrame:
    rows = [
        (_shown_path(path), UNREADABLE_MARK + f"cannot read the file: {reason}".encode(), None)
        for path, reason in damaged.items()
    ]
    events = spark.createDataFrame(rows, EVENT_COLUMNS)
    for part in parts:
        events = events.unionByName(part)
    return events


def _shown_path(path: str) -> str:
    """Return a local path without its scheme, as other locations show it."""
    return re.sub("^file:/+", "/", path)
