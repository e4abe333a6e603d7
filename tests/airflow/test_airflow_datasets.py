"""Inlets and outlets become the datasets that Airflow's OpenLineage provider makes of them."""

from __future__ import annotations

from types import SimpleNamespace as Thing

import pytest
from openlineage.client.event_v2 import Dataset
from openlineage.client.facet_v2 import schema_dataset
from support.airflow_contexts import OutletEvents, airflow2, airflow3

from dh_bridge.airflow.context import read_context
from dh_bridge.airflow.datasets import parse_asset_uri, task_datasets

# The first block is what convert_asset_to_openlineage of the providers common.io, postgres, mysql, trino, amazon and google
# (November 2026) gives.
PAIRS = [
    ("file:///data/exports/orders.csv", ("file", "/data/exports/orders.csv")),
    ("file://nas/exports/orders.csv", ("file://nas", "/exports/orders.csv")),
    ("postgres://db.example:5432/shop/public/orders", ("postgres://db.example:5432", "shop.public.orders")),
    ("mysql://db.example:3306/shop/orders", ("mysql://db.example:3306", "shop.orders")),
    ("trino://t.example:8080/lake/raw/orders", ("trino://t.example:8080", "lake.raw.orders")),
    ("redshift://c.eu:5439/shop/public/orders", ("redshift://c.eu:5439", "shop.public.orders")),
    ("s3://lake/raw/orders", ("s3://lake", "raw/orders")),
    ("s3://lake", ("s3://lake", "/")),
    ("gs://lake/raw/orders", ("gs://lake", "raw/orders")),
    ("bigquery://project/dataset/table", ("bigquery", "project.dataset.table")),
    # What Cosmos 1.15 makes of the names of dbt-ol (construct_dataset_uri), and Airflow 3 of that.
    ("duckdb:/data/shop.duckdb/shop/main/orders", ("duckdb:///data/shop.duckdb", "shop.main.orders")),
    ("duckdb:///data/shop.duckdb/shop/main/orders", ("duckdb:///data/shop.duckdb", "shop.main.orders")),
    ("duckdb://shop.duckdb/shop/main/orders", ("duckdb://shop.duckdb", "shop.main.orders")),
    ("duckdb://md:shop/shop/main/orders", ("duckdb://md:shop", "shop.main.orders")),
    ("bigquery/project/dataset/table", ("bigquery", "project.dataset.table")),
    (
        "awsathena://athena.eu-west-1.amazonaws.com/lake/raw/orders",
        ("awsathena://athena.eu-west-1.amazonaws.com", "lake.raw.orders"),
    ),
    ("spark://thrift:10000/raw/orders", ("spark://thrift:10000", "raw.orders")),
    ("dremio://d.example:443/space/orders", ("dremio://d.example:443", "space.orders")),
    # ours
    ("postgresql://user:secret@db:5432/shop/public/orders", ("postgres://db:5432", "shop.public.orders")),
    ("S3A://lake/raw/orders", ("s3://lake", "raw/orders")),
    ("snowflake://acme/SHOP/PUBLIC/ORDERS", ("snowflake://acme", "SHOP.PUBLIC.ORDERS")),
    ("kafka://broker:9092/orders", ("kafka://broker:9092", "orders")),
    ("hdfs://nn:8020/data/orders", ("hdfs://nn:8020", "/data/orders")),
    ("abfss://lake@acme.dfs.core.windows.net/raw", ("abfss://lake@acme.dfs.core.windows.net", "raw")),
    ("postgres://db/shop/Mixed%20Case/t", ("postgres://db", "shop.Mixed Case.t")),
    # no dataset
    ("duckdb:///data/deep/shop.duckdb/shop.main.orders", None),
    ("duckdb:/main/orders", None),
    ("duckdb:shop/main/orders", None),
    ("duckdb:", None),
    ("bigquery-project/dataset/table", None),
    ("bigquery/", None),
    ("orders", None),
    ("x-team://orders/1", None),
    ("https://example.com/report", None),
    ("postgres://db:5432", None),
    ("postgres:///shop/public/orders", None),
    ("file:///", None),
    ("s3://[broken/x", None),
    ("", None),
]


class AssetAlias:
    name = "orders-of-the-day"


@pytest.mark.parametrize(("uri", "expected"), PAIRS)
def test_uri_names_the_dataset_that_the_providers_make_of_it(uri, expected):
    assert parse_asset_uri(uri) == expected


def names(found):
    return [(one["namespace"], one["name"]) for one in found]


def of(context):
    return task_datasets(read_context(context))


@pytest.mark.parametrize("context", [airflow2, airflow3])
def test_inlets_of_every_supported_type_are_datasets(context):
    table = Thing(
        cluster="hive://hs2:10000", database="shop", name="orders", description="All orders", owners=[Thing(email="a@b.example")],
        columns=[Thing(name="id", data_type="bigint", description=None)],
    )  # fmt: skip
    own = Dataset("s3://lake", "own", facets={"schema": schema_dataset.SchemaDatasetFacet([])})
    inputs, outputs, nameless = of(
        context(
            operator={
                "inlets": [Thing(uri="s3://lake/a", extra={}), Thing(uri="s3://lake/a", extra={}), table, own],
                "outlets": [
                    Thing(url="s3://lake/b"),
                    "s3://lake/c",
                    ("s3://lake", "d"),
                    {"namespace": "s3://lake", "name": "e"},
                ],
            }
        )
    )
    assert names(inputs) == [("s3://lake", "a"), ("hive://hs2:10000", "shop.orders"), ("s3://lake", "own")]
    assert names(outputs) == [("s3://lake", name) for name in "bcde"]
    assert nameless == []
    facets = inputs[1]["facets"]
    assert facets["schema"]["fields"] == [{"name": "id", "type": "bigint", "description": None}]
    assert facets["ownership"]["owners"] == [{"name": "user:a@b.example"}]
    assert facets["documentation"]["description"] == "All orders"
    assert inputs[2]["facets"]["schema"]["_schemaURL"].endswith("/SchemaDatasetFacet")


def test_dict_facets_are_kept_and_a_bare_table_has_no_facets():
    own = {"namespace": "s3://lake", "name": "a", "facets": {"x": {"_producer": "p", "n": 1}}}
    bare = Thing(cluster="hive://hs2:10000", database="shop", name="orders", owners=[Thing(email=None)], columns=[])
    inputs, _, _ = of(airflow3(operator={"inlets": [own, bare, Thing(cluster="c", database=None, name="t")]}))
    assert [one["facets"] for one in inputs] == [{"x": {"_producer": "p", "n": 1}}, {}]


def test_inlets_without_a_dataset_are_listed_by_name():
    inputs, outputs, nameless = of(
        airflow3(
            operator={
                "inlets": [Thing(name="plain", uri="plain")],
                "outlets": [AssetAlias(), "auto", ("a", "b", "c"), 7],
            }
        )
    )
    assert (inputs, outputs) == ([], [])
    assert nameless == ["plain", "auto", "('a', 'b', 'c')", "7"]


def test_alias_outlets_resolve_to_outlet_events_in_airflow_3():
    events = OutletEvents({
        AssetAlias(): Thing(extra={}, asset_alias_events=[Thing(dest_asset_key=Thing(name="x", uri="s3://lake/x"))]),
        "s3://lake/with-extra": Thing(extra={"rows": 3}, asset_alias_events=[]),
        "s3://lake/only-looked-at": Thing(extra={}, asset_alias_events=[]),
    })  # fmt: skip
    _, outputs, nameless = of(airflow3(operator={"outlets": [AssetAlias()]}, outlet_events=events))
    assert names(outputs) == [("s3://lake", "x"), ("s3://lake", "with-extra")]
    assert nameless == []


def test_alias_outlets_resolve_to_outlet_events_in_airflow_2():
    events = {"orders-of-the-day": Thing(extra={}, dataset_alias_events=[{"dest_dataset_uri": "s3://lake/x"}])}
    _, outputs, _ = of(airflow2(operator={"outlets": [AssetAlias()]}, outlet_events=events))
    assert names(outputs) == [("s3://lake", "x")]


class Unreachable:
    def __iter__(self):
        raise RuntimeError("no API here")


def test_events_that_cannot_be_read_cost_no_lineage():
    _, outputs, _ = of(airflow3(operator={"outlets": ["s3://lake/x"]}, outlet_events=Unreachable()))
    assert names(outputs) == [("s3://lake", "x")]
