"""Hadoop's file systems, as Spark's own readers and writers find them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def store_of(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return Hadoop's file system of a name, and its whole path there, as Spark's own readers and writers find them.

    Settings of the session only (``spark.conf.set("fs.azure.account.key…")``) apply, too.
    """
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - Spark's own way to Hadoop's file systems
    conf: Any = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - as above
    hadoop_path = jvm.org.apache.hadoop.fs.Path(path)
    store = hadoop_path.getFileSystem(conf)
    return store, store.makeQualified(hadoop_path)


def read_bytes(spark: SparkSession, name: str) -> bytes | None:
    """Return the content of a small file; None if it does not exist."""
    store, path = store_of(spark, name)
    if not store.exists(path):
        return None
    stream = store.open(path)
    try:
        return bytes(stream.readAllBytes())
    finally:
        stream.close()
