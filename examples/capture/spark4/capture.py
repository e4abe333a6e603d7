"""Spark 4 with OpenLineage's listener between Kafka and Iceberg: a list of topics, and the metadata of a table.

As the capture of Spark, with the jars of both beside the listener's, and with the shop's Kafka (needs `mvn`).
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import servers
import shop
from realparts.jars import Jars, fetched
from spark.capture import SPARK_HOME, run, submit

JARS = Jars(
    "spark4-lakehouse",
    (
        "io.openlineage:openlineage-spark_2.13:1.53.0",
        "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.1",
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
        "org.apache.kafka:kafka-clients:3.9.1",
        "org.apache.commons:commons-pool2:2.12.0",
    ),
    alone=True,
)
HOME = shop.HOME / "spark4"
SETTINGS = {
    "spark.driver.extraJavaOptions": f"--add-opens=java.base/java.security=ALL-UNNAMED -Djdk.net.hosts.file={HOME}/hosts",
    "spark.openlineage.facets.environment-properties.disabled": "true",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.lake.warehouse": str(HOME / "lake"),
}


def main(sent: Path) -> None:
    """Write `spark4.ndjson`: the events of messages.py."""
    shutil.rmtree(HOME, ignore_errors=True)
    for folder in (HOME, SPARK_HOME):
        folder.mkdir(parents=True, exist_ok=True)
    job = Path(__file__).with_name("messages.py")
    jars = sorted(fetched(JARS).iterdir())  # before Java looks up hosts in the shop's file alone
    with servers.kafka(HOME):
        code = run(submit(job, sent / "spark4.ndjson", jars=jars, **SETTINGS))
    if code:
        sys.exit(f"messages ended with {code}: see Spark's output above")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
