"""What the tasks of the good night do: their datasets, statements, statistics and column lineage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import places as p
from checks import assertions, metrics, tests
from openlineage.client.event_v2 import RunState
from openlineage.client.facet_v2 import (
    base_subset_dataset,
    dataset_version_dataset,
    environment_variables_run,
    external_query_run,
    extraction_error_run,
    input_statistics_input_dataset,
    output_statistics_output_dataset,
    source_code_job,
    sql_job,
)
from openlineage.client.facet_v2 import lifecycle_state_change_dataset as lifecycle
from tasks import TaskRun

if TYPE_CHECKING:
    from openlineage.client.client import Event

Change = lifecycle.LifecycleStateChange

LOAD = """truncate staging.orders, staging.customers;
insert into staging.orders
select order_id, (customer).id, to_timestamp(ordered_at / 1000.0), status, amount, note from lake.raw_orders;
insert into staging.customers
select customer_id, name, encode(sha256(lower(email)::bytea), 'hex'), country, signed_up from lake.raw_customers;"""
REVENUE = """create table mart.daily_revenue as
select o.ordered_at::date as day, c.country, count(*) as orders, sum(o.amount) as revenue
from staging.orders o join staging.customers c using (customer_id)
where o.status <> 'returned'
group by 1, 2"""
SWAP = """drop table if exists mart.loyalty_old;
alter table mart.loyalty_new rename to loyalty;"""
LAND = '''def land_orders(day):
    """Copy one day of the topic to the lake."""
    write_parquet("s3://shop-lake/raw/orders", consumer.batches("shop.orders", day))
'''


def change(kind: Change, before: p.Place | None = None) -> lifecycle.LifecycleStateChangeDatasetFacet:
    """What happened to a table, and what it was called before."""
    previous = lifecycle.PreviousIdentifier(name=before.name, namespace=before.namespace) if before else None
    return lifecycle.LifecycleStateChangeDatasetFacet(kind, previous)


def came(
    rows: int, size: int, files: int = 1
) -> dict[str, input_statistics_input_dataset.InputStatisticsInputDatasetFacet]:
    """How much was read."""
    return {"inputStatistics": input_statistics_input_dataset.InputStatisticsInputDatasetFacet(rows, size, files)}


def went(
    rows: int, size: int, files: int = 1
) -> dict[str, output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet]:
    """How much was written."""
    return {"outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rows, size, files)}


def land_orders(diary: list[Event]) -> None:
    """Topic to lake: subsets on both sides, nested columns, statistics that grow."""
    run = TaskRun(diary, "land_orders", job_facets={"sourceCode": source_code_job.SourceCodeJobFacet("python", LAND)})
    lineage = p.column_lineage(
        p.copied(p.TOPIC, *(column[0] for column in p.TOPIC.columns), "customer.id", "customer.country"),
    )
    day = base_subset_dataset.CompareSubsetCondition(
        left=base_subset_dataset.FieldBaseCompareExpression("ordered_at"),
        right=base_subset_dataset.LiteralCompareExpression("2026-11-20"),
        comparison="GREATER_EQUAL_THAN",
    )
    partition = base_subset_dataset.PartitionSubsetCondition(
        [base_subset_dataset.Partition({"day": "2026-11-20"}, "day=2026-11-20")],
    )
    subset_in = {"subset": base_subset_dataset.InputSubsetInputDatasetFacet(day)}
    subset_out = {"subset": base_subset_dataset.OutputSubsetOutputDatasetFacet(partition)}
    reads, writes = [p.TOPIC.read(subset_in)], [p.RAW_ORDERS.write(subset_out, columnLineage=lineage)]
    names = environment_variables_run.EnvironmentVariablesRunFacet(
        [environment_variables_run.EnvironmentVariable("DEPLOYMENT", "production")],
    )
    run.start("0:04.102", reads, writes, environmentVariables=names)
    run.say(
        RunState.RUNNING, "0:34.102", reads, [p.RAW_ORDERS.write(subset_out | went(9, 3700), columnLineage=lineage)]
    )
    run.complete(
        "1:02.777",
        [p.TOPIC.read(subset_in | came(20, 8200))],
        [
            p.RAW_ORDERS.write(
                subset_out | went(20, 8013, 2),
                columnLineage=lineage,
                lifecycleStateChange=change(Change.OVERWRITE),
                version=dataset_version_dataset.DatasetVersionDatasetFacet("2026-11-20"),
            ),
        ],
    )


def land_customers(diary: list[Event]) -> None:
    """Database to lake, with the query that the database ran."""
    query = sql_job.SQLJobFacet("select customer_id, name, email, country, signed_up from public.customers", "postgres")
    run = TaskRun(diary, "land_customers", job_facets={"sql": query})
    lineage = p.column_lineage(p.copied(p.APP_CUSTOMERS, *(column[0] for column in p.APP_CUSTOMERS.columns)))
    external = external_query_run.ExternalQueryRunFacet("app-db-20261121-0007", "postgres")
    run.start("0:04.233", [p.APP_CUSTOMERS.read()])
    run.complete(
        "0:09.018",
        [p.APP_CUSTOMERS.read(came(8, 520))],
        [p.RAW_CUSTOMERS.write(went(8, 1204), columnLineage=lineage, lifecycleStateChange=change(Change.OVERWRITE))],
        externalQuery=external,
    )


def load_staging(diary: list[Event]) -> None:
    """Lake to warehouse: the first attempt meets a lock, the second one loads."""
    after = ("land_orders", "land_customers")
    sql = {"sql": sql_job.SQLJobFacet(LOAD, "postgres")}
    reads = [p.RAW_ORDERS.read(), p.RAW_CUSTOMERS.read()]
    first = TaskRun(diary, "load_staging", after=after, job_facets=sql)
    first.start("1:05.001", reads)
    first.fail(
        "1:35.640",
        ("canceling statement due to lock timeout (staging.orders)", None),
        reads,
        [p.STAGING_ORDERS.write()],
    )

    orders = p.column_lineage(
        p.copied(p.RAW_ORDERS, "order_id", "status", "amount", "note")
        | {
            "customer_id": [(p.RAW_ORDERS, "customer.id", "IDENTITY")],
            "ordered_at": [(p.RAW_ORDERS, "ordered_at", "TRANSFORMATION")],
        },
    )
    customers = p.column_lineage(
        p.copied(p.RAW_CUSTOMERS, "customer_id", "name", "country", "signed_up")
        | {"email_hash": [(p.RAW_CUSTOMERS, "email", "MASKED")]},
    )
    second = TaskRun(diary, "load_staging", attempt=2, after=after, job_facets=sql)
    second.start("3:05.220", reads)
    second.complete(
        "3:21.909",
        [p.RAW_ORDERS.read(came(20, 8013, 2)), p.RAW_CUSTOMERS.read(came(8, 1204))],
        [
            p.STAGING_ORDERS.write(went(20, 16384), columnLineage=orders, lifecycleStateChange=change(Change.TRUNCATE)),
            p.STAGING_CUSTOMERS.write(
                went(8, 8192), columnLineage=customers, lifecycleStateChange=change(Change.TRUNCATE)
            ),
        ],
    )


def check_staging(diary: list[Event]) -> None:
    """Two checks: one passes with a warning, one fails."""
    orders = TaskRun(diary, "check_orders", after=("load_staging",))
    orders.start("3:25.101", [p.STAGING_ORDERS.read()])
    found = {"dataQualityAssertions": assertions("orders"), "dataQualityMetrics": metrics()}
    orders.complete("3:27.450", [p.STAGING_ORDERS.read(found | came(20, 16384))])

    customers = TaskRun(diary, "check_customers", after=("load_staging",))
    customers.start("3:25.340", [p.STAGING_CUSTOMERS.read()])
    customers.fail(
        "3:26.998",
        ("1 of 3 checks failed: email_hash_is_unique", None),
        [p.STAGING_CUSTOMERS.read({"dataQualityAssertions": assertions("customers")})],
        test=tests(),
    )


def daily_revenue(diary: list[Event]) -> None:
    """Staging to mart: joins, groups, filters and sums."""
    run = TaskRun(
        diary, "daily_revenue", after=("load_staging",), job_facets={"sql": sql_job.SQLJobFacet(REVENUE, "postgres")}
    )
    lineage = p.column_lineage(
        {
            "day": [(p.STAGING_ORDERS, "ordered_at", "TRANSFORMATION")],
            "country": [(p.STAGING_CUSTOMERS, "country", "IDENTITY")],
            "orders": [(p.STAGING_ORDERS, "order_id", "AGGREGATION")],
            "revenue": [(p.STAGING_ORDERS, "amount", "AGGREGATION")],
        },
        whole=[
            (p.STAGING_ORDERS, "customer_id", "JOIN"),
            (p.STAGING_CUSTOMERS, "customer_id", "JOIN"),
            (p.STAGING_ORDERS, "status", "FILTER"),
            (p.STAGING_CUSTOMERS, "country", "GROUP_BY"),
        ],
    )
    run.start("3:25.512", [p.STAGING_ORDERS.read(), p.STAGING_CUSTOMERS.read()])
    run.complete(
        "3:30.845",
        [p.STAGING_ORDERS.read(came(20, 16384)), p.STAGING_CUSTOMERS.read(came(8, 8192))],
        [p.DAILY_REVENUE.write(went(14, 8192), columnLineage=lineage, lifecycleStateChange=change(Change.CREATE))],
    )


def swap_loyalty(diary: list[Event]) -> None:
    """One table dropped, one renamed, and a statement that nobody could read."""
    run = TaskRun(
        diary, "swap_loyalty", after=("load_staging",), job_facets={"sql": sql_job.SQLJobFacet(SWAP, "postgres")}
    )
    unread = extraction_error_run.ExtractionErrorRunFacet(
        totalTasks=3,
        failedTasks=1,
        errors=[
            extraction_error_run.Error(
                "Expected: end of statement, found: refresh", None, "refresh materialized view", 3
            )
        ],
    )
    run.start("3:26.007", [p.LOYALTY_NEW.read()])
    run.complete(
        "3:26.881",
        [p.LOYALTY_NEW.read()],
        [
            p.LOYALTY_OLD.write(lifecycleStateChange=change(Change.DROP)),
            p.LOYALTY.write(lifecycleStateChange=change(Change.RENAME, before=p.LOYALTY_NEW)),
        ],
        extractionError=unread,
    )


def hand_over(diary: list[Event]) -> None:
    """Copies for Spark and dbt, and the tasks whose work their own events tell (spark.ndjson, dbt.ndjson, …)."""
    reads = [p.RAW_ORDERS.read(), p.RAW_CUSTOMERS.read()]
    for task, orders, customers in (
        ("copy_to_lake", p.LAKE_ORDERS, p.LAKE_CUSTOMERS),
        ("load_duckdb", p.DUCKDB_ORDERS, p.DUCKDB_CUSTOMERS),
    ):
        run = TaskRun(diary, task, after=("land_orders", "land_customers"))
        lineage = p.column_lineage(
            p.copied(p.RAW_ORDERS, "order_id", "ordered_at", "status", "amount", "note")
            | {"customer_id": [(p.RAW_ORDERS, "customer.id", "IDENTITY")]},
        )
        copy = p.column_lineage(p.copied(p.RAW_CUSTOMERS, *(column[0] for column in p.RAW_CUSTOMERS.columns)))
        run.start("1:05.410", reads)
        run.complete(
            "1:09.770",
            reads,
            [orders.write(went(20, 1328), columnLineage=lineage), customers.write(went(8, 410), columnLineage=copy)],
        )
    for task, after, begin, end, error in (
        ("order_totals", "copy_to_lake", "4:00.150", "4:40.031", None),
        ("dbt_build", "load_duckdb", "4:00.207", "5:02.618", "dbt-ol ended with 1"),
        ("validate_orders", "load_staging", "4:00.311", "4:12.904", None),
        ("refund_notes", "copy_to_lake", "4:00.402", "4:31.560", "spark-submit ended with 1"),
    ):
        run = TaskRun(diary, task, after=(after,))
        run.start(begin)
        if error:
            run.fail(end, (error, None))
        else:
            run.complete(end)
