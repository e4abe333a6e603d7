"""PySpark 3.5: a real job under OpenLineage's listener, whose events, from files and from Kafka, are translated there.

The environment is `.venv-spark35`, which `make e2e` makes.
"""

from __future__ import annotations

import csv
import json
import sys
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from realparts.fixtures import need_parts
from realparts.jars import KAFKA, SPARK35_KAFKA, SPARK35_LISTENER
from support.partitions import dumped
from support.sample_events import EXAMPLES, ROOT
from support.spark_environments import QUICK, conf_options, jar_list, python_of, run_commands, run_program

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog
from dh_bridge.cli import commands
from dh_bridge.openlineage.read import read_events
from dh_bridge.receiver.running import run_receiver

pytestmark = pytest.mark.kafka

CAPTURE = ROOT / "examples" / "capture"
CLIENT = EXAMPLES / "client.ndjson"
# Spark's own settings know no dots in the names of Kafka's.
TRANSPORT = """
transport:
  type: composite
  continueOnFailure: false
  transports:
    one:
      type: file
      location: {file}
    two:
      type: kafka
      topicName: {topic}
      properties:
        bootstrap.servers: {servers}
        acks: all
        key.serializer: org.apache.kafka.common.serialization.StringSerializer
        value.serializer: org.apache.kafka.common.serialization.StringSerializer
    three:
      type: http
      url: {url}
      compression: gzip
      auth:
        type: api_key
        apiKey: {key}
"""
KEY = "shop-key"


@pytest.fixture(scope="module")
def python():
    """Return the Python of PySpark 3.5."""
    need_parts(KAFKA, SPARK35_KAFKA, SPARK35_LISTENER)
    return python_of(".venv-spark35")


@pytest.fixture(scope="module")
def listener_config(python, kafka, tmp_path_factory):
    """Run the job of examples/capture under the listener; return (folder, topic).

    It writes to a file, to a topic, and to a receiver.
    """
    home, topic = tmp_path_factory.mktemp("shop"), kafka.topic("openlineage", partitions=2)
    lake(home / "lake")
    (home / "events").mkdir()
    listener_config = home / "openlineage.yml"
    line = {
        "spark.jars": jar_list(SPARK35_LISTENER, SPARK35_KAFKA),
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.namespace": "shop",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.warehouse.dir": home / "lake" / "warehouse",
        **QUICK,
    }
    command = [python.with_name("spark-submit"), "--master", "local[2]", *conf_options(line)]
    job = CAPTURE / "spark" / "order_totals.py"
    settings = Settings(datahub_version="1.7", receiver={"listen": "127.0.0.1:0", "token": KEY})
    with run_receiver(f"catalog:{home / 'received.db'}", settings, None) as receiver:
        file, url = home / "events" / "spark.ndjson", receiver.url
        listener_config.write_text(TRANSPORT.format(file=file, servers=kafka.bootstrap, topic=topic, url=url, key=KEY))
        run_program([*command, job, home / "lake"], python, home, OPENLINEAGE_CONFIG=str(listener_config))
    return home, topic


@pytest.fixture(scope="module")
def translated(python, listener_config, kafka):
    """Let PySpark 3.5 translate them from both places, and the client's in a batch and a stream; return the folder."""
    home, topic = listener_config
    landing = home / "landing"
    landing.mkdir()
    raws = CLIENT.read_bytes().splitlines()
    for number in range(3):
        (landing / f"{number}.ndjson").write_bytes(b"\n".join(raws[number::3]))
    lines = [
        ["batch", "--events", home / "events", "--to", f"catalog:{home / 'files.db'}"],
        ["batch", "--kafka", kafka.bootstrap, "--topic", topic, "--to", f"catalog:{home / 'topic.db'}"],
        ["batch", "--events", CLIENT, "--to", f"catalog:{home / 'batch.db'}"],
        ["stream", "--events", landing, "--checkpoint", home / "state", "--to", f"catalog:{home / 'stream.db'}"],
    ]
    lines[3] += ["--option", "maxFilesPerTrigger=2"]
    run_commands(lines, python, home, SPARK35_KAFKA)
    return home


def lake(folder):
    """Lay out what the job reads: orders as Parquet, customers as CSV."""
    sys.path.insert(0, str(CAPTURE))
    try:
        import shop  # noqa: PLC0415 - the example's own rows
    finally:
        sys.path.remove(str(CAPTURE))
    (folder / "raw" / "orders").mkdir(parents=True)
    columns = {
        name: list(column) for name, column in zip(shop.ORDER_COLUMNS, zip(*shop.orders(), strict=True), strict=True)
    }
    columns["ordered_at"] = [datetime.fromisoformat(time) for time in columns["ordered_at"]]
    pq.write_table(pa.table(columns), folder / "raw" / "orders" / "part-0.parquet", coerce_timestamps="us")
    with (folder / "raw" / "customers.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([tuple(shop.CUSTOMER_COLUMNS), *shop.CUSTOMERS])


def held(path):
    with Catalog(path, readonly=True) as catalog:
        return list(dump_catalog(catalog))


def expected(*paths):
    return dumped(Bridge(Settings(datahub_version="1.7")).translate(read_events(paths)).proposals)


def test_batch_and_a_stream_under_3_5_end_as_emit(translated):
    assert held(translated / "batch.db") == expected(CLIENT)
    assert held(translated / "stream.db") == expected(CLIENT)


def test_listener_files_and_kafka_end_as_emit(translated, listener_config, kafka):
    written = (translated / "events" / "spark.ndjson").read_bytes().splitlines()
    assert len(written) > 15
    assert sorted(message.value() for message in kafka.messages(listener_config[1])) == sorted(written)
    assert held(translated / "files.db") == held(translated / "topic.db") == expected(translated / "events")


def test_listener_over_http_ends_as_its_events_in_a_file(translated):
    line = [
        "emit",
        str(translated / "events"),
        "--to",
        f"catalog:{translated / 'emitted.db'}",
        "--datahub-version",
        "1.7",
    ]
    done = CliRunner().invoke(commands, line)
    assert done.exit_code == 0, done.output
    assert held(translated / "received.db") == held(translated / "emitted.db")


LINEAGE = """
LAKE/order_totals  file
└── upstream
    └── order_totals.adaptive_spark_plan.lake_order_totals  job
        ├── LAKE/raw/customers.csv  file
        │   ├── email -> buyers  DIRECT:AGGREGATION+MASKED
        │   └── country -> country  DIRECT:IDENTITY
        └── LAKE/raw/orders  file
            ├── ordered_at -> ordered_on  DIRECT:TRANSFORMATION
            ├── order_id -> orders  DIRECT:AGGREGATION+MASKED
            └── amount -> revenue  DIRECT:AGGREGATION
"""


def test_application_sql_job_and_columns_are_in_the_lineage(translated):
    catalog = str(translated / "topic.db")

    def stated(command, *arguments):
        done = CliRunner().invoke(commands, [command, catalog, *arguments])
        assert done.exit_code == 0, done.output
        return done.stdout

    totals = f"urn:li:dataset:(urn:li:dataPlatform:file,{translated}/lake/order_totals,PROD)"
    assert stated("lineage", totals, "--up", "--columns").replace(f"{translated}/lake", "LAKE") == LINEAGE.lstrip()
    application = "urn:li:dataFlow:(spark,order_totals,shop)"
    job = f"urn:li:dataJob:({application},order_totals.adaptive_spark_plan.lake_order_totals)"
    whole, sql = (json.loads(stated("runs", urn, "--json")) for urn in (application, job))
    assert (whole["status"], sql["status"], sql["parent"]) == ("SUCCESS", "SUCCESS", whole["urn"])
    assert sql["urn"] in whole["children"]
