"""Environments of other PySparks, which `make e2e` makes, and programs that run in them."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from realparts.jars import fetched

from support.sample_events import ROOT

QUICK = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC --add-opens=java.base/java.security=ALL-UNNAMED",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def python_of(name):
    """Return the Python of an environment; skip the test if there is none, and fail in CI."""
    if not (ROOT / name / ".ready").exists():
        reason = f"there is no {name}: make {name}/.ready"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return ROOT / name / "bin" / "python"


def run_program(command, python, folder, input_text=None, **variables):
    """Run a program in the environment of ``python``; fail if the program fails."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("SPARK_HOME", "PYTHONPATH")}
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    own = {"PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1", "PATH": path}
    done = subprocess.run(
        list(map(str, command)),
        input=input_text,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**inherited, **own, **variables},
        timeout=900,  # a minute, on a machine that has nothing else to do
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]


def run_commands(lines, python, folder, *kafka_jars):
    """Run commands of `dh-bridge spark` in one process of the environment, with one small Spark."""
    conf = {"spark.jars": jar_list(*kafka_jars), "spark.sql.adaptive.enabled": "false", **QUICK}
    options = ["--master", "local[2]", *conf_options(conf), "--datahub-version", "1.7", "--partitions", "1"]
    input_text = "\n".join(json.dumps(["spark", *map(str, line), *options]) for line in lines)
    run_program([python, ROOT / "tests" / "support" / "spark_commands.py"], python, folder, input_text)


def conf_options(conf):
    """Return the options of Spark's command line for settings."""
    return [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]


def jar_list(*parts):
    """Return the value of ``spark.jars``."""
    return ",".join(str(jar) for part in parts for jar in sorted(fetched(part).glob("*.jar")))
