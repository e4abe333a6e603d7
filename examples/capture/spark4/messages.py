"""A Spark application that keeps messages of two topics in an Iceberg table, and tells when it did."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

KAFKA = {"kafka.bootstrap.servers": "kafka.shop.example:9092"}


def main(lake: Path) -> None:
    """Send two messages, keep them, and write down the table's snapshots."""
    spark = SparkSession.builder.appName("messages").getOrCreate()
    sent = spark.createDataFrame(
        [("shop.orders", "101", "placed"), ("shop.returns", "102", "late")], "topic string, key string, value string"
    )
    sent.write.format("kafka").options(**KAFKA).save()
    kept = spark.read.format("kafka").options(**KAFKA, subscribe="shop.orders,shop.returns").load()
    text = kept.selectExpr("topic", "cast(key as string) as id", "cast(value as string) as said")
    text.writeTo("lake.shop.messages").create()
    snapshots = spark.sql("select committed_at, operation from lake.shop.messages.snapshots")
    snapshots.write.mode("overwrite").parquet(str(lake / "snapshots"))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
