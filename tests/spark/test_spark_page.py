"""What docs/spark.md prints for a notebook runs as printed; addresses are a server on loopback and folders of the test."""

from __future__ import annotations

import re

from support.gms import Gms
from support.sample_events import EXAMPLES, ROOT

PAGE = (ROOT / "docs" / "spark.md").read_text(encoding="utf-8")


def test_notebook_runs_as_printed(session, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", "")
    file = str(EXAMPLES / "dbt.ndjson")
    # No view: the active session may be the one of a stream that another test ran, which has none of this one's.
    session.read.text(file).withColumnRenamed("value", "payload").write.saveAsTable("printed_events", mode="overwrite")
    notebook, target = re.findall(r"```python\n(.+?)```", PAGE, re.DOTALL)
    with Gms(tmp_path / "gms.db", version="1.4.0") as gms:
        code = "import os\n" + notebook.replace("translation.close()\n", "") + target + "translation.close()\n"
        for printed, here in {
            "s3a://archive/openlineage/": file,
            "lake.raw.events": "printed_events",
            "s3a://archive": str(tmp_path),
            "http://gms:8080": gms.url,
        }.items():
            assert printed in code
            code = code.replace(printed, here)
        exec(compile(code, "docs/spark.md", "exec"), {})  # noqa: S102 - our own page
        assert {one.entity_type for one in gms.proposals} >= {"dataset", "dataJob", "dataProcessInstance"}
    assert len(list((tmp_path / "proposals").glob("*.parquet"))) > 0
    assert "dataJobInputOutput" in capsys.readouterr().out
