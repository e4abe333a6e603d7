"""Topics of Kafka as a source, by Spark's own connector (spark-sql-kafka-0-10)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dh_bridge.errors import BridgeError, SettingsError
from dh_bridge.spark.checkpoint_notes import with_source
from dh_bridge.spark.connect import STREAM_ALTERNATIVE, require_jvm
from dh_bridge.spark.event_columns import frame
from dh_bridge.spark.translation import parse_micros

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

CLOCK_SKEW_MILLIS = 86_400_000
"""Milliseconds by which a record may be older than its event (clocks that differ, times without a zone)."""
_START_OPTIONS = ("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp")
_END_OPTIONS = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
_BROKER_TIMEOUT_MILLIS = "15000"
"""Milliseconds for the brokers to report the contents of a topic; Kafka's own default is a minute."""
_CLIENT_PACKAGES = ("org.apache.kafka", "kafkashaded.org.apache.kafka")


def kafka(  # noqa: PLR0913 - the options of a topic
    spark: SparkSession,
    servers: str,
    topic: str,
    *,
    options: Mapping[str, str] | None = None,
    since: str | None = None,
    stream: bool = False,
) -> DataFrame:
    """Return the events of a topic (several: with commas), all present ones or those from ``since`` on; or a stream.

    ``options`` are Spark's, such as ``startingOffsets``, ``endingTimestamp``, ``kafka.security.protocol``. The bounds are
    determined here, so that every step of a job sees the same events. ``since``: the time (ISO 8601) of the first event;
    records that the topic got more than a day earlier (CLOCK_SKEW_MILLIS) are not read. A stream begins with the present events
    of the topic, unless ``options`` define another start.
    """
    if stream:
        require_jvm(spark, "a stream", STREAM_ALTERNATIVE)
    reader_options = {"kafka.bootstrap.servers": servers, "subscribe": topic, **(options or {})}
    if stream and since is not None:
        raise SettingsError(
            "`since` is not supported in a stream", location="since", remedy="set startingTimestamp in the options"
        )
    if stream and not _has_any_option(reader_options, _START_OPTIONS):
        reader_options["startingOffsets"] = "earliest"
    reader = spark.readStream if stream else spark.read
    try:
        rows = reader.format("kafka").options(**reader_options).load()
    except Exception as error:
        if "kafka" in str(error).lower() and "find" in str(error).lower():
            raise SettingsError(
                "Spark has no Kafka connector",
                location="--kafka",
                remedy=f"pass --conf spark.jars.packages={connector_coordinates(spark)}, or the closest version on Maven Central",
            ) from error
        raise
    if not stream and (bounds := _missing_bounds(spark, reader_options, since)):
        rows = reader.format("kafka").options(**reader_options, **bounds).load()
    return with_source(to_events(rows), f"kafka {servers} {topic}")


def connector_coordinates(spark: SparkSession) -> str:
    """Return the coordinates of the connector for this Spark: it is built for each Scala (2.12 of PySpark 3.5, 2.13 of 4.x)."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - as in _bounds
    scala, _, _ = jvm.scala.util.Properties.versionNumberString().rpartition(".")
    return f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark.version}"


def to_events(rows: DataFrame) -> DataFrame:
    """Return the rows of Spark's Kafka source as events; their location is ``topic/partition@offset``."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    numbers = (F.col(name).cast("string") for name in ("partition", "offset"))
    location = F.concat(F.col("topic"), F.lit("/"), F.concat_ws("@", *numbers))
    return frame(rows, "value", location=location)


def _missing_bounds(spark: SparkSession, reader_options: Mapping[str, str], since: str | None) -> dict[str, str]:
    """Return the bounds that ``reader_options`` leave open, as offsets: Spark would look for the end again with every step."""
    open_bounds = [
        name
        for name, option_names in (("startingOffsets", _START_OPTIONS), ("endingOffsets", _END_OPTIONS))
        if not _has_any_option(reader_options, option_names)
    ]
    if not open_bounds:
        return {}
    require_jvm(spark, "the end of a topic", f"set {' and '.join(open_bounds)} in the options")
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - the connector's own client of Kafka
    package = client_package(jvm, open_bounds)
    consumer = _jvm_member(jvm, f"{package}.clients.consumer.KafkaConsumer")(
        _client_settings(jvm, package, reader_options)
    )
    try:
        partition = _jvm_member(jvm, f"{package}.common.TopicPartition")
        partitions = [
            partition(topic.strip(), number)
            for topic in reader_options["subscribe"].split(",")
            for number in _partition_numbers(consumer, topic.strip())
        ]
        offsets = {"endingOffsets": consumer.endOffsets(partitions)}
        if "startingOffsets" in open_bounds:
            offsets["startingOffsets"] = _start_offsets(jvm, consumer, partitions, since)
        return {name: _offsets_json(partitions, offsets[name]) for name in open_bounds}
    except Exception as error:
        if type(error).__module__.startswith("py4j"):
            cause = getattr(error, "java_exception", error)
            raise BridgeError(
                str(cause).partition(": ")[2], location=f"--kafka {reader_options['kafka.bootstrap.servers']}"
            ) from error
        raise
    finally:
        consumer.close()


def client_package(jvm: Any, open_bounds: list[str]) -> str:
    """Return the package of Kafka's client: Databricks ships it under a name of its own."""
    from py4j.java_gateway import JavaPackage  # noqa: PLC0415 - comes with pyspark

    for package in _CLIENT_PACKAGES:
        if not isinstance(_jvm_member(jvm, f"{package}.clients.consumer.KafkaConsumer"), JavaPackage):
            return package
    raise SettingsError(
        "Spark has no Kafka client to read the offsets of the topic",
        location="--kafka",
        remedy=f"set the start and the end with the options {', '.join(open_bounds)}",
    )


def _jvm_member(jvm: Any, name: str) -> Any:
    """Return a class of the JVM by its full name; a package of that name if there is no class."""
    member = jvm
    for step in name.split("."):
        member = getattr(member, step)
    return member


def _has_any_option(reader_options: Mapping[str, str], names: tuple[str, ...]) -> bool:
    """Return whether one of Spark's options, in any case, is among ``reader_options``."""
    return not {name.lower() for name in names}.isdisjoint(name.lower() for name in reader_options)


def _client_settings(jvm: Any, package: str, reader_options: Mapping[str, str]) -> Any:
    """Return the settings of a client in the form of Spark's own reader."""
    settings = jvm.java.util.HashMap()
    settings.put("default.api.timeout.ms", _BROKER_TIMEOUT_MILLIS)
    for name, value in reader_options.items():
        if name.startswith("kafka."):
            settings.put(name.removeprefix("kafka."), value)
    for part in ("key", "value"):
        settings.put(f"{part}.deserializer", f"{package}.common.serialization.ByteArrayDeserializer")
    return settings


def _partition_numbers(consumer: Any, topic: str) -> list[int]:
    partitions = consumer.partitionsFor(topic)
    if not partitions:
        raise SettingsError(f"unknown topic {topic}", location="--topic", remedy="use a topic of these brokers")
    return [partition.partition() for partition in partitions]


def _start_offsets(jvm: Any, consumer: Any, partitions: list[Any], since: str | None) -> Any:
    """Return the start offset: the first record of ``since`` minus the slack, or the end if there is none."""
    if since is None:
        return consumer.beginningOffsets(partitions)
    first_millis = jvm.java.lang.Long.valueOf(parse_micros(since) // 1000 - CLOCK_SKEW_MILLIS)
    times = jvm.java.util.HashMap()
    for partition in partitions:
        times.put(partition, first_millis)
    starts, ends = consumer.offsetsForTimes(times), consumer.endOffsets(partitions)
    return {
        partition: ends[partition] if starts[partition] is None else starts[partition].offset()
        for partition in partitions
    }


def _offsets_json(partitions: list[Any], offsets: Any) -> str:
    """Return offsets as Spark's options take them: ``{"topic": {"0": 23}}``."""
    table: dict[str, dict[str, int]] = {}
    for partition in partitions:
        table.setdefault(partition.topic(), {})[str(partition.partition())] = offsets[partition]
    return json.dumps(table)
