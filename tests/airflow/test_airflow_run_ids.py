"""Run ids are those of Airflow's OpenLineage provider, so that both give one run the same URN."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest
from openlineage.client.uuid import generate_static_uuid

from dh_bridge.airflow.run_ids import dag_run_id, static_uuid, task_run_id

MOMENTS = [
    datetime(2026, 1, 2, tzinfo=timezone.utc),
    datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=timezone(timedelta(hours=5, minutes=30))),
    datetime(1999, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc),
]


@pytest.mark.parametrize("moment", MOMENTS, ids=str)
@pytest.mark.parametrize("text", ["shop.load.1.-1", "", "größe.日本.2.0"])
def test_hash_is_that_of_openlineage_python(moment, text):
    assert static_uuid(moment, text) == str(generate_static_uuid(moment, text.encode()))


def test_dag_run_id_depends_on_namespace_dag_date_and_clearing():
    day = MOMENTS[0]
    ids = {
        dag_run_id("a", "shop", day, 0),
        dag_run_id("b", "shop", day, 0),
        dag_run_id("a", "shop2", day, 0),
        dag_run_id("a", "shop", day + timedelta(1), 0),
        dag_run_id("a", "shop", day, 1),
    }
    assert len(ids) == 5
    # what apache-airflow-providers-openlineage 2.20.3 sent for `airflow dags test shop_nightly 2026-01-02`
    assert dag_run_id("shop-airflow", "shop_nightly", day, 0) == "019b7c01-0400-7ae3-9260-facda8f6cce3"


def test_task_run_id_depends_on_try_task_and_map_index():
    day = MOMENTS[0]
    ids = {
        task_run_id("a", "shop", "load", day, try_number=1, map_index=-1),
        task_run_id("a", "shop", "load", day, try_number=2, map_index=-1),
        task_run_id("a", "shop", "load", day, try_number=1, map_index=0),
        task_run_id("a", "shop", "other", day, try_number=1, map_index=-1),
    }
    assert len(ids) == 4
