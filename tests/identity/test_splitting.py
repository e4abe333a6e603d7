from __future__ import annotations

import pytest

from dh_bridge.identity.producers import load_producer_mappings
from dh_bridge.identity.splitting import JobNameSplitter


@pytest.fixture(scope="module")
def splitting():
    return JobNameSplitter(list(load_producer_mappings()))


@pytest.mark.parametrize(
    ("platform", "name", "expected"),
    [
        ("airflow", "dag", ("dag", "dag", "dag")),
        ("airflow", "dag.group.task", ("dag", "dag.group.task", "group.task")),
        ("openlineage", ".report", (".report", ".report", ".report")),
        ("openlineage", "report.", ("report.", "report.", "report.")),
        ("openlineage", ".", (".", ".", ".")),
        ("openlineage", "..", ("..", "..", "..")),
        ("openlineage", "a..b", ("a", "a..b", ".b")),
        ("flink", "insert-into_c.d.t", ("insert-into_c.d.t", "insert-into_c.d.t", "insert-into_c.d.t")),
        ("dbt", "model.shop.orders", ("shop", "model.shop.orders", "orders")),
        (
            "dbt",
            "test.shop.not_null.5c9bf9911d.sql.1",
            ("shop", "test.shop.not_null.5c9bf9911d.sql.1", "not_null.5c9bf9911d.sql.1"),
        ),
        ("dbt", "model.shop.", ("shop", "model.shop.", "model.shop.")),
        ("dbt", "model.shop", ("model", "model.shop", "shop")),
        ("dbt", "models.shop.orders", ("models", "models.shop.orders", "shop.orders")),
        ("kafka-connect", "a.b.c.0", ("a.b.c", "a.b.c.0", "0")),
        ("kafka-connect", "orders", ("orders", "orders", "orders")),
        ("kafka-connect", "a.b", ("a", "a.b", "b")),
        ("trino", "20240131_101112_00042_abcde", ("queries", "adhoc", "adhoc")),
        ("presto", "20240131_101112_00042_abcde", ("queries", "adhoc", "adhoc")),
        (
            "trino",
            "20240131_101112_00042_abcdef",
            ("20240131_101112_00042_abcdef", "20240131_101112_00042_abcdef", "20240131_101112_00042_abcdef"),
        ),
        ("druid", "8d0f1f64-25b5-4c3b-9c0a-1c7a1a2b3c4d", ("queries", "adhoc", "adhoc")),
    ],
)
def test_name_falls_into_flow_job_and_display(splitting, platform, name, expected):
    assert splitting.split(platform, name)[:3] == expected


def test_only_a_job_of_unrelated_runs_is_shared(splitting):
    assert splitting.split("trino", "20240131_101112_00042_abcde").shared
    assert not splitting.split("trino", "bi.report").shared
    assert not splitting.split("kafka-connect", "a.0").shared
