"""Errors that a new user meets name the problem and the line to paste."""

from __future__ import annotations

from importlib import import_module

import pytest
from pyspark.sql import SparkSession

from dh_bridge.errors import SettingsError
from dh_bridge.spark import read
from dh_bridge.spark.problems import PACKAGES, known_problem, packages_for

session_module = import_module("dh_bridge.spark.session")  # the package has a function of this name


@pytest.mark.parametrize(
    ("text", "version", "message"),
    [
        (
            "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta. Make sure the provider name is correct",
            "4.1.2",
            "--format: Spark has no data source delta (pass --conf spark.jars.packages=io.delta:delta-spark_4.1_2.13:4.4.0)",
        ),
        (
            "Failed to find the data source: delta.",
            "4.3.0",
            "--format: Spark has no data source delta (use Spark 4.1 or 3.5: there is no package of delta for Spark 4.3.0)",
        ),
        (
            "Failed to find the data source: kafka.",
            "4.3.0",
            "--format: Spark has no data source kafka (pass --conf spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0)",
        ),
        (
            "java.lang.RuntimeException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
            "3.5.9",
            "Spark: Spark cannot read s3a://: hadoop-aws is not on its class path (pass --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:3.3.4)",
        ),
        (
            'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "abfss"',
            None,
            "Spark: Spark does not know the scheme abfss:// (pass the jars of its Hadoop connector: --conf spark.jars=A.jar,B.jar)",
        ),
        (
            "[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.",
            None,
            "Spark: Spark cannot start Java (install Java 17, and set JAVA_HOME or PATH to it)",
        ),
        (
            "ModuleNotFoundError: No module named 'dh_bridge'",
            None,
            (
                "Spark: the Python of Spark's workers has no module dh_bridge (install dh-bridge[spark] there and set PYSPARK_PYTHON to"
                " that Python, or pass --py-files dh_bridge.zip)"
            ),
        ),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9",
            None,
            (
                "Spark: the Python of Spark's workers has another version than that of the driver (set os.environ['PYSPARK_PYTHON'] ="
                " sys.executable before the session starts)"
            ),
        ),
    ],
)
def test_known_errors_have_a_remedy(text, version, message):
    assert str(known_problem(RuntimeError(text), version)) == message


def test_other_errors_are_no_known_problem():
    assert known_problem(RuntimeError("[DIVIDE_BY_ZERO] Division by zero.")) is None


def test_newer_versions_of_spark_use_the_newest_known_packages():
    assert packages_for("4.4.0") == PACKAGES["4.3"]
    assert packages_for("3.5.9").kafka.endswith("_2.12:3.5.7")
    assert packages_for("3.4.0") == PACKAGES["3.5"]


def test_unknown_format_and_missing_jars_are_named_by_spark_itself(session):
    with pytest.raises(SettingsError, match="Spark has no data source no-such-format"):
        read(session, "x", format="no-such-format")
    with pytest.raises(SettingsError, match="Spark has no data source delta"):
        read(session, "x", format="delta")


def test_address_of_spark_connect_is_refused_as_a_master(monkeypatch):
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(session_module, "_session_of_another_thread", lambda: None)
    with pytest.raises(SettingsError, match=r"^--master: sc://spark is an address of Spark Connect, not of a master"):
        session_module.session(master="sc://spark")
