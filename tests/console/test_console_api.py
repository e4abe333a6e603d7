"""The answers of the read API, on the catalogue of the example events."""

from __future__ import annotations

import msgspec
import pytest
from support import catalog_sample
from support.catalog_sample import LOAD, ORDERS, RAW, TOTALS

from dh_bridge.catalog.store import Catalog
from dh_bridge.console import ConsoleSource
from dh_bridge.console.parameters import RequestParameters, platform_of
from dh_bridge.console.routes import ROUTES
from dh_bridge.datahub.proposal import upsert
from dh_bridge.settings import Settings

ENRICHED = "urn:li:dataset:(urn:li:dataPlatform:duckdb,shop.marts.orders_enriched,PROD)"


def answer(source, path, **query):
    parameters = RequestParameters({name: str(value) for name, value in query.items()})
    return msgspec.to_builtins(ROUTES[path].answer(source, parameters))


def test_overview_counts_entities_and_the_outbox(demo):
    overview = answer(demo, "overview")
    assert overview["file"] == "demo.db"
    assert overview["is_ledger"] is False
    assert overview["entities"]["dataset"] == 28
    assert overview["outbox"] == {"waiting": 0, "dead": 0, "oldest": None, "is_paused": False}
    assert overview["file_bytes"] > 100_000
    assert answer(demo, "overview", counts=0) == overview | {"entities": {}}


def test_activity_has_every_run_once(demo):
    activity = answer(demo, "activity")
    with demo.read_catalog() as catalog:
        runs = catalog.connection.execute("SELECT count(*) FROM runs").fetchone()[0]
    producers = activity["runs"]["producers"]
    assert sum(producer["count"] for producer in producers) == runs
    assert sum(sum(producer["by_day"]) for producer in producers) == runs
    assert sum(activity["states"].values()) == runs
    assert activity["states"]["FAILURE"] == len(answer(demo, "runs", failed="1", limit=200)["runs"])
    assert {producer["producer"] for producer in producers} >= {"dbt", "spark", "great-expectations"}


def test_search_finds_by_urn_and_by_column(demo):
    found = answer(demo, "search", q="orders_enriched", type="datasets")
    assert [entity["urn"] for entity in found["entities"]] == [ENRICHED]
    assert found["entities"][0] | {"urn": ""} == {
        "urn": "", "type": "dataset", "name": "shop.marts.orders_enriched", "platform": "duckdb",
    }  # fmt: skip
    by_column = answer(demo, "search", q="customer_id", type="datasets")
    assert len(by_column["entities"]) > 1
    assert answer(demo, "search", q="customer_id", type="datasets", **{"in": "urn"})["entities"] == []


def test_lists_continue_on_their_next_page(demo):
    for path, items in (("search", "entities"), ("runs", "runs"), ("checks", "checks")):
        whole = answer(demo, path, limit=200)[items]
        first = answer(demo, path, limit=20)
        second = answer(demo, path, limit=200, page=first["next_page"])
        assert sorted(item["urn"] for item in first[items] + second[items]) == sorted(item["urn"] for item in whole)
        assert first["remaining"] == len(whole) - 20
        assert second["next_page"] is None


def test_lineage_has_the_root_first_and_counts_what_is_hidden(demo):
    view = answer(demo, "lineage", urn=ENRICHED, depth=1)
    assert view["nodes"][0]["urn"] == ENRICHED
    assert {node["distance"] for node in view["nodes"]} == {0, -1, 1}
    job = next(node for node in view["nodes"] if node["distance"] == -1)
    assert job["hidden_upstream"] == 3
    assert view["hidden"] == 3
    whole = answer(demo, "lineage", urn=ENRICHED, depth=20)
    assert whole["hidden"] < len(whole["nodes"])
    assert len(whole["nodes"]) > len(view["nodes"])


def test_columns_name_where_they_come_from(demo):
    columns = {column["path"]: column for column in answer(demo, "columns", urn=ENRICHED)["columns"]}
    (upstream,) = columns["order_id"]["upstream"]
    assert upstream["dataset"]["name"] == "shop.staging.stg_orders"
    assert upstream["column"] == "order_id"
    assert columns["order_id"]["type"] == "INTEGER"


def test_column_lineage_follows_several_datasets(demo):
    lineage = answer(demo, "column-lineage", urn=ENRICHED, column="order_id")
    datasets = {edge["upstream_dataset"] for edge in lineage["edges"]}
    assert len(datasets) >= 2
    assert lineage["is_cut"] is False
    assert answer(demo, "column-lineage", urn=ENRICHED, column="none")["edges"] == []


def test_runs_are_filtered(demo):
    everything = answer(demo, "runs", limit=200)["runs"]
    failed = answer(demo, "runs", failed="1", limit=200)["runs"]
    assert 0 < len(failed) < len(everything)
    assert {run["status"] for run in failed} == {"FAILURE"}
    assert answer(demo, "runs", since="2099-01-01")["runs"] == []
    assert len(answer(demo, "runs", since="2020-01-01", limit=200)["runs"]) == len(everything)
    assert 0 < len(answer(demo, "runs", urn=ENRICHED, limit=200)["runs"]) < len(everything)


def test_run_has_its_family_and_its_datasets(demo):
    parents = [run for run in answer(demo, "runs", limit=200)["runs"] if run["job"]["name"] == "shop_nightly"]
    details = answer(demo, "run", urn=parents[0]["urn"])
    assert len(details["children"]) > 5
    child = answer(demo, "run", urn=details["children"][0]["urn"])
    assert child["parent"]["urn"] == parents[0]["urn"]
    assert details["history"] is None


def test_checks_have_results_over_time(demo):
    checks = answer(demo, "checks", limit=200)
    assert len(checks["checks"]) == 29
    failed = next(check for check in checks["checks"] if check["result"] == "FAILURE")
    listed = answer(demo, "checks", failed="1")["checks"]
    assert {check["result"] for check in listed} == {"FAILURE"}
    assert failed["urn"] in {check["urn"] for check in listed}
    results = answer(demo, "check", urn=failed["urn"])
    assert results["results"][0]["result"] == "FAILURE"


@pytest.mark.parametrize(
    ("urn", "platform"),
    [(LOAD, "airflow"), (RAW, "s3"), ("urn:li:tag:x", ""), ("no urn", ""), ("urn:li:dataJob:(x,y)", "")],
)
def test_platform_of_an_entity(urn, platform):
    assert platform_of(urn) == platform


def test_large_neighbourhood_is_cut_with_a_count(tmp_path):
    file = tmp_path / "shop.db"
    with Catalog(file) as catalog:
        catalog.apply(catalog_sample.shop())
    source = ConsoleSource(str(file), Settings())
    view = answer(source, "lineage", urn=ORDERS, nodes=2)
    assert [node["urn"] for node in view["nodes"]] == [ORDERS, LOAD]
    assert view["hidden"] > 0
    assert TOTALS in {node["urn"] for node in answer(source, "lineage", urn=ORDERS, direction="down")["nodes"]}


def test_temporary_datasets_are_folded(tmp_path):
    """raw -> load -> orders__dbt_tmp -> swap -> orders: without the temporary table, swap follows load."""
    flow = "urn:li:dataFlow:(airflow,shop,prod)"
    load, swap = (f"urn:li:dataJob:({flow},{name})" for name in ("load", "swap"))
    raw, temporary, orders = (
        f"urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.{name},PROD)"
        for name in ("raw", "orders__dbt_tmp", "orders")
    )
    file = tmp_path / "temporary.db"
    with Catalog(file) as catalog:
        delivery = catalog.apply(
            [
                upsert("dataJob", load, "dataJobInputOutput", {"inputDatasets": [raw], "outputDatasets": [temporary]}),
                upsert(
                    "dataJob", swap, "dataJobInputOutput", {"inputDatasets": [temporary], "outputDatasets": [orders]}
                ),
            ]
        )
    assert delivery.failures == []
    source = ConsoleSource(str(file), Settings())
    folded = answer(source, "lineage", urn=orders)
    assert folded["folded"] == 1
    assert [node["urn"] for node in folded["nodes"]] == [orders, swap, load, raw]
    assert folded["edges"] == [(1, 0), (2, 1), (3, 2)]
    whole = answer(source, "lineage", urn=orders, fold=0)
    assert (whole["folded"], len(whole["nodes"])) == (0, 5)
