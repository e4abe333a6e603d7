"""Flink 1's DataStream jobs with OpenLineage's own listener, which each registers: jobs that end, fail and are cancelled.

PyPI brings Flink itself (pyflink), Maven Central its connectors and the listener; the listener needs Flink's Avro, whatever is read.
"""

from __future__ import annotations

import sys
from pathlib import Path

import flink_cluster
from realparts.jars import Jars, fetched

CONNECTORS = Jars(
    "flink-1.20",
    (
        "io.openlineage:openlineage-flink:1.53.0",
        "org.apache.flink:flink-sql-connector-kafka:3.2.0-1.19",
        "org.apache.flink:flink-connector-jdbc:3.1.2-1.18",
        "org.apache.flink:flink-avro:1.20.1",
        "org.apache.avro:avro:1.11.4",
        "com.fasterxml.jackson.core:jackson-databind:2.17.2",
        "com.fasterxml.jackson.core:jackson-core:2.17.2",
        "com.fasterxml.jackson.core:jackson-annotations:2.17.2",
        "org.postgresql:postgresql:42.7.4",
    ),
    alone=True,  # Flink's own jars are pyflink's
)
# The listener reads the transformations of a job, which pyflink would replace by chains of its own.
SETTINGS = """
python.operator-chaining.enabled: false
"""


def main(sent: Path) -> None:
    """Write `flink1.ndjson`: what the listeners of the jobs in jobs.py told."""
    events = sent / "flink1.ndjson"
    with flink_cluster.cluster(fetched(CONNECTORS), events, SETTINGS) as cluster:
        # nobody serves the warehouse: one of the jobs fails
        cluster.submit(Path(__file__).with_name("jobs.py"), events)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
