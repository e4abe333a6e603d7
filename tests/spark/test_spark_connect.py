"""Translation with a real server of Spark Connect, which gives no access to the JVM; the rest is refused by name."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.partitions import dumped
from support.sample_events import EXAMPLES

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import dump_catalog
from dh_bridge.catalog.store import Catalog

PROGRAM = Path(__file__).parents[1] / "support" / "spark_connect.py"
EVENTS = EXAMPLES / "client.ndjson"
STREAM = (
    "Spark Connect: a stream needs the JVM of the driver, which Spark Connect does not give access to"
    " (run it on a cluster with a classic session, or translate new events in a scheduled batch)"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder in which a program with a session of Spark Connect wrote its results."""
    folder = tmp_path_factory.mktemp("connect")
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("DH_BRIDGE_", "PYSPARK_"))}
    command = [sys.executable, PROGRAM, EVENTS, folder]
    finished = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**environment, "PYSPARK_PYTHON": sys.executable}, cwd=folder
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
