"""The shop's ops and assets: a retry, a skipped branch, mapped steps, an asset that fails, checks, a partition."""

from __future__ import annotations

from dagster import (
    AssetCheckResult,
    AssetCheckSeverity,
    AssetKey,
    AssetSelection,
    DailyPartitionsDefinition,
    Definitions,
    DynamicOut,
    DynamicOutput,
    MaterializeResult,
    MetadataValue,
    Out,
    Output,
    RetryPolicy,
    TableColumn,
    TableColumnDep,
    TableColumnLineage,
    TableSchema,
    asset,
    asset_check,
    define_asset_job,
    job,
    op,
)

ORDERS = AssetKey(["shop", "raw", "orders"])


@op(retry_policy=RetryPolicy(max_retries=1))
def extract(context):
    """Fail at first."""
    if not context.retry_number:
        raise ConnectionError("not yet")
    return 1


@op(out={"new": Out(is_required=False), "old": Out(is_required=False)})
def choose(rows):
    """Take one way of two."""
    yield Output(rows, "new")


@op
def insert(rows):
    """Run."""
    return rows


@op
def update(rows):
    """Be skipped."""
    return rows


@op(out=DynamicOut())
def days(rows):
    """Give a day a step."""
    for day in ("2026_11_20", "2026_11_21"):
        yield DynamicOutput(rows, mapping_key=day)


@op
def load_day(rows):
    """Be mapped."""
    return rows


@job
def nightly():
    """All of it."""
    new, old = choose(extract())
    update(old)
    days(insert(new)).map(load_day)


@asset(key=ORDERS)
def orders():
    """Be a file with a schema."""
    columns = [TableColumn("id", "int", "Key"), TableColumn("amount", "decimal(10,2)"), TableColumn("at", "timestamp")]
    return MaterializeResult(
        metadata={
            "path": MetadataValue.path("/data/orders.parquet"),
            "dagster/column_schema": TableSchema(columns=columns),
        }
    )


@asset(key_prefix=["shop", "mart"], deps=[orders])
def revenue():
    """Say what its columns are made of."""
    lineage = TableColumnLineage(
        {
            "day": [TableColumnDep(asset_key=ORDERS, column_name="at")],
            "total": [TableColumnDep(asset_key=ORDERS, column_name="amount")],
        }
    )
    columns = [TableColumn("day", "date"), TableColumn("total", "decimal(10,2)")]
    return MaterializeResult(
        metadata={"dagster/column_schema": TableSchema(columns=columns), "dagster/column_lineage": lineage}
    )


@asset(key_prefix=["shop", "mart"], deps=[orders])
def returns():
    """Fail."""
    raise RuntimeError("disk full")


@asset(partitions_def=DailyPartitionsDefinition("2026-11-01"))
def daily_events():
    """Be one day's."""


@asset_check(asset=orders)
def orders_are_there():
    """Pass."""
    return AssetCheckResult(passed=True, metadata={"rows": 3})


@asset_check(asset=orders)
def amount_is_positive():
    """Warn."""
    return AssetCheckResult(passed=False, severity=AssetCheckSeverity.WARN, metadata={"column": "amount"})


shop_definitions = Definitions(
    assets=[orders, revenue, returns, daily_events],
    asset_checks=[orders_are_there, amount_is_positive],
    jobs=[
        nightly,
        define_asset_job("shop_assets", selection=AssetSelection.assets(orders, revenue)),
        define_asset_job("shop_returns", selection=AssetSelection.assets(returns)),
        define_asset_job("one_day", selection=AssetSelection.assets(daily_events)),
    ],
)
RUNS = (("nightly", None), ("shop_assets", None), ("shop_returns", None), ("one_day", "2026-11-02"))
