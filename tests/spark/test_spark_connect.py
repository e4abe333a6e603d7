"""Translation with a real server of Spark Connect at an address, in another process; what needs the JVM is refused by name.

The Python of its workers has no package: the client sends it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pyspark
import pytest
from realparts.process import free_port
from support.package_archive import build_archive, python_without_package
from support.partitions import dumped
from support.sample_events import EXAMPLES

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog

PROGRAM = Path(__file__).parents[1] / "support" / "spark_connect.py"
EVENTS = EXAMPLES / "client.ndjson"
ENVIRONMENT = {key: value for key, value in os.environ.items() if not key.startswith(("DH_BRIDGE_", "PYSPARK_"))}
STREAM = (
    "Spark Connect: a stream needs the JVM of the driver, which Spark Connect does not give access to"
    " (run it on a cluster with a classic session, or translate new events in a scheduled batch)"
)


@contextmanager
def connect_server(folder, python):
    """Start a server whose workers have this Python; yield its address."""
    port = free_port()
    conf = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.ui.enabled": "false",
    }
    options = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    home = Path(pyspark.__file__).parent
    command = [home / "bin" / "spark-submit", "--master", "local[2]", *options]
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
    environment = {**ENVIRONMENT, "SPARK_HOME": str(home), "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}
    with (folder / "server.log").open("wb") as log:
        server = subprocess.Popen(list(map(str, command)), stdout=log, stderr=log, env=environment, cwd=folder)
    try:
        for _ in range(600):
            if "Spark Connect server started" in (folder / "server.log").read_text(errors="replace"):
                break
            assert server.poll() is None, (folder / "server.log").read_text(errors="replace")[-3000:]
            time.sleep(0.1)
        yield f"sc://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder in which a program with a session of Spark Connect wrote its results."""
    folder = tmp_path_factory.mktemp("connect")
    archive = build_archive(tmp_path_factory.mktemp("dist"))
    with connect_server(folder, python_without_package(tmp_path_factory.mktemp("env"))) as address:
        command = [sys.executable, PROGRAM, EVENTS, folder, address, archive]
        finished = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**ENVIRONMENT, "PYSPARK_PYTHON": sys.executable}, cwd=folder
        )  # fmt: skip
    assert finished.returncode == 0, finished.stderr[-3000:]
    return folder


@pytest.fixture(scope="module")
def output(folder):
    return json.loads((folder / "output.json").read_text())


def test_batch_with_spark_connect_equals_one_call(folder, output):
    translation = Bridge(Settings(datahub_version="1.7")).translate(EVENTS.read_bytes().splitlines())
    results = output["results"]
    assert (results["events"], results["dead"]) == (translation.counts.events, 0)
    assert results["proposals"] == results["catalogue"] == results["files"] == results["whole folder"] > 0
    for name in ("connect.db", "folder.db"):
        with Catalog(str(folder / name)) as catalog:
            assert list(dump_catalog(catalog)) == dumped(translation.proposals)
    assert all(count > 0 for count in results["tables"].values())
    assert results["urn"].startswith("urn:li:dataset:(urn:li:dataPlatform:s3,lake/raw/orders")


def test_features_that_need_the_jvm_are_refused_with_the_alternative(output):
    refusals = output["refusals"]
    for name in ("stream_files", "stream_rows", "stream", "kafka stream"):
        assert refusals[name] == STREAM
    assert refusals["read"].startswith("Spark Connect: reading files by their paths needs the JVM of the driver")
    assert "translate(spark.read.text(path))" in refusals["read"]
