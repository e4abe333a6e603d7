"""What `flink run` submits: rows to Kafka, from topic to topic, to a warehouse that is not there; an endless job that is cancelled."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import shop
from flink_cluster import await_events
from pyflink.common import Row, SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaSourceBuilder,
)
from pyflink.java_gateway import get_gateway

EVENTS = Path(sys.argv[1])
BROKER = "kafka.shop.example:9092"
ORDER = Types.ROW([Types.INT(), Types.STRING()])


def job(name: str, mode: RuntimeExecutionMode = RuntimeExecutionMode.BATCH) -> StreamExecutionEnvironment:
    """Return an environment whose job tells OpenLineage of itself: the listener of Flink 1 has to be registered in the program."""
    found = StreamExecutionEnvironment.get_execution_environment()
    found.set_runtime_mode(mode)
    inner = found._j_stream_execution_environment  # noqa: SLF001 - Java's own, which the listener takes
    jvm = get_gateway().jvm
    listener = jvm.io.openlineage.flink.OpenLineageFlinkJobListener.builder().executionEnvironment(inner)
    every = jvm.java.time.Duration.ofSeconds(2)
    inner.registerJobListener(listener.jobNamespace(shop.NAMESPACE).jobName(name).jobTrackingInterval(every).build())
    return found


def source() -> KafkaSourceBuilder:
    """Return what reads from the beginning."""
    found = KafkaSource.builder().set_bootstrap_servers(BROKER).set_group_id("flink")
    found = found.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    return found.set_value_only_deserializer(SimpleStringSchema())


def bounded(found: KafkaSourceBuilder) -> KafkaSource:
    """Return a source that ends with what is there now."""
    return found.set_bounded(KafkaOffsetsInitializer.latest()).build()


def sink(topic: str) -> KafkaSink:
    """Return what writes to a topic."""
    serializer = KafkaRecordSerializationSchema.builder().set_topic(topic)
    serializer = serializer.set_value_serialization_schema(SimpleStringSchema()).build()
    return KafkaSink.builder().set_bootstrap_servers(BROKER).set_record_serializer(serializer).build()


def warehouse() -> JdbcSink:
    """Return what writes to a table of a database that does not answer."""
    place = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    place = place.with_url("jdbc:postgresql://warehouse.shop.example:5432/shop").with_driver_name(
        "org.postgresql.Driver"
    )
    place = place.with_user_name("shop").with_password("none").build()
    once = JdbcExecutionOptions.builder().with_max_retries(0).build()
    return JdbcSink.sink("INSERT INTO staging.orders (order_id, status) VALUES (?, ?)", ORDER, place, once)


for topic in ("orders", "refunds"):
    flink = job(f"load_{topic}")
    rows = [json.dumps(row, default=str) for row in shop.orders()]
    flink.from_collection(rows, Types.STRING()).sink_to(sink(f"shop.{topic}"))
    flink.execute(f"load_{topic}")

flink = job("collect_orders")
both = bounded(source().set_topics("shop.orders", "shop.refunds"))
flink.from_source(both, WatermarkStrategy.no_watermarks(), "orders and refunds").sink_to(sink("shop.collected"))
flink.execute("collect_orders")

flink = job("collect_refunds")
some = bounded(source().set_topic_pattern("shop\\.re.*"))
flink.from_source(some, WatermarkStrategy.no_watermarks(), "refunds").sink_to(sink("shop.collected"))
flink.execute("collect_refunds")

flink = job("orders_to_warehouse")
flink.from_collection([Row(1, "placed")], ORDER).add_sink(warehouse())
try:
    flink.execute("orders_to_warehouse")
except Exception as error:  # noqa: BLE001 - Py4JJavaError, by way of pyflink's own
    print(f"failed, as it is to: {str(error)[:80]}")
else:
    sys.exit("the job of the warehouse did not fail")

flink = job("live_orders", RuntimeExecutionMode.STREAMING)
flink.enable_checkpointing(1000)  # milliseconds
live = source().set_topics("shop.orders").build()
flink.from_source(live, WatermarkStrategy.no_watermarks(), "orders").sink_to(sink("shop.collected"))
client = flink.execute_async("live_orders")
await_events(EVENTS, ("RUNNING",), 1)
client.cancel().result()  # of which the listener tells nothing: it hears of jobs that are waited for
