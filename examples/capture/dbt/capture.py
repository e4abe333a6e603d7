"""dbt on DuckDB through dbt-ol: raw tables to marts; tests that pass, warn and fail; a model that fails and one skipped.

Two files: the default mode (dbt-ol reads dbt's artefacts at the end) and `--consume-structured-logs` (it follows the run).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import shop

PROJECT = shop.HOME / "dbt"
TASK = f"{shop.PIPELINE}.dbt_build"


def main(sent: Path) -> None:
    """Write `dbt.ndjson` and `dbt_structured_logs.ndjson` into the folder `sent`."""
    shop.DUCKDB_FILE.unlink(missing_ok=True)
    load_raw()
    shutil.rmtree(PROJECT, ignore_errors=True)
    shutil.copytree(Path(__file__).parent / "project", PROJECT)
    # Without a catalogue dbt-ol knows no column types: build once, quietly, and let dbt write one.
    for command in (["seed"], ["run"], ["docs", "generate", "--exclude", "refunds", "refund_report"]):
        dbt("dbt", *command, events=None)
    default = sent / "dbt.ndjson"
    dbt("dbt-ol", "run", events=default)
    dbt("dbt-ol", "test", "--exclude", "refunds", "refund_report", events=default)
    followed = sent / "dbt_structured_logs.ndjson"
    dbt("dbt-ol", "build", "--consume-structured-logs", "--select", "countries", "refunds+", events=followed)
    dbt("dbt-ol", "test", "--consume-structured-logs", "--select", "stg_orders", events=followed)


def load_raw() -> None:
    """Create what the pipeline's task `load_duckdb` says it loaded."""
    with duckdb.connect(str(shop.DUCKDB_FILE)) as database:
        database.execute("create schema raw")
        for table, columns, rows in (
            ("orders", shop.ORDER_COLUMNS, shop.orders()),
            ("customers", shop.CUSTOMER_COLUMNS, shop.CUSTOMERS),
        ):
            database.execute(
                f"create table raw.{table} ({', '.join(f'{name} {kind}' for name, kind in columns.items())})"
            )
            database.executemany(f"insert into raw.{table} values ({', '.join('?' * len(columns))})", rows)  # noqa: S608 - names are ours


def dbt(*command: str, events: Path | None) -> None:
    """Run dbt in the project, under the task `dbt_build` of the night; a failing model or test is part of the story."""
    variables = os.environ | {"DBT_SEND_ANONYMOUS_USAGE_STATS": "false", "DBT_PROFILES_DIR": str(PROJECT)}
    if events:
        variables |= {
            "OPENLINEAGE_NAMESPACE": shop.NAMESPACE,
            "OPENLINEAGE_PARENT_ID": f"{shop.NAMESPACE}/{TASK}/{shop.run_id(TASK)}",
            "OPENLINEAGE_ROOT_PARENT_ID": f"{shop.NAMESPACE}/{shop.PIPELINE}/{shop.run_id(shop.PIPELINE)}",
            "OPENLINEAGE__TRANSPORT__TYPE": "file",
            "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(events),
            "OPENLINEAGE__TRANSPORT__APPEND": "true",
        }
    subprocess.run(command, cwd=PROJECT, env=variables, check=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
