"""What docs/spark.md prints for a notebook runs as printed; addresses are a server on loopback and folders of the test."""

from __future__ import annotations

import re
import shutil

from support.gms import Gms
from support.sample_events import EXAMPLES, ROOT

from dh_bridge.catalog.edges import entity_type
from dh_bridge.catalog.store import Catalog
from dh_bridge.spark.problems import PACKAGES

PAGE = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")


def test_code_of_the_page_runs_as_printed(session, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", "")
    file = str(EXAMPLES / "dbt.ndjson")
    (tmp_path / "landing").mkdir()
    shutil.copy(file, tmp_path / "landing")
    # No view: the active session may be the one of a stream that another test ran, which has none of this one's.
    session.read.text(file).withColumnRenamed("value", "payload").write.saveAsTable("printed_events", mode="overwrite")
    blocks = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    # e2e_lake_tables.py runs MERGE, test_spark_connect.py a remote session; an operator needs Airflow
    elsewhere = ("MERGE", "Operator", ".remote(")
    code = "import os\n" + "".join(block for block in blocks if not any(word in block for word in elsewhere))
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms:
        for printed, here in {
            "s3a://archive/openlineage/": file,
            "lake.raw.events": "printed_events",
            "s3a://archive": str(tmp_path),
            "http://gms:8080": gms.url,
            "shop.db": str(tmp_path / "shop.db"),
            '"landing/"': f'"{tmp_path / "landing"}"',
            '"state"': f'"{tmp_path / "state"}"',
            "parquet:output": f"parquet:{tmp_path / 'output'}",
            '"output"': f'"{tmp_path / "output"}"',
        }.items():
            assert printed in code
            code = code.replace(printed, here)
        exec(compile(code, "docs/spark.md", "exec"), {})  # noqa: S102 - our own page
        assert {one.entity_type for one in gms.proposals} >= {"dataset", "dataJob", "dataProcessInstance"}
    assert len(list((tmp_path / "proposals").glob("*.parquet"))) == 1
    assert len(list((tmp_path / "output").glob("*.parquet"))) == 1
    with Catalog(tmp_path / "shop.db", readonly=True) as catalog:
        assert {entity_type(urn) for urn in catalog.entities()} >= {"dataset", "dataJob", "dataProcessInstance"}
    assert "dataJobInputOutput" in capsys.readouterr().out


def test_versions_of_the_page_are_those_of_the_messages():
    for packages in PACKAGES.values():
        for package in filter(None, packages):
            assert package in PAGE
