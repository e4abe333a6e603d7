"""A Spark application that tries changes on a branch of a table, and asks where rows are kept."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

STATEMENTS = (
    "create database shop",
    "create table shop.raw (id int, amount double) using parquet",
    "create table lake.shop.orders (id int, amount double) using iceberg",
    "alter table lake.shop.orders create branch audit",
    "insert into lake.shop.orders.branch_audit select id, amount from shop.raw where _metadata.file_size > 0",
)
AUDITED = "select id, _file from lake.shop.orders.branch_audit"


def main(lake: Path) -> None:
    """Run the statements, write down what is read, drop a table."""
    spark = SparkSession.builder.appName("branches").getOrCreate()
    for statement in STATEMENTS:
        spark.sql(statement)
    spark.sql(AUDITED).write.mode("overwrite").parquet(str(lake / "audited"))
    spark.sql("drop table shop.raw")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
