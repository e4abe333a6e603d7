"""Great Expectations on PostgreSQL: expectations that hold and that do not, told by OpenLineage's validation action.

Inside a Checkpoint of Great Expectations 1.24 the action of 1.54 sends nothing (the client that it holds cannot be written
as JSON), so the script calls the action itself, with the Validator that it asks for.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import great_expectations as gx
import pgserver
import psycopg2
import shop
from openlineage.common.provider.great_expectations import OpenLineageValidationAction

if TYPE_CHECKING:
    from collections.abc import Iterator

TASK = f"{shop.PIPELINE}.validate_orders"
DATA = shop.HOME / "postgres"
PORT = "55432"
# The name stands in the events and is the warehouse's of the other producers; the connection goes to this machine.
HOST = "warehouse.shop.example"
URL = f"postgresql+psycopg2://shop@{HOST}/shop?hostaddr=127.0.0.1"


def main(sent: Path) -> None:
    """Write `great_expectations.ndjson`: one event per validated table."""
    os.environ |= {
        "OPENLINEAGE_NAMESPACE": shop.NAMESPACE,
        "OPENLINEAGE__TRANSPORT__TYPE": "file",
        "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(sent / "great_expectations.ndjson"),
        "OPENLINEAGE__TRANSPORT__APPEND": "true",
        "GX_ANALYTICS_ENABLED": "false",
        "PGPORT": PORT,
    }
    with postgres():
        load_staging()
        context = gx.get_context(mode="ephemeral")
        warehouse = context.data_sources.add_sql("warehouse", connection_string=URL)
        for table, expect in (("orders", expect_orders), ("customers", expect_customers)):
            batch = warehouse.add_table_asset(
                table, table_name=table, schema_name="staging"
            ).add_batch_definition_whole_table("all")
            validator = context.get_validator(
                batch_request=batch.build_batch_request(),
                create_expectation_suite_with_name=table,
            )
            expect(validator)
            tell(validator, table)


def expect_orders(validator: Any) -> None:
    """Rules for orders: the last three do not hold."""
    validator.expect_table_row_count_to_be_between(1, 1000)
    validator.expect_column_values_to_not_be_null("order_id")
    validator.expect_column_values_to_be_unique("order_id")
    validator.expect_column_max_to_be_between("amount", 0, 500)
    validator.expect_column_values_to_be_in_set("status", ["placed", "shipped", "delivered", "returned"])
    validator.expect_column_values_to_be_between("amount", 0, 500)
    validator.expect_column_mean_to_be_between("amount", 100, 200)


def expect_customers(validator: Any) -> None:
    """Rules for customers: all of them hold."""
    validator.expect_table_row_count_to_equal(len(shop.CUSTOMERS))
    validator.expect_column_values_to_be_unique("customer_id")
    validator.expect_column_value_lengths_to_equal("country", 2)


def tell(validator: Any, table: str) -> None:
    """Validate, and let OpenLineage's action tell it as a child of the night's task."""
    action = OpenLineageValidationAction(
        name="openlineage",
        job_name=f"{TASK}.{table}",
        job_description=f"Expectations of staging.{table}",
        openlineage_parent_run_id=shop.run_id(TASK),
        openlineage_parent_job_namespace=shop.NAMESPACE,
        openlineage_parent_job_name=TASK,
        openlineage_root_parent_run_id=shop.run_id(shop.PIPELINE),
        openlineage_root_parent_job_namespace=shop.NAMESPACE,
        openlineage_root_parent_job_name=shop.PIPELINE,
    )
    action._run(validator.validate(), None, validator)  # noqa: SLF001 - see the module's first lines


@contextmanager
def postgres() -> Iterator[None]:
    """Serve an empty PostgreSQL on PORT; its programs come with the pgserver package."""
    programs = Path(pgserver.__file__).parent / "pginstall" / "bin"
    # PostgreSQL refuses to run as root.
    nobody = pwd.getpwnam("nobody")
    user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    shutil.rmtree(DATA, ignore_errors=True)
    DATA.mkdir()
    if user:
        shutil.chown(DATA, user["user"], user["group"])
    control = [programs / "pg_ctl", "-D", DATA / "data", "-w"]
    options = f"-p {PORT} -k {DATA} -c listen_addresses=127.0.0.1"
    subprocess.run(
        [programs / "initdb", "-D", DATA / "data", "-A", "trust", "-U", "shop", "-E", "UTF8"],
        check=True,
        cwd=DATA,
        **user,
    )
    subprocess.run([*control, "-o", options, "-l", DATA / "log", "start"], check=True, cwd=DATA, **user)
    try:
        yield
    finally:
        subprocess.run([*control, "-m", "immediate", "stop"], check=True, cwd=DATA, **user)


def load_staging() -> None:
    """Create what the pipeline's task `load_staging` says it loaded."""
    server = psycopg2.connect(host="127.0.0.1", user="shop", dbname="postgres")
    server.autocommit = True
    with server.cursor() as cursor:
        cursor.execute("create database shop")
        # The action looks tables up without their schema.
        cursor.execute("alter database shop set search_path = staging")
    server.close()
    with psycopg2.connect(host="127.0.0.1", user="shop", dbname="shop") as database, database.cursor() as cursor:
        cursor.execute("create schema staging")
        for table, columns, rows in (
            ("orders", shop.ORDER_COLUMNS, shop.orders()),
            ("customers", shop.CUSTOMER_COLUMNS, shop.CUSTOMERS),
        ):
            kinds = ", ".join(f"{name} {kind.replace('DOUBLE', 'DOUBLE PRECISION')}" for name, kind in columns.items())
            cursor.execute(f"create table staging.{table} ({kinds})")
            cursor.executemany(f"insert into staging.{table} values ({', '.join(['%s'] * len(columns))})", rows)  # noqa: S608 - names are ours
    database.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
