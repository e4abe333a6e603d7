"""Two DAGs that report their runs to DataHub with callbacks, for Airflow 2.10 and 3.x without the OpenLineage provider.

The target is a setting: DH_BRIDGE_AIRFLOW__TO, for example rest:http://datahub-gms:8080 or catalog:shop.db.
"""

from __future__ import annotations

import json
import os
import subprocess
from datetime import datetime, timedelta, timezone
from pathlib import Path

from dh_bridge.airflow import (
    emit_on_execute,
    emit_on_failure,
    emit_on_retry,
    emit_on_skipped,
    emit_on_success,
    lineage_parent_id,
)

try:  # Airflow 3
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.sdk import DAG, Asset, task
    from airflow.sdk.exceptions import AirflowSkipException
except ImportError:
    from airflow import DAG
    from airflow.datasets import Dataset as Asset
    from airflow.decorators import task
    from airflow.exceptions import AirflowSkipException
    from airflow.operators.bash import BashOperator

RAW = Asset("s3://shop-lake/raw/orders")
ORDERS = Asset("postgres://warehouse.shop.example:5432/shop/staging/orders")
EVENTS = Path(os.environ.get("SHOP_EVENTS", "/tmp/shop-events"))  # noqa: S108 - folder in which a tool writes its events

SETTINGS = {
    "start_date": datetime(2026, 1, 1, tzinfo=timezone.utc),
    "catchup": False,
    "tags": ["shop", "tier:1"],
    "default_args": {
        "owner": "data-team,alice",
        "on_execute_callback": emit_on_execute,  # START at once; the other callbacks also contain the START
        "on_success_callback": emit_on_success,
        "on_failure_callback": emit_on_failure,
        "on_retry_callback": emit_on_retry,
        "on_skipped_callback": emit_on_skipped,
    },
    "on_success_callback": emit_on_success,  # the DAG's own run, the parent of its tasks' runs
    "on_failure_callback": emit_on_failure,
    "user_defined_macros": {"lineage_parent_id": lineage_parent_id},
}


def leave_event(name: str, job: str, **parts: object) -> None:
    """Write an event to a file, as a tool with its own OpenLineage integration does."""
    event = {"eventTime": "2026-01-02T03:04:05Z", "producer": "https://example.com/tool", **parts}
    event["job"] = {"namespace": "tools", "name": job}
    EVENTS.mkdir(parents=True, exist_ok=True)
    (EVENTS / name).write_text(json.dumps(event) + "\n", encoding="utf-8")


def emit_events(context: dict) -> None:
    """Run the command in a callback: deliver the events that a tool wrote to a file."""
    file = EVENTS / f"{context['dag'].dag_id}.ndjson"
    command = ["dh-bridge", "emit", str(file), "--to", os.environ["DH_BRIDGE_AIRFLOW__TO"]]
    subprocess.run(command, check=False, timeout=60)


with DAG("shop_nightly", schedule=None, description="Orders into the warehouse", **SETTINGS):

    @task(outlets=[RAW])
    def extract() -> None:
        """Take the orders from the shop."""

    @task(inlets=[RAW], outlets=[ORDERS], retries=2, retry_delay=timedelta(seconds=1))
    def load(ti: object = None) -> None:
        """Load the orders; the first try fails, because the warehouse restarts."""
        if ti.try_number == 1:
            raise ConnectionError("the warehouse restarts")

    @task(inlets=[ORDERS])
    def refresh(mart: str) -> str:
        """Refresh one mart; a mapped task, one run for each mart."""
        return mart

    @task(inlets=[ORDERS], outlets=[Asset("file:///tmp/shop/report.csv")])
    def report(parent: str) -> None:
        """Run a tool as a child of this task: it gets the parent, as dbt and Spark do from OPENLINEAGE_PARENT_ID."""
        namespace, job, run = parent.rsplit("/", 2)
        facets = {"parent": {"run": {"runId": run}, "job": {"namespace": namespace, "name": job}}}
        run = {"runId": "01941f29-7c00-7000-8000-000000000001", "facets": facets}
        outputs = [{"namespace": "s3://shop-lake", "name": "reports/orders_by_day"}]
        leave_event("shop_nightly.ndjson", "orders_by_day", eventType="COMPLETE", run=run, outputs=outputs)

    # The command as a separate task delivers the events of a tool, even if the tool failed. With --fail-on never the task does not
    # fail if DataHub is down.
    emit = BashOperator(
        task_id="emit",
        bash_command='dh-bridge emit "$FILE" --to "$DH_BRIDGE_AIRFLOW__TO" --fail-on never',
        env={"FILE": str(EVENTS / "shop_nightly.ndjson")},
        append_env=True,
        trigger_rule="all_done",
    )

    reported = report("{{ lineage_parent_id(ti) }}")
    extract() >> load() >> [refresh.expand(mart=["revenue", "customers"]), reported]
    reported >> emit

with DAG("shop_audit", schedule=None, **SETTINGS):

    @task(inlets=[ORDERS], on_failure_callback=[emit_on_failure, emit_events])
    def check() -> None:
        """Fail without a retry, after a tool has written its events."""
        run = {"runId": "01941f29-7c00-7000-8000-000000000002"}
        leave_event("shop_audit.ndjson", "orders_have_customers", eventType="FAIL", run=run)
        raise ValueError("3 orders have no customer")

    @task
    def publish() -> None:
        """Skip itself."""
        raise AirflowSkipException("nothing to publish")

    check()
    publish()
