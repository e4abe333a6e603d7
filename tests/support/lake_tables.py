"""The recipe of docs/spark.md for tables of a lake, run with a PySpark and its jars, and what its tables must have."""

from __future__ import annotations

import json
import re

from dh_bridge import Bridge, Settings
from dh_bridge.catalog.dump import canonical_aspect
from dh_bridge.catalog.store import Catalog
from support.sample_events import EXAMPLES, ROOT
from support.spark_environments import QUICK, conf_options, jar_list, run_program

FORMATS = ("delta", "iceberg")
_PAGE = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")


def lake_tables(python, home, *jars):
    """Run MERGE into Delta and Iceberg tables, with a repeated batch; return format -> the rows of the tables."""
    (home / "landing").mkdir()
    for number in range(2):
        (home / "landing" / f"{number}.ndjson").write_bytes(b"\n".join(_events()[number::2]))
    conf = {
        **QUICK,
        "spark.jars": jar_list(*jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": home / "iceberg",
        "spark.sql.warehouse.dir": home / "warehouse",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.log.level": "ERROR",
    }
    (recipe,) = re.findall(r"```python\n(session.sql\(f\"CREATE TABLE.+?)```", _PAGE, re.DOTALL)
    command = [python.with_name("spark-submit"), "--master", "local[2]", *conf_options(conf)]
    program = ROOT / "tests" / "support" / "spark_lake.py"
    run_program([*command, program, recipe, home / "landing", home], python, home)
    return {name: json.loads((home / f"{name}.json").read_text()) for name in FORMATS}


def assert_equal_to_catalogue(tables):
    """Compare the tables of a format with a catalogue after one call."""
    with Catalog(":memory:") as catalog:
        catalog.apply(Bridge(Settings(datahub_version="1.7")).translate(_events()).proposals)
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
    rows = tables["aspects"]
    assert len(rows) == len(expected)
    assert {row["refused"] for row in rows} == {None}
    aspects = {
        (row["entity_urn"], row["aspect_name"]): canonical_aspect(row["aspect_name"], json.loads(row["aspect"]))
        for row in rows
    }
    assert aspects == expected
    assert len(tables["points"]) == points > 0
    assert {row["batch"] for row in rows} == {0, 1}
    runs = {row["urn"]: row["status"] for row in tables["runs"]}
    assert set(runs) == {urn for urn, _ in expected if urn.startswith("urn:li:dataProcessInstance:")}
    assert "SUCCESS" in runs.values()


def _events():
    return (EXAMPLES / "client.ndjson").read_bytes().splitlines()
