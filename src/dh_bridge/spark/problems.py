"""Spark's errors in one line, and the remedies of those that a new user meets: jars that are missing, Java, the workers' Python.

No pyspark here: the command line reads it before Spark is loaded.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dh_bridge.errors import SettingsError

_JAVA_PREFIX = re.compile(r"\AAn error occurred while calling \S+\n: (?:[\w$.]+: )?")
_TRACEBACK_HEADER, _CAUSE_PREFIX = "Traceback (most recent call last):", "Caused by: "
_CLASS_PREFIXES = re.compile(r"\A(?:(?:[\w$]+\.)+[\w$]+: )+")


class SparkPackages(NamedTuple):
    """The coordinates of packages on Maven Central for a version of Spark, None where there is none."""

    delta: str | None
    iceberg: str | None
    kafka: str
    hadoop_aws: str


PACKAGES = {
    "3.5": SparkPackages(
        "io.delta:delta-spark_2.12:3.3.2",
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.0",
        "org.apache.spark:spark-sql-kafka-0-10_2.12:3.5.7",
        "org.apache.hadoop:hadoop-aws:3.3.4",
    ),
    "4.0": SparkPackages(
        "io.delta:delta-spark_2.13:4.0.0",
        "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.10.0",
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",
        "org.apache.hadoop:hadoop-aws:3.4.1",
    ),
    "4.1": SparkPackages(
        "io.delta:delta-spark_4.1_2.13:4.4.0",
        "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1",
        "org.apache.hadoop:hadoop-aws:3.4.2",
    ),
    "4.2": SparkPackages(
        "io.delta:delta-spark_4.2_2.13:4.4.0",
        None,
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "org.apache.hadoop:hadoop-aws:3.5.0",
    ),
    "4.3": SparkPackages(
        None, None, "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0", "org.apache.hadoop:hadoop-aws:3.5.0"
    ),
}
"""Version of Spark -> packages that exist on Maven Central; docs/spark.md has the same table and says which rows were tried."""

_NO_SOURCE = re.compile(r"Failed to find (?:the )?data source: ([\w-]+(?:\.[\w-]+)*)")
_PROBLEMS = (
    (
        re.compile(r"Class org\.apache\.hadoop\.fs\.s3a\.S3AFileSystem not found"),
        "Spark cannot read s3a://: hadoop-aws is not on its class path",
        "{hadoop_aws}",
    ),
    (
        re.compile(r'No FileSystem for scheme "([\w.+-]+)"'),
        "Spark does not know the scheme {}://",
        "pass the jars of its Hadoop connector: --conf spark.jars=A.jar,B.jar",
    ),
    (
        re.compile(r"JAVA_GATEWAY_EXITED|Java gateway process exited|No such file or directory: '[^']*java'"),
        "Spark cannot start Java",
        "install Java 17, and set JAVA_HOME or PATH to it",
    ),
    (
        re.compile(r"No module named '(dh_bridge|msgspec|orjson|pydantic|yaml)\b"),
        "the Python of Spark's workers has no module {}",
        "install dh-bridge[spark] there and set PYSPARK_PYTHON to that Python, or pass --py-files dh_bridge.zip",
    ),
    (
        re.compile(r"PYTHON_VERSION_MISMATCH|Python in worker has different version"),
        "the Python of Spark's workers has another version than that of the driver",
        "set os.environ['PYSPARK_PYTHON'] = sys.executable before the session starts",
    ),
)
"""What Spark says, the problem, and its remedy."""
_KNOWN_FORMATS = "parquet, orc, json, csv, text, avro, delta, iceberg, table"


def packages_for(version: str) -> SparkPackages:
    """Return the packages for a version of Spark: those of its minor version, or of the newest known one below it."""
    number = tuple(map(int, re.findall(r"\d+", version)[:2]))
    earlier_versions = [name for name in PACKAGES if tuple(map(int, name.split("."))) <= number]
    return PACKAGES[earlier_versions[-1] if earlier_versions else next(iter(PACKAGES))]


def known_problem(error: Exception, version: str | None = None) -> SettingsError | None:
    """Return the error with its remedy for an error of Spark that a setting of the session avoids; None for another one.

    Args:
        error: Spark's error.
        version: The version of Spark, if a session exists.
    """
    text = f"{error}\n{error.__cause__ or ''}"
    if match := _NO_SOURCE.search(text):
        return _missing_format(match[1], version)
    for pattern, problem, remedy in _PROBLEMS:
        if match := pattern.search(text):
            name = match[1] if pattern.groups else ""
            hadoop_aws = _package_line(packages_for(version or "4.2").hadoop_aws)
            return SettingsError(
                problem.format(name), location="Spark", remedy=remedy.format(name, hadoop_aws=hadoop_aws)
            )
    return None


def _missing_format(name: str, version: str | None) -> SettingsError:
    packages = packages_for(version or "4.2")
    package = {"delta": packages.delta, "iceberg": packages.iceberg, "kafka": packages.kafka}.get(name)
    if name == "avro" and version:
        package = packages.kafka.replace("spark-sql-kafka-0-10", "spark-avro")
    if package:
        return SettingsError(f"Spark has no data source {name}", location="--format", remedy=_package_line(package))
    if name in ("delta", "iceberg"):
        remedy = f"use Spark 4.1 or 3.5: there is no package of {name} for Spark {version}"
    else:
        remedy = f"use one of {_KNOWN_FORMATS}, or pass the jar of the format: --conf spark.jars=A.jar"
    return SettingsError(f"Spark has no data source {name}", location="--format", remedy=remedy)


def _package_line(package: str) -> str:
    return f"pass --conf spark.jars.packages={package}"


def is_spark_error(error: Exception) -> bool:
    """Return whether an error comes from Spark or its bridge to Java."""
    return type(error).__module__.startswith(("pyspark.", "py4j."))


def innermost_cause(text: str) -> str:
    """Return the innermost cause in Spark's message: Java's, else Python's, else the first line."""
    text = _JAVA_PREFIX.sub("", text.strip())
    _, separator, tail = text.rpartition(_TRACEBACK_HEADER)
    lines = [line for line in tail.splitlines() if line[:1].strip()]
    causes = [line.removeprefix(_CAUSE_PREFIX) for line in lines if line.startswith(_CAUSE_PREFIX)]
    if causes or separator:
        return _CLASS_PREFIXES.sub("", (causes[-1:] + lines)[0])
    return text.partition("\n")[0]
