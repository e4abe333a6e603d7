"""PySpark with OpenLineage's listener over a Hive metastore: branches of Iceberg tables, and columns that no table has.

As the capture of Spark, with Iceberg's jar beside the listener's, and with the metastore that pyspark's own jars hold (port 9083).
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pyspark
import servers
import shop
from realparts.jars import Jars, fetched
from spark.capture import LISTENER, SPARK_HOME, run, submit

JARS = Jars("spark3-lakehouse", (LISTENER, "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.10.1"), alone=True)
HOME = shop.HOME / "metastore"
PORT = 9083
METASTORE = f"thrift://warehouse.shop.example:{PORT}"
SETTINGS = {
    "spark.driver.extraJavaOptions": f"--add-opens=java.base/java.security=ALL-UNNAMED -Djdk.net.hosts.file={HOME}/hosts",
    "spark.hadoop.hive.metastore.uris": METASTORE,
    "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",  # the tables of locks are not there
    "spark.openlineage.facets.environment-properties.disabled": "true",
    "spark.sql.catalogImplementation": "hive",
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.lake.type": "hive",
    "spark.sql.catalog.lake.uri": METASTORE,
    "spark.sql.warehouse.dir": str(HOME / "lake"),
}
HIVE = {
    "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={HOME}/derby;create=true",
    "datanucleus.schema.autoCreateAll": "true",
    "hive.async.log.enabled": "false",  # asks for a jar that is not among pyspark's
    "hive.metastore.schema.verification": "false",
    "hive.metastore.warehouse.dir": str(HOME / "lake"),
}


def main(sent: Path) -> None:
    """Write `metastore.ndjson`: the events of branches.py."""
    shutil.rmtree(HOME, ignore_errors=True)
    for folder in (HOME, SPARK_HOME):
        folder.mkdir(parents=True, exist_ok=True)
    rows = "".join(f"<property><name>{name}</name><value>{value}</value></property>" for name, value in HIVE.items())
    (HOME / "hive-site.xml").write_text(f"<configuration>{rows}</configuration>", encoding="utf-8")
    jars = sorted(fetched(JARS).iterdir())  # before Java looks up hosts in the shop's file alone
    classes = f"{HOME}:{Path(pyspark.__file__).parent}/jars/*"
    command = [*servers.jvm(HOME), "-cp", classes, "org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(PORT)]
    with servers.program("metastore", command, HOME):
        servers.wait_for("metastore", lambda: servers.listens(PORT), HOME)
        code = run(submit(Path(__file__).with_name("branches.py"), sent / "metastore.ndjson", jars=jars, **SETTINGS))
    if code:
        sys.exit(f"branches ended with {code}: see Spark's output above")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
