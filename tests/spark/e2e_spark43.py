"""The newest PySpark, 4.3, translates: files, a topic, a stream, and a session of Spark Connect. Delta and Iceberg have no packages for it.

The environment is `.venv-spark43`, which `make e2e` makes.
"""

from __future__ import annotations

import json

import pytest
from confluent_kafka import Producer
from realparts.fixtures import need_parts
from realparts.jars import KAFKA, SPARK43_KAFKA
from realparts.kafka import QUIET
from support.partitions import dumped
from support.sample_events import EXAMPLES, ROOT
from support.spark_environments import python_of, run_commands, run_program

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog

pytestmark = pytest.mark.kafka

CLIENT = EXAMPLES / "client.ndjson"


@pytest.fixture(scope="module")
def python():
    """Return the Python of PySpark 4.3."""
    need_parts(KAFKA, SPARK43_KAFKA)
    return python_of(".venv-spark43")


@pytest.fixture(scope="module")
def expected():
    return dumped(Bridge(Settings(datahub_version="1.7")).translate(CLIENT.read_bytes().splitlines()).proposals)


@pytest.fixture(scope="module")
def folder(python, kafka, tmp_path_factory):
    """Return the folder with the catalogues of a batch of files, a batch of a topic, and streams of both."""
    home, topic = tmp_path_factory.mktemp("newest"), kafka.topic("openlineage", partitions=2)
    raws = CLIENT.read_bytes().splitlines()
    (home / "landing").mkdir()
    producer = Producer({"bootstrap.servers": kafka.bootstrap, **QUIET})
    for number, raw in enumerate(raws):
        producer.produce(topic, raw, partition=number % 2)
    assert producer.flush(30) == 0
    for number in range(3):
        (home / "landing" / f"{number}.ndjson").write_bytes(b"\n".join(raws[number::3]))
    files, records = ["--events", home / "landing"], ["--kafka", kafka.bootstrap, "--topic", topic]
    lines = [
        ["batch", "--events", CLIENT, "--to", f"catalog:{home / 'files.db'}"],
        ["batch", *records, "--to", f"catalog:{home / 'topic.db'}"],
        ["stream", *files, "--checkpoint", home / "state", "--to", f"catalog:{home / 'stream.db'}"],
        ["stream", *records, "--checkpoint", home / "offsets", "--to", f"catalog:{home / 'topic-stream.db'}"],
    ]
    lines[2] += ["--option", "maxFilesPerTrigger=2"]
    lines[3] += ["--option", "maxOffsetsPerTrigger=30"]
    run_commands(lines, python, home, SPARK43_KAFKA)
    return home


@pytest.mark.parametrize("name", ["files", "topic", "stream", "topic-stream"])
def test_result_under_4_3_equals_one_call(folder, expected, name):
    with Catalog(folder / f"{name}.db", readonly=True) as catalog:
        assert list(dump_catalog(catalog)) == expected


def test_batch_with_spark_connect_of_4_3_equals_one_call(python, expected, tmp_path):
    run_program([python, ROOT / "tests" / "support" / "spark_connect.py", CLIENT, tmp_path], python, tmp_path)
    output = json.loads((tmp_path / "output.json").read_text())
    assert output["results"]["dead"] == 0
    assert all(count > 0 for count in output["results"]["tables"].values())
    for name in ("connect.db", "folder.db"):
        with Catalog(tmp_path / name, readonly=True) as catalog:
            assert list(dump_catalog(catalog)) == expected
