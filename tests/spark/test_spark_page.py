"""What docs/spark.md prints for a notebook runs as printed; addresses are a server on loopback and folders of the test."""

from __future__ import annotations

import re

from support.gms import Gms
from support.sample_events import EXAMPLES, ROOT

from dh_bridge.catalog.edges import entity_type
from dh_bridge.catalog.store import Catalog

PAGE = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")


def test_notebook_runs_as_printed(session, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", "")
    file = str(EXAMPLES / "dbt.ndjson")
    # No view: the active session may be the one of a stream that another test ran, which has none of this one's.
    session.read.text(file).withColumnRenamed("value", "payload").write.saveAsTable("printed_events", mode="overwrite")
    blocks = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    notebook, tables, target = (block for block in blocks if "MERGE" not in block)  # which e2e_lake_tables.py runs
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms:
        code = "import os\n" + notebook.replace("translation.close()\n", "") + tables + target + "translation.close()\n"
        for printed, here in {
            "s3a://archive/openlineage/": file,
            "lake.raw.events": "printed_events",
            "s3a://archive": str(tmp_path),
            "http://gms:8080": gms.url,
            "shop.db": str(tmp_path / "shop.db"),
        }.items():
            assert printed in code
            code = code.replace(printed, here)
        exec(compile(code, "docs/spark.md", "exec"), {})  # noqa: S102 - our own page
        assert {one.entity_type for one in gms.proposals} >= {"dataset", "dataJob", "dataProcessInstance"}
    assert len(list((tmp_path / "proposals").glob("*.parquet"))) == 1
    with Catalog(tmp_path / "shop.db", readonly=True) as catalog:
        assert {entity_type(urn) for urn in catalog.entities()} >= {"dataset", "dataJob", "dataProcessInstance"}
    assert "dataJobInputOutput" in capsys.readouterr().out
