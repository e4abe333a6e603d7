"""Airflow 3 with its OpenLineage provider: SQL on PostgreSQL, checks of it, one that fails, and a dbt project run by Cosmos.

One process runs the DAG, as `airflow dags test` does. There each task finds what the hooks of those before it ran, and tells it as
queries of its own (`shop_mart.export.query.1`): these are left out. Of the starts the first is kept, as the ends say it all again.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pgserver

if TYPE_CHECKING:
    from collections.abc import Iterator

CAPTURE = Path(__file__).resolve().parent
HOME = Path(os.environ["SHOP_HOME"]) / "airflow"
DATA = HOME / "postgres"
PORT = "55433"
# The name stands in the events and is the warehouse's of the other producers; PGHOSTADDR leads to this machine.
HOST = "warehouse.shop.example"
RUN = """
import sys
from datetime import datetime, timezone
import airflow.models
from airflow.dag_processing.dagbag import DagBag
bag = DagBag(sys.argv[1])
assert not bag.import_errors, bag.import_errors
bag.dags["shop_mart"].test(logical_date=datetime(2026, 11, 21, tzinfo=timezone.utc))
"""
TABLES = """
create schema app;
create schema mart;
create table app.orders (order_id int, amount numeric(10, 2), customer text);
insert into app.orders values (1, 10, 'Ada'), (2, 25.5, 'Bruno'), (3, 7, 'Ada'), (4, 99, 'Chloe');
"""


def main(sent: Path) -> None:
    """Write `airflow.ndjson` into the folder `sent`."""
    shutil.rmtree(HOME, ignore_errors=True)
    # Outside of the checkout: the events name the DAG's file.
    shutil.copytree(CAPTURE / "dags", HOME / "dags")
    shutil.copytree(CAPTURE / "project", HOME / "dbt")
    told = HOME / "told.ndjson"
    os.environ |= {
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "DO_NOT_TRACK": "1",  # Cosmos
        "AIRFLOW__API__BASE_URL": "https://airflow.shop.example",
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "shop_prod",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps({"type": "file", "log_file_path": str(told), "append": True}),
        "AIRFLOW_CONN_WAREHOUSE": f"postgres://shop@{HOST}:{PORT}/shop",
        "PGHOSTADDR": "127.0.0.1",
        "SHOP_DBT": str(HOME / "dbt"),
        "NO_PROXY": "*",
    }
    with postgres():
        run("dbt", "parse", "--profiles-dir", ".", cwd=HOME / "dbt")
        run("airflow", "db", "migrate")
        run(sys.executable, "-c", RUN, HOME / "dags")
    kept = [line for line in told.read_text(encoding="utf-8").splitlines() if tells(json.loads(line))]
    (sent / "airflow.ndjson").write_text("\n".join(kept) + "\n", encoding="utf-8")


def tells(event: dict) -> bool:
    """Whether an event is kept."""
    name = event["job"]["name"]
    return ".query." not in name and (event["eventType"] != "START" or name == "shop_mart.load")


def run(*command: str | Path, cwd: Path = HOME) -> None:
    """Run a program; what it prints goes into a file of its name."""
    with (HOME / f"{Path(command[0]).name}.log").open("ab") as log:
        subprocess.run(command, check=True, cwd=cwd, stdout=log, stderr=log)


@contextmanager
def postgres() -> Iterator[None]:
    """Serve a PostgreSQL with the shop's tables on PORT; its programs come with the pgserver package."""
    programs = Path(pgserver.__file__).parent / "pginstall" / "bin"
    # PostgreSQL refuses to run as root.
    nobody = pwd.getpwnam("nobody")
    user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    DATA.mkdir()
    if user:
        shutil.chown(DATA, user["user"], user["group"])
    control = [programs / "pg_ctl", "-D", DATA / "data", "-w"]
    options = f"-p {PORT} -k {DATA} -c listen_addresses=127.0.0.1"
    made = [programs / "initdb", "-D", DATA / "data", "-A", "trust", "-U", "shop", "-E", "UTF8"]
    subprocess.run(made, check=True, cwd=DATA, **user)
    subprocess.run([*control, "-o", options, "-l", DATA / "log", "start"], check=True, cwd=DATA, **user)
    psql = [programs / "psql", "-q", "-h", "127.0.0.1", "-p", PORT, "-U", "shop", "-d"]
    try:
        subprocess.run([*psql, "postgres", "-c", "create database shop"], check=True)
        subprocess.run([*psql, "shop", "-c", TABLES], check=True)
        yield
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, cwd=DATA, **user)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
