"""Orders into a mart: SQL, checks of it, dbt by Cosmos, and an asset of a system whose provider is not installed."""

from __future__ import annotations

import os
from datetime import datetime, timezone
from pathlib import Path

from airflow.providers.common.sql.operators.sql import (
    SQLColumnCheckOperator,
    SQLExecuteQueryOperator,
    SQLValueCheckOperator,
)
from airflow.sdk import DAG, Asset, task
from cosmos import DbtTaskGroup, ExecutionConfig, ProfileConfig, ProjectConfig, RenderConfig
from cosmos.constants import ExecutionMode, InvocationMode, LoadMode

DBT = Path(os.environ["SHOP_DBT"])
WAREHOUSE = {"conn_id": "warehouse"}

with DAG(
    "shop_mart",
    description="Orders into the mart",
    doc_md="# The mart\nWhat the shop sold, by customer.",
    schedule="@daily",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    tags=["shop", "tier:1"],
    default_args={"owner": "data-team,alice"},
):
    load = SQLExecuteQueryOperator(
        task_id="load",
        sql="""
            CREATE TABLE IF NOT EXISTS mart.orders (id int, amount numeric(10, 2), customer text);
            INSERT INTO mart.orders (id, amount, customer) SELECT order_id, amount, customer FROM app.orders;
        """,
        split_statements=True,
        **WAREHOUSE,
    )
    check_columns = SQLColumnCheckOperator(
        task_id="check_columns",
        table="mart.orders",
        column_mapping={
            "id": {"null_check": {"equal_to": 0}, "distinct_check": {"geq_to": 3}},
            "amount": {"max": {"geq_to": 10, "leq_to": 100}},
        },
        **WAREHOUSE,
    )
    check_value = SQLValueCheckOperator(
        task_id="check_value", sql="SELECT count(*) FROM mart.orders", pass_value=4000, **WAREHOUSE
    )
    dbt = DbtTaskGroup(
        group_id="transform",
        project_config=ProjectConfig(DBT, manifest_path=DBT / "target" / "manifest.json"),
        profile_config=ProfileConfig(
            profile_name="shop", target_name="dev", profiles_yml_filepath=DBT / "profiles.yml"
        ),
        render_config=RenderConfig(load_method=LoadMode.DBT_MANIFEST),
        execution_config=ExecutionConfig(execution_mode=ExecutionMode.LOCAL, invocation_mode=InvocationMode.DBT_RUNNER),
        operator_args={"install_deps": False},
    )

    @task(outlets=[Asset("gs://shop-exports/orders by customer.csv")])
    def export() -> None:
        """Write a file that no hook tells of."""

    load >> [check_columns, check_value]
    load >> dbt >> export()
