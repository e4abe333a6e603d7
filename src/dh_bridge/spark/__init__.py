"""Translation on Spark: bulk and streams, in a notebook, on a cluster, or on this machine (docs/spark.md).

    from dh_bridge import spark
    events = spark.read(session, "s3a://archive/events/")
    spark.translate(events).write.parquet("s3a://archive/proposals/")

Nothing here is loaded by ``import dh_bridge``; pyspark is the extra ``dh-bridge[spark]``.
"""

from dh_bridge.spark.executors import deliver_from_executors
from dh_bridge.spark.report import report
from dh_bridge.spark.session import session
from dh_bridge.spark.sources import frame, partitions_for, read, stream_files, stream_rows
from dh_bridge.spark.streaming import stream
from dh_bridge.spark.targets import deliver, write_batch, write_folder
from dh_bridge.spark.topics import kafka
from dh_bridge.spark.translation import SparkTranslation, translate

__all__ = [
    "SparkTranslation",
    "deliver",
    "deliver_from_executors",
    "frame",
    "kafka",
    "partitions_for",
    "read",
    "report",
    "session",
    "stream",
    "stream_files",
    "stream_rows",
    "translate",
    "write_batch",
    "write_folder",
]
