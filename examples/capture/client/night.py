"""Two nights of `shop_nightly`: one that fails at once, one that runs to its end with a retry and some warnings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import places as p
import shop
import work
from openlineage.client.event_v2 import RunState
from openlineage.client.facet_v2 import execution_parameters_run, job_type_job
from tasks import TaskRun

if TYPE_CHECKING:
    from openlineage.client.client import Event

BROKER_DOWN = """Traceback (most recent call last):
  File "/opt/pipeline/shop_nightly.py", line 41, in land_orders
    for batch in consumer.batches(topic, day):
  File "/opt/pipeline/kafka_batches.py", line 88, in batches
    raise BrokerUnavailable(f"no leader for {topic}[2] after {waited:.0f} s")
pipeline.kafka_batches.BrokerUnavailable: no leader for shop.orders[2] after 60 s
"""


def collector(diary: list[Event]) -> None:
    """A job that never ends: it turns changes of the shop's database into messages."""
    facets = {"jobType": job_type_job.JobTypeJobFacet("STREAMING", "SHOP_COLLECTOR", "SERVICE")}
    run = TaskRun(diary, "orders_collector", shop.NIGHT_BEFORE, alone=True, job_facets=facets)
    lineage = p.column_lineage(
        p.copied(p.APP_ORDERS, "order_id", "status", "amount", "note")
        | {
            "ordered_at": [(p.APP_ORDERS, "ordered_at", "TRANSFORMATION")],
            "customer.id": [(p.APP_ORDERS, "customer_id", "IDENTITY")],
            "customer.country": [(p.APP_CUSTOMERS, "country", "IDENTITY"), (p.APP_ORDERS, "customer_id", "JOIN")],
        },
    )
    reads = [p.APP_ORDERS.read(), p.APP_CUSTOMERS.read()]
    run.start("0:00", reads, [p.TOPIC.write(columnLineage=lineage)])
    for at, rows in (("600:00", 131), ("1200:00", 274)):
        run.say(RunState.RUNNING, at, reads, [p.TOPIC.write(work.went(rows, rows * 410), columnLineage=lineage)])


def bad_night(diary: list[Event]) -> None:
    """The broker is down: the first task fails, and the pipeline with it."""
    pipeline = TaskRun(diary, night=shop.NIGHT_BEFORE)
    land = TaskRun(diary, "land_orders", shop.NIGHT_BEFORE)
    pipeline.start("0:02.113")
    land.start("0:04.870", [p.TOPIC.read()], [p.RAW_ORDERS.write()])
    land.fail(
        "1:06.204", ("no leader for shop.orders[2] after 60 s", BROKER_DOWN), [p.TOPIC.read()], [p.RAW_ORDERS.write()]
    )
    pipeline.fail("1:07.015", ("task land_orders failed", None))


def good_night(diary: list[Event]) -> None:
    """Everything runs; staging needs a second attempt, and a check fails without stopping the rest."""
    pipeline = TaskRun(diary)
    settings = [
        execution_parameters_run.ExecutionParameter("max_active_tasks", "Tasks at a time", None, "4"),
        execution_parameters_run.ExecutionParameter("day", "Day to load", "Logical date of the run", "2026-11-21"),
    ]
    pipeline.start("0:01.954", executionParameters=execution_parameters_run.ExecutionParametersRunFacet(settings))
    work.land_orders(diary)
    work.land_customers(diary)
    work.load_staging(diary)
    work.check_staging(diary)
    work.daily_revenue(diary)
    work.swap_loyalty(diary)
    work.hand_over(diary)
    report = TaskRun(diary, "send_report", after=("daily_revenue", "check_customers"))
    report.start("11:00.300")
    report.say(RunState.ABORT, "11:00.900")
    pipeline.complete("11:03.412")
