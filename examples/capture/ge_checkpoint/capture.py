"""Great Expectations 0.15 in a Checkpoint, as OpenLineage's action was written for it: a table, parts of it, a query.

Needs a Python for which PyPI has pandas 1.5 (3.11 at most). The action of 1.23 is the last that works in a Checkpoint: that of
1.54 fails in those of 0.18 and of 1.24, and that of 1.23 in 0.18.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path
from typing import Any

import shop
from great_expectations.core import ExpectationConfiguration
from great_expectations.data_context import BaseDataContext
from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults

FILE = shop.HOME / "expectations.sqlite"
SUITE = "shop.orders.warning"
TASK = f"{shop.PIPELINE}.validate_orders"
ACTION = {
    "class_name": "OpenLineageValidationAction",
    "module_name": "openlineage.common.provider.great_expectations",
    "job_description": "Expectations of the orders, and of some of them",
    "openlineage_parent_run_id": shop.run_id(TASK),
    "openlineage_parent_job_namespace": shop.NAMESPACE,
    "openlineage_parent_job_name": TASK,
}
RULES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("expect_table_row_count_to_be_between", {"min_value": 1, "max_value": 1000}),
    ("expect_column_values_to_not_be_null", {"column": "order_id", "mostly": 0.9}),
    ("expect_column_values_to_be_in_set", {"column": "status", "value_set": ["placed", "shipped", "delivered"]}),
    ("expect_column_quantile_values_to_be_between",
     {"column": "amount", "quantile_ranges": {"quantiles": [0.5], "value_ranges": [[0, 500]]}}),
    ("expect_compound_columns_to_be_unique", {"column_list": ["order_id", "customer_id"]}),
    ("expect_column_values_to_not_be_null", {"column": "no_such_column"}),
)  # fmt: skip
BATCHES: tuple[dict[str, Any], ...] = (
    {"data_connector_name": "tables", "data_asset_name": "main.orders"},
    *(
        {
            "data_connector_name": "days",
            "data_asset_name": "orders_of_a_day",
            "data_connector_query": {"batch_filter_parameters": {"day": day}},
        }
        for day in ("2026-11-18", "2026-11-19")
    ),
)
QUERY = "select o.*, c.country from orders o join customers c on c.customer_id = o.customer_id"


def main(sent: Path) -> None:
    """Write `ge_checkpoint.ndjson`: one event for each batch that was validated."""
    os.environ |= {
        "OPENLINEAGE_NAMESPACE": shop.NAMESPACE,
        "OPENLINEAGE__TRANSPORT__TYPE": "file",
        "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(sent / "ge_checkpoint.ndjson"),
        "OPENLINEAGE__TRANSPORT__APPEND": "true",
    }
    load()
    context = connected()
    suite = context.create_expectation_suite(SUITE)
    for kind, parameters in RULES:
        suite.add_expectation(expectation(kind, parameters))
    context.save_expectation_suite(suite)
    for batch in BATCHES:
        validate(context, {"datasource_name": "shop", **batch})
    validate(
        context,
        {
            "datasource_name": "shop",
            "data_connector_name": "queries",
            "data_asset_name": "orders_and_countries",
            "runtime_parameters": {"query": QUERY},
            "batch_identifiers": {"run": "nightly"},
        },
    )


def load() -> None:
    """Create the tables of the shop in an SQLite file."""
    FILE.unlink(missing_ok=True)
    with sqlite3.connect(FILE) as database:
        for table, columns, rows in (
            ("orders", shop.ORDER_COLUMNS, [(*row, row[2][:10]) for row in shop.orders()]),
            ("customers", shop.CUSTOMER_COLUMNS, shop.CUSTOMERS),
        ):
            names = [*columns, "day"] if table == "orders" else [*columns]
            database.execute(f"create table {table} ({', '.join(names)})")
            database.executemany(f"insert into {table} values ({', '.join('?' * len(names))})", rows)  # noqa: S608 - names are ours


def connected() -> Any:
    """Return a context that keeps all in memory, with the file as its data source."""
    settings = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(), anonymous_usage_statistics={"enabled": False}
    )
    context = BaseDataContext(project_config=settings)
    day = {"splitter_method": "split_on_column_value", "splitter_kwargs": {"column_name": "day"}}
    context.add_datasource(
        "shop",
        class_name="Datasource",
        execution_engine={"class_name": "SqlAlchemyExecutionEngine", "connection_string": f"sqlite:///{FILE}"},
        data_connectors={
            "tables": {"class_name": "InferredAssetSqlDataConnector", "include_schema_name": True},
            "days": {
                "class_name": "ConfiguredAssetSqlDataConnector",
                "assets": {"orders_of_a_day": {"table_name": "orders", "schema_name": "main", **day}},
            },
            "queries": {"class_name": "RuntimeDataConnector", "batch_identifiers": ["run"]},
        },
    )
    return context


def expectation(kind: str, parameters: dict[str, Any]) -> Any:
    """Return an expectation as a suite holds it, with a note for people."""
    return ExpectationConfiguration(expectation_type=kind, kwargs=parameters, meta={"notes": "as agreed with sales"})


def validate(context: Any, batch: dict[str, Any]) -> None:
    """Run a checkpoint over a batch; expectations that do not hold are part of the story."""
    name = batch["data_asset_name"]
    context.add_checkpoint(
        name=name,
        config_version=1.0,
        class_name="Checkpoint",
        expectation_suite_name=SUITE,
        validations=[{"batch_request": batch}],
        action_list=[
            {"name": "store", "action": {"class_name": "StoreValidationResultAction"}},
            {"name": "openlineage", "action": ACTION},
        ],
    )
    print(name, context.run_checkpoint(checkpoint_name=name)["success"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
