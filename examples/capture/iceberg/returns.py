"""A Spark application over Iceberg tables: one that is copied on write, one that is merged on read."""

from __future__ import annotations

from pyspark.sql import SparkSession

MERGED_ON_READ = "tblproperties ('format-version'='2', 'write.update.mode'='merge-on-read')"
STATEMENTS = (
    "drop table if exists lake.shop.orders",
    "drop table if exists lake.shop.returns",
    "create table lake.shop.orders (id bigint, status string, amount double, day date) using iceberg partitioned by (day)",
    "insert into lake.shop.orders values (101, 'returned', 10.0, date'2026-11-20'), (102, 'placed', -5.0, date'2026-11-20')",
    "delete from lake.shop.orders where amount < 0",
    f"create table lake.shop.returns (id bigint, refund double) using iceberg {MERGED_ON_READ}",
    "insert overwrite lake.shop.returns select id, amount from lake.shop.orders where status = 'returned'",
    "update lake.shop.returns set refund = refund * 0.9 where id = 101",
    """
    merge into lake.shop.orders o using lake.shop.returns r on o.id = r.id
    when matched then update set o.status = 'refunded'
    """,
    "alter table lake.shop.orders add column note string",
)


def main() -> None:
    """Run the statements."""
    spark = SparkSession.builder.appName("returns").getOrCreate()
    for statement in STATEMENTS:
        spark.sql(statement)
    spark.stop()


if __name__ == "__main__":
    main()
