"""The Spark session: the active one, else a local one that fits this machine."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from dh_bridge.errors import SettingsError
from dh_bridge.spark.problems import known_problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

_LOCAL_CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # The JVM only moves rows here. Its second compiler took more processor time than the rows of a small batch, and G1 filled
    # a heap of 1 GB with rows of megabytes; this heap is enough for a million events. With the first compiler alone Java reserves
    # 48 MB for code: a stream fills it within a minute, and nothing is compiled any more.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m",
    # Almost all data on disk are aspects: a dictionary encoding costs more than it saves,
    # and the garbage collector copies ten thousand of them at once again and again.
    "spark.sql.inMemoryColumnarStorage.compressed": "false",
    "spark.sql.inMemoryColumnarStorage.batchSize": "1000",
    # PySpark 3.5 passes so many rows at once, of any size, and Java's vectors end at 1 GiB.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "500",
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
}


def session(
    *, master: str | None = None, conf: Mapping[str, str] | None = None, name: str = "dh-bridge"
) -> SparkSession:
    """Return the active session, or make one; ``master`` and ``conf`` as of Spark.

    Without a master, and outside of spark-submit, it is a local one on all cores, bound to the loopback, with this Python
    for its workers.

    An active session of Spark Connect is returned, too: batches work there (see docs/spark.md).

    Raises:
        SettingsError: PySpark is not installed, Java cannot be started, or ``master`` is an address of Spark Connect.
    """
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional extra, loaded when it is asked for
    except ImportError as error:
        raise SettingsError(
            "pyspark is not installed", location="spark", remedy="pip install 'dh-bridge[spark]'"
        ) from error
    active_session = SparkSession.getActiveSession() or _session_of_another_thread()
    if active_session is not None:
        return active_session
    if master is not None and master.startswith("sc://"):
        raise SettingsError(
            f"{master} is an address of Spark Connect, not of a master",
            location="--master",
            remedy=f"in Python: SparkSession.builder.remote({master!r}).getOrCreate(), then translate(…)",
        )
    builder = SparkSession.builder.appName(name)
    is_submitted = (
        "PYSPARK_GATEWAY_PORT" in os.environ
    )  # spark-submit started this process: master and the rest are its own
    if master is None and not is_submitted:
        master = "local[*]"
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
            os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
            for key, value in _LOCAL_CONF.items():
                builder = builder.config(key, value)
            builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    for key, value in (conf or {}).items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        problem = known_problem(error)
        raise error if problem is None else problem from error


def _session_of_another_thread() -> SparkSession | None:
    """Return the session of this program for another thread: building one would change its settings."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional extra

    instantiated: SparkSession | None = SparkSession._instantiatedSession  # noqa: SLF001 - there is no public way
    return instantiated if instantiated is not None and instantiated.sparkContext._jsc is not None else None  # noqa: SLF001 - None: it was stopped
