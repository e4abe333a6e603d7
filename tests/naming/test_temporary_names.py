"""Names of temporary and staging datasets: by default as DataHub's connectors treat them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.facet_cases import SPARK, event, facet

from dh_bridge import Bridge
from dh_bridge.naming import Naming
from dh_bridge.settings import Settings
from dh_bridge.settings.naming import NamingSettings

NAMING = Naming(NamingSettings())
CASES = Path(__file__).parents[1] / "cases"
UUID = "6cf96eb0-d436-58d8-a8d8-e9142c5d348f"

TEMPORARY = [
    ("snowflake://acct", "WH.MAIN.ORDERS__dbt_tmp"),
    ("snowflake://acct", "WH.MAIN.ORDERS__DBT_TMP"),
    ("snowflake://acct", 'WH.MAIN."ORDERS__dbt_tmp"'),
    ("snowflake://acct", "WH.FIVETRAN_ABC_STAGING.T1"),
    ("snowflake://acct", "WH.PUBLIC.SEGMENT_6cf96eb0_d436_58d8_a8d8_e9142c5d348f"),
    ("snowflake://acct", f"WH.PUBLIC.STAGING_ORDERS_{UUID}"),
    ("snowflake://acct", "WH.PUBLIC.GE_TMP_12ab34cd"),
    ("snowflake://acct", "WH.PUBLIC.SNOWPARK_TEMP_TABLE_XYZ1"),
    ("postgres://h:5432", "shop.public.orders__dbt_tmp103049309293"),
    ("postgres://h:5432", "shop.public.orders__dbt_backup"),
    ("redshift://c.h.eu-west-1.redshift.amazonaws.com:5439", "wh.fivetran_abc_staging.t1"),
    ("mysql://h:3306", "shop.orders__dbt_tmp"),
    ("sqlserver://h:1433", "shop.dbo.#load"),
    ("sqlserver://h:1433", "tempdb..##load"),
    ("sqlserver://h:1433", "shop.dbo.orders__dbt_tmp_vw"),
    ("clickhouse://h:8123", "shop.tmp_orders"),
    ("bigquery", "acme._bd3e9aa0c1d2e3f4.anon0000000000179648b63999c3cc24d0826e49326f"),
    ("bigquery", "acme._script0a1b.t"),
    ("bigquery", "acme._SESSION.t"),
    ("bigquery", "acme.mart._bqc_001a9d2b356d6a75aa632e33800920e9"),
    ("bigquery", "acme.mart.orders__dbt_tmp"),
    ("gs://tmp-bucket", f".spark-bigquery-application_1710000000000_0001-{UUID}"),
    ("gs://tmp-bucket/x", f".spark-bigquery-local-1710000000000-{UUID}/part-0.parquet"),
    ("wasbs://tempdata@acme.blob.core.windows.net", f"/2026-11-01/23-21-31-879/{UUID}"),
    ("abfss://c@acme.dfs.core.windows.net", f"tmp/2026-11-01/23-21-31-879/{UUID}"),
    ("hdfs://nn:8020", "/wh/orders/.hive-staging_hive_2026-11-01_10-00-00_1/-ext-10000"),
    ("s3://lake", "orders/_temporary/0/x"),
]
LASTING = [
    ("snowflake://acct", "WH.MAIN.ORDERS"),
    ("snowflake://acct", "WH.STAGING.ORDERS"),
    ("snowflake://acct", "WH.FIVETRAN_ABC.T1"),
    ("snowflake://acct", "WH.PUBLIC.STAGING_ORDERS"),
    ("snowflake://acct", "WH.PUBLIC.SEGMENT_USERS"),
    ("postgres://h:5432", "shop.public.tmp_orders"),
    ("postgres://h:5432", "shop._private.orders"),
    ("postgres://h:5432", "shop.public.dbt_tmp_report"),
    ("bigquery", "acme.raw.anon_users"),
    ("bigquery", "acme.raw._orders"),
    ("sqlserver://h:1433", "shop.dbo.orders#1"),
    ("kafka://b:9092", "orders__dbt_tmp"),
    ("s3://lake", f"orders/{UUID}"),
    ("s3://lake", "exports/2026-11-01/orders"),
    ("gs://lake", "spark-bigquery-exports/orders"),
    (f"abfss://{UUID}@onelake.dfs.fabric.microsoft.com", f"/{UUID}/Tables/dbo/customers"),
]


def is_temporary(namespace, name):
    return "temporary" in NAMING(namespace, name).notes


@pytest.mark.parametrize(("namespace", "name"), TEMPORARY)
def test_names_that_connectors_leave_out_are_temporary(namespace, name):
    assert is_temporary(namespace, name)


@pytest.mark.parametrize(("namespace", "name"), LASTING)
def test_names_that_no_tool_is_known_to_give_to_temporary_datasets_last(namespace, name):
    assert not is_temporary(namespace, name)


def lines(name):
    text = (CASES / name).read_text(encoding="utf-8")
    return [line.encode() for line in text.splitlines() if line.strip()]


def written(raws, **settings):
    return Bridge(Settings(**settings)).translate(raws)


def dataset_names(translation):
    urns = {proposal.entity_urn for proposal in translation.proposals if proposal.entity_type == "dataset"}
    return {urn.removeprefix("urn:li:dataset:(urn:li:dataPlatform:").removesuffix(",PROD)") for urn in urns}


CASE_FILES = [
    ("06-staging-folders.ndjson", {"abs,lake/silver/orders", "mssql,dw.dbo.orders"}, "mssql,dw.dbo.orders", "abs,lake/silver/orders"),
    ("45-dbt-tmp.ndjson", {"snowflake,wh.raw.orders", "snowflake,wh.main.orders"}, "snowflake,wh.main.orders", "snowflake,wh.raw.orders"),
    ("44-bigquery-anon.ndjson", {"bigquery,acme.raw.orders", "bigquery,acme.mart.orders"}, None, None),
]  # fmt: skip


@pytest.mark.parametrize(("file", "expected", "made", "source"), CASE_FILES)
def test_case_writes_lasting_datasets_alone_and_lineage_skips_the_others(file, expected, made, source):
    translation = written(lines(file))
    assert dataset_names(translation) == expected
    text = repr(translation.proposals)
    assert not any(word in text for word in ("__dbt_tmp", "anon0000", "_bqc_", "spark-bigquery", "tempdata"))
    if made is None:
        return
    edges = [
        proposal for proposal in translation.proposals
        if proposal.aspect_name == "dataJobInputOutput" and made in repr(proposal)
    ]  # fmt: skip
    assert edges
    assert all(source in repr(proposal) for proposal in edges)


def test_known_names_are_written_by_choice_and_patterns_keep_some():
    raws = lines("45-dbt-tmp.ndjson")
    temporary = "snowflake,wh.main.orders__dbt_tmp"
    assert temporary in dataset_names(written(raws, temporary={"known": "keep"}))
    assert temporary in dataset_names(written(raws, temporary={"datasets": ["!WH.MAIN.*"]}))
    assert temporary not in dataset_names(written(raws, temporary={"datasets": ["!WH.RAW.*"]}))


def test_temporary_datasets_are_counted():
    assert written(lines("45-dbt-tmp.ndjson")).counts.filtered == {"temporary": 2}


def test_lineage_of_columns_names_no_temporary_dataset():
    source = {"namespace": "snowflake://acct", "name": "WH.MAIN.ORDERS__dbt_tmp", "field": "a"}
    lineage = facet(fields={"x": {"inputFields": [source]}})
    table = {"namespace": "snowflake://acct", "name": "WH.MAIN.ORDERS", "facets": {"columnLineage": lineage}}
    for producer in (SPARK, "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/dbt"):
        body = event("COMPLETE", outputs=[table]) | {"producer": producer}
        translation = written([json.dumps(body).encode()])
        assert "dbt_tmp" not in repr(translation.proposals)
