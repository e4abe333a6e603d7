"""The package travels to executors as a zip: their Python has what it needs, but not the package itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyspark
import pytest
from support.package_archive import build_archive, python_without_package
from support.sample_events import EXAMPLES, ROOT

from dh_bridge import Bridge, Settings
from dh_bridge.datahub.proposal import ndjson_line
from dh_bridge.openlineage.read import read_events

CLIENT = EXAMPLES / "client.ndjson"
MASTER = "local-cluster[1,1,1024]"
"""An executor with a JVM and a folder of its own."""
HOME = Path(pyspark.__file__).parent


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    return build_archive(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return python_without_package(tmp_path_factory.mktemp("env"))


def test_spark_job_with_py_files_needs_no_installed_package(archive, bare, tmp_path):
    conf = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    confs = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    command = [HOME / "bin" / "spark-submit", "--master", MASTER, *confs, "--py-files", archive]
    command += [ROOT / "tests" / "support" / "spark_submitted.py", CLIENT, f"ndjson:{tmp_path / 'found'}"]
    environ = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "SPARK_CONF_DIR")}
    environ |= {"SPARK_HOME": str(HOME), "PYSPARK_PYTHON": str(bare), "SPARK_LOCAL_IP": "127.0.0.1"}
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, cwd=tmp_path, env=environ, timeout=900
    )
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-6000:]
    (output,) = (line for line in done.stdout.splitlines() if line.endswith(MASTER))
    place = output.removesuffix(f" {MASTER}")
    assert place.endswith("dh_bridge.zip/dh_bridge/__init__.py")
    assert not place.startswith(str(archive.parent))  # an executor's own copy
    lines = [line for part in (tmp_path / "found").glob("part-*") for line in part.read_bytes().splitlines()]
    ours = Bridge(Settings(datahub_version="1.7")).translate(read_events([CLIENT])).proposals
    assert sorted(lines) == sorted(ndjson_line(one)[:-1] for one in ours)
