"""What `flink run` submits: orders from a file to Kafka, through Kafka, to a warehouse that is not there; an endless job."""

from __future__ import annotations

import sys
from pathlib import Path

from flink_cluster import await_events, told
from pyflink.table import EnvironmentSettings, TableEnvironment

folder, events = sys.argv[1], Path(sys.argv[2])
ORDER = "order_id INT NOT NULL COMMENT 'number', customer_id INT, ordered_at TIMESTAMP(3), status STRING, amount DECIMAL(10, 2)"
KAFKA = "'properties.bootstrap.servers' = 'kafka.shop.example:9092'"
BOUNDED = "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json'"
JDBC = "'connector' = 'jdbc', 'url' = 'jdbc:postgresql://warehouse.shop.example:5432/shop', 'username' = 'shop', 'password' = 'none'"
TABLES = f"""
CREATE TABLE orders_file (order_id INT, customer_id INT, ordered_at STRING, status STRING, amount DOUBLE, note STRING)
  WITH ('connector' = 'filesystem', 'path' = 'file://{folder}', 'format' = 'csv');
CREATE TABLE orders ({ORDER}, gift ROW<wrapped BOOLEAN, notes ARRAY<STRING>>,
    sent_at TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, cents AS amount * 100,
    WATERMARK FOR ordered_at AS ordered_at - INTERVAL '5' SECOND)
  COMMENT 'Orders of the shop'
  WITH ('connector' = 'kafka', 'topic' = 'shop.orders', {KAFKA}, 'properties.group.id' = 'flink', {BOUNDED});
CREATE TABLE refunds ({ORDER}) WITH ('connector' = 'kafka', 'topic' = 'shop.refunds', {KAFKA}, {BOUNDED});
CREATE TABLE orders_and_refunds ({ORDER}) WITH ('connector' = 'kafka', 'topic' = 'shop.orders;shop.refunds', {KAFKA}, {BOUNDED});
CREATE TABLE any_topic ({ORDER}) WITH ('connector' = 'kafka', 'topic-pattern' = 'shop\\.re.*', {KAFKA}, {BOUNDED});
CREATE TABLE orders_live ({ORDER})
  WITH ('connector' = 'kafka', 'topic' = 'shop.orders', {KAFKA}, 'scan.startup.mode' = 'earliest-offset', 'format' = 'json');
CREATE TABLE totals (status STRING, total DECIMAL(38, 2), PRIMARY KEY (status) NOT ENFORCED)
  WITH ('connector' = 'upsert-kafka', 'topic' = 'shop.order_totals', {KAFKA}, 'key.format' = 'json', 'value.format' = 'json');
CREATE TABLE warehouse ({ORDER}) WITH ({JDBC}, 'table-name' = 'staging.orders');
CREATE TABLE nowhere ({ORDER}) WITH ('connector' = 'blackhole')
"""
ROWS = "SELECT order_id, customer_id, TO_TIMESTAMP(ordered_at), status, CAST(amount AS DECIMAL(10, 2))"
TOTALS = "SELECT status, SUM(amount) FROM {} GROUP BY status"


def environment(settings: EnvironmentSettings) -> TableEnvironment:
    """Return an environment that knows the tables, in Flink's catalogue in memory."""
    found = TableEnvironment.create(settings)
    for statement in TABLES.split(";\n"):
        found.execute_sql(statement)
    return found


def run(table: TableEnvironment, statement: str, *, fails: bool = False) -> None:
    """Run a statement to its end, and until its end was told."""
    ends = ("COMPLETE", "FAIL")
    before = told(events, ends)
    try:
        result = table.execute_sql(statement)
        if statement.startswith("SELECT"):
            result.print()
        else:
            result.wait()
    except Exception as error:
        if not fails:
            raise
        print(f"failed, as it is to: {str(error)[:80]}")
    await_events(events, ends, before + 1)


batch = environment(EnvironmentSettings.in_batch_mode())
run(
    batch,
    "EXECUTE STATEMENT SET BEGIN "
    f"INSERT INTO orders {ROWS}, ROW(note <> '', ARRAY[note]) FROM orders_file; "
    f"INSERT INTO refunds {ROWS} FROM orders_file WHERE status = 'returned'; END",
)
run(batch, f"INSERT INTO totals {TOTALS.format('orders_and_refunds')}")
run(batch, "INSERT INTO nowhere SELECT * FROM any_topic")
run(batch, "SELECT status, COUNT(*) AS orders FROM orders GROUP BY status")
batch.get_config().set("restart-strategy.type", "none")
run(batch, "INSERT INTO warehouse SELECT * FROM refunds", fails=True)

endless = environment(EnvironmentSettings.in_streaming_mode())
endless.get_config().set("execution.checkpointing.interval", "1s")
endless.get_config().set("pipeline.name", "live_order_totals")
client = endless.execute_sql(f"INSERT INTO totals {TOTALS.format('orders_live')}").get_job_client()
await_events(events, ("RUNNING",), 2)
client.cancel().result()
await_events(events, ("ABORT",), 1)
