"""SQLMesh on DuckDB with sqlmesh-openlineage: a seed, models over it, one that fails; the rerun of one model.

sqlmesh-openlineage sends over HTTP only, so this script takes its events.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import servers
import shop

PROJECT = shop.HOME / "sqlmesh"
PLANS = (["plan", "dev"], ["plan"], ["plan", "--restate-model", "mart.daily_revenue"])


def main(sent: Path) -> None:
    """Write `sqlmesh.ndjson` into the folder `sent`."""
    shutil.rmtree(PROJECT, ignore_errors=True)
    shutil.copytree(Path(__file__).parent / "project", PROJECT)
    with servers.receiver(bytes, sent / "sqlmesh.ndjson") as port:
        for plan in PLANS:
            sqlmesh(*plan, "--auto-apply", "--no-prompts", url=f"http://127.0.0.1:{port}")
            # what failed in its own environment is not to fail in production
            (PROJECT / "models" / "big_orders.sql").unlink(missing_ok=True)


def sqlmesh(*command: str, url: str) -> None:
    """Run SQLMesh in the project; a failing model is part of the story."""
    variables = os.environ | {"OPENLINEAGE_URL": url, "SQLMESH__DISABLE_ANONYMIZED_ANALYTICS": "true"}
    subprocess.run([Path(sys.executable).with_name("sqlmesh"), *command], cwd=PROJECT, env=variables, check=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
