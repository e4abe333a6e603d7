"""The recipes of docs/spark.md for tables of a lake: MERGE into Delta and Iceberg, with a repeated batch.

PySpark 3.5 and 4.1, the newest one for which both have packages, are in environments that `make e2e` makes.
"""

from __future__ import annotations

import json
import os
import re
import subprocess

import pytest
from realparts.fixtures import need_parts
from realparts.jars import SPARK35_DELTA, SPARK35_ICEBERG, SPARK41_DELTA, SPARK41_ICEBERG, fetched
from support.sample_events import EXAMPLES, ROOT

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import canonical_aspect
from dh_bridge.catalog.store import Catalog

ENVIRONMENTS = {
    ".venv-spark35": (SPARK35_DELTA, SPARK35_ICEBERG),
    ".venv-spark41": (SPARK41_DELTA, SPARK41_ICEBERG),
}
"""Environment -> the jars for its PySpark."""
PAGE = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")
FORMATS = ("delta", "iceberg")


@pytest.fixture(scope="module", params=ENVIRONMENTS)
def environment(request):
    need_parts(*ENVIRONMENTS[request.param])
    if not (ROOT / request.param / ".ready").exists():
        if os.environ.get("CI"):
            pytest.fail(f"there is no {request.param}: make {request.param}/.ready")
        pytest.skip(f"there is no {request.param}: make {request.param}/.ready")
    return request.param


@pytest.fixture(scope="module")
def raws():
    return (EXAMPLES / "client.ndjson").read_bytes().splitlines()


@pytest.fixture(scope="module")
def tables(environment, raws, tmp_path_factory):
    """Return format -> the rows of the tables after the stream."""
    home = tmp_path_factory.mktemp("lake")
    (home / "landing").mkdir()
    for number in range(2):
        (home / "landing" / f"{number}.ndjson").write_bytes(b"\n".join(raws[number::2]))
    jars = [str(jar) for part in ENVIRONMENTS[environment] for jar in sorted(fetched(part).glob("*.jar"))]
    conf = {
        "spark.jars": ",".join(jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": home / "iceberg",
        "spark.sql.warehouse.dir": home / "warehouse",
        "spark.sql.shuffle.partitions": "1",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.log.level": "ERROR",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    (recipe,) = re.findall(r"```python\n(session.sql\(f\"CREATE TABLE.+?)```", PAGE, re.DOTALL)
    confs = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    folder = ROOT / environment / "bin"
    command = [folder / "spark-submit", "--master", "local[2]", *confs, ROOT / "tests/support/spark_lake.py"]
    environ = {name: value for name, value in os.environ.items() if name not in ("SPARK_HOME", "PYTHONPATH")}
    environ |= {"PYSPARK_PYTHON": str(folder / "python"), "SPARK_LOCAL_IP": "127.0.0.1"}
    environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*map(str, command), recipe, str(home / "landing"), str(home)],
        capture_output=True, text=True, check=False, cwd=home, env=environ, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    return {name: json.loads((home / f"{name}.json").read_text()) for name in FORMATS}


@pytest.mark.parametrize("name", FORMATS)
def test_merged_table_holds_what_a_catalogue_holds(tables, raws, name):
    with Catalog(":memory:") as catalog:
        catalog.apply(Bridge(Settings(datahub_version="1.7")).translate(raws).proposals)
        expected = {
            (urn, aspect): canonical_aspect(aspect, value)
            for urn in catalog.entities()
            for aspect, value in catalog.aspects(urn).items()
        }
        points = sum(
            len(catalog.timeseries(urn, aspect))
            for urn in catalog.entities()
            for aspect in catalog.timeseries_aspects(urn)
        )
    rows = tables[name]["aspects"]
    assert len(rows) == len(expected)
    assert {row["refused"] for row in rows} == {None}
    found = {
        (row["entity_urn"], row["aspect_name"]): canonical_aspect(row["aspect_name"], json.loads(row["aspect"]))
        for row in rows
    }
    assert found == expected
    assert len(tables[name]["points"]) == points > 0
    assert {row["batch"] for row in rows} == {0, 1}
    runs = {row["urn"]: row["status"] for row in tables[name]["runs"]}
    assert set(runs) == {urn for urn, _ in expected if urn.startswith("urn:li:dataProcessInstance:")}
    assert "SUCCESS" in runs.values()
