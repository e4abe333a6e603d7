"""Topics of Kafka as a source, by Spark's own connector (spark-sql-kafka-0-10)."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from dh_bridge.errors import BridgeError, SettingsError
from dh_bridge.spark.sources import frame
from dh_bridge.spark.translation import moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame, SparkSession

SLACK = 86_400_000
"""Milliseconds that a record's time may lie before that of its event (clocks that differ, times without a zone)."""
_STARTS = ("startingOffsets", "startingTimestamp", "startingOffsetsByTimestamp")
_ENDS = ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp")
_PATIENCE = "15000"
"""Milliseconds that the brokers have to say what a topic holds; Kafka's own default is a minute."""
_PACKAGES = ("org.apache.kafka", "kafkashaded.org.apache.kafka")


def kafka(  # noqa: PLR0913 - what a topic needs
    spark: SparkSession,
    servers: str,
    topic: str,
    *,
    options: Mapping[str, str] | None = None,
    since: str | None = None,
    stream: bool = False,
) -> DataFrame:
    """Return the events of a topic (several: with commas), all that it holds now or those from ``since`` on; or a stream.

    ``options`` are Spark's, such as ``startingOffsets``, ``endingTimestamp``, ``kafka.security.protocol``. What is there now
    is settled here, so that every step of a job sees the same. ``since``: the time (ISO 8601) of the first event that is wanted;
    what the topic got more than a day before it (SLACK) is not read. A stream begins with what the topic holds, unless ``options``
    say where.
    """
    chosen = {"kafka.bootstrap.servers": servers, "subscribe": topic, **(options or {})}
    if stream and since is not None:
        raise SettingsError("a stream reads no `since`", where="since", now="name startingTimestamp among the options")
    if stream and not _says(chosen, _STARTS):
        chosen["startingOffsets"] = "earliest"
    reader = spark.readStream if stream else spark.read
    try:
        rows = reader.format("kafka").options(**chosen).load()
    except Exception as error:
        if "kafka" in str(error).lower() and "find" in str(error).lower():
            raise SettingsError(
                "Spark has no Kafka connector",
                where="--kafka",
                now=f"--conf spark.jars.packages={connector(spark)}, or the version next to it that Maven Central has",
            ) from error
        raise
    if not stream and (bounds := _bounds(spark, chosen, since)):
        rows = reader.format("kafka").options(**chosen, **bounds).load()
    return of_kafka(rows)


def connector(spark: SparkSession) -> str:
    """Return the coordinates of the connector for this Spark: it is built for each Scala (2.12 of PySpark 3.5, 2.13 of 4.x)."""
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - as in _bounds
    scala, _, _ = jvm.scala.util.Properties.versionNumberString().rpartition(".")
    return f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark.version}"


def of_kafka(rows: DataFrame) -> DataFrame:
    """Return the rows of Spark's Kafka source as events; their place is ``topic/partition@offset``."""
    from pyspark.sql import functions as F  # noqa: N812, PLC0415 - Spark's custom

    number = (F.col(name).cast("string") for name in ("partition", "offset"))
    place = F.concat(F.col("topic"), F.lit("/"), F.concat_ws("@", *number))
    return frame(rows, "value", place=place)


def _bounds(spark: SparkSession, chosen: Mapping[str, str], since: str | None) -> dict[str, str]:
    """Return the bounds that ``chosen`` leaves open, as offsets: Spark would look for the end again with every step."""
    wanted = [
        name for name, said in (("startingOffsets", _STARTS), ("endingOffsets", _ENDS)) if not _says(chosen, said)
    ]
    if not wanted:
        return {}
    jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - the connector's own client of Kafka
    package = client_package(jvm, wanted)
    consumer = _within(jvm, f"{package}.clients.consumer.KafkaConsumer")(_client(jvm, package, chosen))
    try:
        partition = _within(jvm, f"{package}.common.TopicPartition")
        places = [
            partition(topic.strip(), number)
            for topic in chosen["subscribe"].split(",")
            for number in _partitions(consumer, topic.strip())
        ]
        found = {"endingOffsets": consumer.endOffsets(places)}
        if "startingOffsets" in wanted:
            found["startingOffsets"] = _starts(jvm, consumer, places, since)
        return {name: _offsets(places, found[name]) for name in wanted}
    except Exception as error:
        if type(error).__module__.startswith("py4j"):
            cause = getattr(error, "java_exception", error)
            raise BridgeError(
                str(cause).partition(": ")[2], where=f"--kafka {chosen['kafka.bootstrap.servers']}"
            ) from error
        raise
    finally:
        consumer.close()


def client_package(jvm: Any, wanted: list[str]) -> str:
    """Return the package of Kafka's client: Databricks ships it under a name of its own."""
    from py4j.java_gateway import JavaPackage  # noqa: PLC0415 - comes with pyspark

    for package in _PACKAGES:
        if not isinstance(_within(jvm, f"{package}.clients.consumer.KafkaConsumer"), JavaPackage):
            return package
    raise SettingsError(
        "this Spark has no client of Kafka that can be asked what a topic holds",
        where="--kafka",
        now=f"name where to begin and to end, as options: {', '.join(wanted)}",
    )


def _within(jvm: Any, name: str) -> Any:
    """Return a class of the JVM by its whole name; a package of that name where there is no class."""
    found = jvm
    for step in name.split("."):
        found = getattr(found, step)
    return found


def _says(chosen: Mapping[str, str], names: tuple[str, ...]) -> bool:
    """Return whether one of Spark's options, whose case does not count, is among ``chosen``."""
    return not {name.lower() for name in names}.isdisjoint(name.lower() for name in chosen)


def _client(jvm: Any, package: str, chosen: Mapping[str, str]) -> Any:
    """Return the settings of a client as Spark's own reader has them."""
    settings = jvm.java.util.HashMap()
    settings.put("default.api.timeout.ms", _PATIENCE)
    for name, value in chosen.items():
        if name.startswith("kafka."):
            settings.put(name.removeprefix("kafka."), value)
    for side in ("key", "value"):
        settings.put(f"{side}.deserializer", f"{package}.common.serialization.ByteArrayDeserializer")
    return settings


def _partitions(consumer: Any, topic: str) -> list[int]:
    found = consumer.partitionsFor(topic)
    if not found:
        raise SettingsError(f"there is no topic {topic}", where="--topic", now="name one that the brokers have")
    return [one.partition() for one in found]


def _starts(jvm: Any, consumer: Any, places: list[Any], since: str | None) -> Any:
    """Return where to begin: at the first record of ``since`` less the slack, at the end where there is none."""
    if since is None:
        return consumer.beginningOffsets(places)
    first = jvm.java.lang.Long.valueOf(moment(since) // 1000 - SLACK)
    times = jvm.java.util.HashMap()
    for place in places:
        times.put(place, first)
    found, ends = consumer.offsetsForTimes(times), consumer.endOffsets(places)
    return {place: ends[place] if found[place] is None else found[place].offset() for place in places}


def _offsets(places: list[Any], found: Any) -> str:
    """Return offsets as Spark's options take them: ``{"topic": {"0": 23}}``."""
    table: dict[str, dict[str, int]] = {}
    for place in places:
        table.setdefault(place.topic(), {})[str(place.partition())] = found[place]
    return json.dumps(table)
