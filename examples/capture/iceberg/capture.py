"""PySpark with OpenLineage's listener over Iceberg: what statements do to tables whose files are kept track of.

As the capture of Spark, with Iceberg's jar beside the listener's.
"""

from __future__ import annotations

import sys
from pathlib import Path

import shop
from spark.capture import SPARK_HOME, run, submit

ICEBERG = "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.1"
CATALOG = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hadoop",
    "spark.sql.catalog.lake.warehouse": str(shop.HOME / "iceberg"),
}


def main(sent: Path) -> None:
    """Write `iceberg.ndjson`: the events of returns.py."""
    SPARK_HOME.mkdir(parents=True, exist_ok=True)
    code = run(submit(Path(__file__).with_name("returns.py"), sent / "iceberg.ndjson", (ICEBERG,), **CATALOG))
    if code:
        sys.exit(f"returns ended with {code}: see Spark's output above")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
