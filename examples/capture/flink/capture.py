"""Flink SQL under OpenLineage's listener, on a session cluster and a real Kafka: jobs that end, fail and are cancelled.

PyPI brings Flink itself (pyflink), Maven Central its connectors and the listener.
"""

from __future__ import annotations

import sys
from pathlib import Path

import flink_cluster
import shop
from realparts.jars import Jars, fetched

CONNECTORS = Jars(
    "flink-2.2",
    (
        "io.openlineage:openlineage-flink:1.53.0",
        "org.apache.flink:flink-sql-connector-kafka:5.0.0-2.2",
        "org.apache.flink:flink-connector-jdbc-core:4.0.0-2.0",
        "org.apache.flink:flink-connector-jdbc-postgres:4.0.0-2.0",
        "org.postgresql:postgresql:42.7.4",
    ),
    alone=True,  # Flink's own jars are pyflink's
)
# The client tells the START, the JobManager all that follows: so it is only where detached jobs are tracked.
SETTINGS = f"""
execution.job-status-changed-listeners: io.openlineage.flink.listener.OpenLineageJobStatusChangedListenerFactory
openlineage.job.namespace: {shop.NAMESPACE}
openlineage.trackingIntervalInSeconds: 2
openlineage.flink.enableDetachedJobTracking: true
"""


def main(sent: Path) -> None:
    """Write `flink.ndjson`: what the client and the JobManager told of the jobs in jobs.py."""
    events = sent / "flink.ndjson"
    with flink_cluster.cluster(fetched(CONNECTORS), events, SETTINGS) as cluster:
        # nobody serves the warehouse: one of the jobs fails
        cluster.submit(Path(__file__).with_name("jobs.py"), flink_cluster.ORDERS, events)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
