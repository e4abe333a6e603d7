"""Translation on Spark: bulk and streams, in a notebook, on a cluster, or on this machine (docs/spark.md).

    from dh_bridge import spark
    events = spark.read(session, "s3a://archive/events/")
    with spark.translate(events) as translation:
        translation.deliver("parquet:s3a://archive/proposals")

Nothing here is loaded by ``import dh_bridge``; pyspark is the extra ``dh-bridge[spark]``.
"""

from dh_bridge.spark.batch_metrics import DeliveryCounts
from dh_bridge.spark.current import CURRENT, POINTS, current, points
from dh_bridge.spark.deliveries import deliver
from dh_bridge.spark.event_columns import frame
from dh_bridge.spark.executors import SparkDelivery, deliver_from_executors
from dh_bridge.spark.lineage_tables import checks, column_edges, edges, runs
from dh_bridge.spark.report import report
from dh_bridge.spark.session import session
from dh_bridge.spark.sources import partitions_for, read, stream_files, stream_rows
from dh_bridge.spark.stream_builder import EventStream, batch_function, stream
from dh_bridge.spark.targets import write_batch, write_folder
from dh_bridge.spark.topics import kafka
from dh_bridge.spark.translation import SparkTranslation, translate

__all__ = [
    "CURRENT",
    "POINTS",
    "DeliveryCounts",
    "EventStream",
    "SparkDelivery",
    "SparkTranslation",
    "batch_function",
    "checks",
    "column_edges",
    "current",
    "deliver",
    "deliver_from_executors",
    "edges",
    "frame",
    "kafka",
    "partitions_for",
    "points",
    "read",
    "report",
    "runs",
    "session",
    "stream",
    "stream_files",
    "stream_rows",
    "translate",
    "write_batch",
    "write_folder",
]
