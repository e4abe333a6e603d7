"""Spark beside a real Kafka: topics as sources, by offsets, by times and as streams; proposals from the executors."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest
from click.testing import CliRunner
from confluent_kafka import Producer
from py4j.java_gateway import JavaPackage
from realparts.fixtures import need_parts
from realparts.jars import KAFKA, SPARK_KAFKA
from realparts.kafka import QUIET
from realparts.process import free_port
from support.kafka_proposals import read as read_back
from support.partitions import dumped
from support.sample_events import EXAMPLES, T0, event
from support.sample_events import packed as sent

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import EXIT_DELIVERY, EXIT_EVENTS, commands
from dh_bridge.datahub.proposal import Payload, Proposal
from dh_bridge.errors import BridgeError, SettingsError
from dh_bridge.sinks.base import SinkOptions
from dh_bridge.spark import deliver_from_executors, topics
from dh_bridge.spark.topics import CLOCK_SKEW_MILLIS
from dh_bridge.spark.topics import kafka as read_topic
from dh_bridge.spark.translation import parse_micros

pytestmark = pytest.mark.kafka

CLIENT = EXAMPLES / "client.ndjson"
START = parse_micros(T0) // 1000


@pytest.fixture(scope="module", autouse=True)
def connector():
    need_parts(KAFKA, SPARK_KAFKA)


@pytest.fixture
def topic(kafka):
    """Return a topic with two partitions."""
    return kafka.topic("events", partitions=2)


def put(kafka, topic, rows):
    """Produce (value, partition) and (value, partition, milliseconds) rows."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap, **QUIET})
    for value, partition, *time in rows:
        producer.produce(topic, value, partition=partition, timestamp=time[0] if time else 0)
    assert producer.flush(30) == 0


def spread(raws):
    return [(raw, number % 2) for number, raw in enumerate(raws)]


def invoke(*arguments, code=0):
    done = CliRunner().invoke(
        commands, ["spark", *map(str, arguments), "--datahub-version", "1.7", "--partitions", "1"]
    )
    assert done.exit_code == code, done.output
    return done.stderr


def held(path):
    with Catalog(path, readonly=True) as catalog:
        return list(dump_catalog(catalog))


def expected(raws):
    return dumped(Bridge(Settings(datahub_version="1.7")).translate(raws).proposals)


def counted(stated, name):
    """Return a counter of a summary."""
    return next(int(line.split()[-1].replace(",", "")) for line in stated.splitlines() if line.startswith(f"{name} "))


def test_stream_starts_at_the_oldest_message_by_default(session, kafka, topic, tmp_path):
    raws = sent([event("START"), event("COMPLETE", "2026-11-20T10:02:00Z")])
    put(kafka, topic, spread(raws))

    def follow(name, **stated):
        found = []
        rows = read_topic(session, kafka.bootstrap, topic, stream=True, **stated)
        query = rows.writeStream.foreachBatch(lambda batch, _number: found.append(batch.count()))
        query.option("checkpointLocation", str(tmp_path / name)).trigger(availableNow=True).start().awaitTermination()
        return sum(found)

    assert follow("all") == 2
    later = {"startingTimestamp": str(START + 10**9), "startingOffsetsByTimestampStrategy": "latest"}
    assert follow("none", options=later) == 0
    with pytest.raises(SettingsError, match="since"):
        read_topic(session, kafka.bootstrap, topic, stream=True, since=T0)


def test_shaded_kafka_client_is_found_or_its_absence_reported():
    class Jvm:
        """Names of a JVM: packages, and the classes that it has."""

        def __init__(self, *classes, name=""):
            self._classes, self._name = classes, name

        def __getattr__(self, step):
            name = f"{self._name}.{step}".lstrip(".")
            return name if name in self._classes else Package(*self._classes, name=name)

    class Package(Jvm, JavaPackage):
        pass

    plain, shaded = (f"{root}org.apache.kafka" for root in ("", "kafkashaded."))
    both = [f"{root}.clients.consumer.KafkaConsumer" for root in (plain, shaded)]
    assert topics.client_package(Jvm(*both), ["endingOffsets"]) == plain
    assert topics.client_package(Jvm(both[1]), ["endingOffsets"]) == shaded
    with pytest.raises(SettingsError, match="set the start and the end with the options endingOffsets"):
        topics.client_package(Jvm(), ["endingOffsets"])


@pytest.mark.parametrize(
    ("version", "scala", "wanted"), [("3.5.9", "2.12.18", "_2.12:3.5.9"), ("4.3.0", "2.13.18", "_2.13:4.3.0")]
)
def test_missing_connector_error_names_its_coordinates(version, scala, wanted):
    class Reader:
        def format(self, _name):
            return self

        def options(self, **_stated):
            return self

        def load(self):
            raise RuntimeError("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: kafka.")

    properties = SimpleNamespace(versionNumberString=lambda: scala)
    jvm = SimpleNamespace(scala=SimpleNamespace(util=SimpleNamespace(Properties=properties)))
    spark = SimpleNamespace(read=Reader(), version=version, sparkContext=SimpleNamespace(_jvm=jvm))
    with pytest.raises(SettingsError, match=re.escape(f"org.apache.spark:spark-sql-kafka-0-10{wanted},")):
        read_topic(spark, "broker:9092", "events")


def test_connector_coordinates_match_the_scala_of_spark(session):
    (library,) = (Path(pyspark.__file__).parent / "jars").glob("scala-library-*.jar")
    scala = library.stem.removeprefix("scala-library-").rpartition(".")[0]
    assert (
        topics.connector_coordinates(session) == f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{pyspark.__version__}"
    )


@pytest.mark.usefixtures("session")
def test_topic_batch_reads_all_messages_and_reports_non_events(kafka, topic, tmp_path):
    raws = CLIENT.read_bytes().splitlines()
    put(kafka, topic, [*spread(raws), (None, 0), (b"\xff\xfe\x00junk", 1)])
    target, bad = tmp_path / "catalog.db", tmp_path / "bad"
    source = ("--kafka", kafka.bootstrap, "--topic", topic)
    stated = invoke("batch", *source, "--to", f"catalog:{target}", "--bad-records", bad, code=EXIT_EVENTS)
    assert held(target) == expected(raws)
    assert (counted(stated, "events"), counted(stated, "dead letters")) == (len(raws), 2)
    assert f"{topic}/0@{(len(raws) + 1) // 2}: no event: the column is null" in stated
    assert bad.exists()


@pytest.mark.usefixtures("session")
def test_topic_batch_respects_since_and_until(session, kafka, topic, tmp_path):
    raws = sent([event("START"), event("RUNNING", "2026-11-20T10:01:00Z"), event("COMPLETE", "2026-11-20T10:02:00Z")])
    put(
        kafka,
        topic,
        [(b"what nobody may read", 0, START - 2 * CLOCK_SKEW_MILLIS), *((raw, 0, START + 1) for raw in raws)],
    )

    def count(**stated):
        return read_topic(session, kafka.bootstrap, topic, **stated).count()

    assert count() == 4
    assert count(since=T0) == 3
    assert count(since="2027-01-01T00:00:00Z") == 0
    assert count(options={"startingOffsets": json.dumps({topic: {"0": 2, "1": 0}})}) == 2
    assert (
        count(
            options={
                "startingOffsets": json.dumps({topic: {"0": 1, "1": 0}}),
                "endingOffsets": json.dumps({topic: {"0": 3, "1": 0}}),
            }
        )
        == 2
    )
    assert count(options={"endingtimestamp": str(START)}) == 1
    source = ("--kafka", kafka.bootstrap, "--topic", topic, "--from", T0, "--until", "2026-11-20T10:02:00Z")
    stated = invoke("batch", *source, "--to", f"catalog:{tmp_path / 'catalog.db'}")
    assert counted(stated, "events") == 2  # --until is the time of the event, as everywhere


def test_messages_that_arrive_later_are_not_in_a_batch(session, kafka, topic):
    raws = sent([event("START"), event("COMPLETE", "2026-11-20T10:02:00Z")])
    put(kafka, topic, spread(raws))
    events = read_topic(session, kafka.bootstrap, topic)
    put(kafka, topic, spread(raws))
    assert events.count() == 2


def test_missing_topic_or_broker_is_an_error(session, kafka):
    with pytest.raises(SettingsError, match="unknown topic no-such-topic"):
        read_topic(session, kafka.bootstrap, "no-such-topic")
    hasty = {"kafka.default.api.timeout.ms": "300"}
    with pytest.raises(BridgeError, match=r"--kafka 127\.0\.0\.1.*imeout"):
        read_topic(session, f"127.0.0.1:{free_port()}", "t", options=hasty)


@pytest.mark.usefixtures("session")
def test_stream_follows_a_topic_and_goes_on_where_it_was(kafka, topic, tmp_path):
    raws = CLIENT.read_bytes().splitlines()
    target, state = tmp_path / "catalog.db", tmp_path / "state"
    command = (
        "stream",
        "--kafka",
        kafka.bootstrap,
        "--topic",
        topic,
        "--checkpoint",
        state,
        "--to",
        f"catalog:{target}",
    )
    put(kafka, topic, spread(raws[:40]))
    stated = invoke(*command, "--option", "maxOffsetsPerTrigger=25")
    put(kafka, topic, [*spread(raws[40:]), (b"junk", 0)])
    stated += invoke(*command, code=EXIT_EVENTS)
    assert held(target) == expected(raws)
    assert "batch 2: " in stated
    assert f"{topic}/0@" in stated


@pytest.fixture
def to_kafka(kafka, registry):
    """Return the options that deliver to a topic."""

    def options(topic):
        area = {"topic": topic, "registry.url": registry.url, "timeout": 10}
        return (
            "--to",
            f"kafka:{kafka.bootstrap}",
            *(part for key, value in area.items() for part in ("--set", f"kafka.{key}={value}")),
        )

    return options


def arrived(kafka, registry, topic):
    """Return what acryl-datahub reads from a topic, as proposals."""
    return [
        Proposal(mcp.entityType, mcp.entityUrn, mcp.changeType, mcp.aspectName, Payload(json.loads(mcp.aspect.value)))
        for mcp in read_back(kafka.messages(topic), registry.url)
    ]


@pytest.mark.usefixtures("session")
def test_proposals_from_executors_give_the_catalogue_of_emit(kafka, registry, to_kafka):
    topic = kafka.topic("proposals", partitions=3)
    stated = invoke("batch", "--events", CLIENT, *to_kafka(topic))
    found = arrived(kafka, registry, topic)
    assert counted(stated, "delivered") == len(found)
    assert dumped(found) == expected(CLIENT.read_bytes().splitlines())
    homes = {}
    for message in kafka.messages(topic):
        homes.setdefault(message.key(), set()).add(message.partition())
    assert {len(partitions) for partitions in homes.values()} == {1}


def test_undelivered_proposals_are_a_table_to_send_again(session, kafka, registry, to_kafka, tmp_path):
    small, large = kafka.topic("small", max_message_bytes="1500"), kafka.topic("large")
    table = tmp_path / "undelivered"
    stated = invoke(
        "batch", "--events", CLIENT, *to_kafka(small), "--set", "kafka.producer={compression.type: none}",
        "--undelivered", table, code=EXIT_DELIVERY,
    )  # fmt: skip
    rows = session.read.parquet(str(table))
    assert counted(stated, "not delivered") == rows.count() > 0
    assert counted(stated, "delivered") + rows.count() == counted(stated, "proposals")
    assert all("MSG_SIZE_TOO_LARGE" in row.reason for row in rows.collect())
    area = {"topic": large, "registry": {"url": registry.url}}
    again = deliver_from_executors(rows, f"kafka:{kafka.bootstrap}", SinkOptions(kafka=area), max_partitions=1)
    assert (again.delivered_count, again.failed_count, again.failures.count()) == (rows.count(), 0, 0)
    again.close()
    found = [*arrived(kafka, registry, small), *arrived(kafka, registry, large)]
    assert dumped(found) == expected(CLIENT.read_bytes().splitlines())


@pytest.mark.usefixtures("session")
def test_topic_that_is_missing_costs_no_proposal(to_kafka, tmp_path):
    table = tmp_path / "undelivered"
    stated = invoke("batch", "--events", CLIENT, *to_kafka("no-such-topic"), "--undelivered", table, code=EXIT_DELIVERY)
    assert "no-such-topic" in stated
    assert counted(stated, "not delivered") == counted(stated, "proposals")
