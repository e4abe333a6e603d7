"""Names as real producers send them: files, levels in namespaces, platforms, whole identifiers, queries."""

from __future__ import annotations

import pytest

from dh_bridge.naming import Naming
from dh_bridge.settings.naming import NamingSettings

NAMING = Naming(NamingSettings())


def urn(text: str) -> str:
    platform, _, name = text.partition(",")
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def check(rows, params="namespace, name, expected"):
    return pytest.mark.parametrize(params, rows, ids=[f"{row[0]} {row[1]}".strip()[:80] for row in rows])


FILES = [
    ("s3://lake/silver", "buyers.csv", "s3,lake/silver/buyers.csv"),
    ("s3://lake/raw/2027", "buyers.snappy.parquet", "s3,lake/raw/2027/buyers.snappy.parquet"),
    ("s3://lake/raw/2027", "sellers.snappy.parquet", "s3,lake/raw/2027/sellers.snappy.parquet"),
    ("s3a://lake/raw", "clicks.json.gz", "s3,lake/raw/clicks.json.gz"),
    ("gs://lake/raw", "Clicks.JSONL", "gcs,lake/raw/Clicks.JSONL"),
    ("gcs://lake/raw", "dump.tar.gz", "gcs,lake/raw/dump.tar.gz"),
    ("abfss://raw@acct.dfs.core.windows.net/day", "x.avro", "abs,raw/day/x.avro"),
    ("wasbs://raw@acct.blob.core.windows.net/day", "x.orc", "abs,raw/day/x.orc"),
    ("hdfs://nn:8020/landing", "x.txt.bz2", "hdfs,nn:8020/landing/x.txt.bz2"),
    ("dbfs:/mnt/raw", "x.xlsx", "dbfs,/mnt/raw/x.xlsx"),
    ("file:/data/in", "x.csv.001", "file,/data/in/x.csv.001"),
    ("file:///data/in", "x.csv.zst.gpg", "file,/data/in/x.csv.zst.gpg"),
    ("file://nas/in", "x.zip.part3", "file,nas/in/x.zip.part3"),
    ("sftp://drop/in", "x.csv", "file,drop/in/x.csv"),
    ("oss://lake/raw", "part-00000-c000.snappy.parquet", "oss,lake/raw/part-00000-c000.snappy.parquet"),
    ("gs://lake/out", "x.csv-00001-of-00010", "gcs,lake/out/x.csv-00001-of-00010"),
    ("hdfs://nn:8020/logs", "access.log-20261101", "hdfs,nn:8020/logs/access.log-20261101"),
    ("cos://lake.eu-de/raw", "x.parquet", "cos,lake/raw/x.parquet"),
    ("s3://lake/wh", "analytics.events", "hive,analytics.events"),
    ("s3://lake/wh", "analytics.sessions_2026", "hive,analytics.sessions_2026"),
    ("s3://lake/wh", "lake.analytics.text", "hive,analytics.text"),
    ("hdfs://nn:8020/wh", "default.tbl", "hive,default.tbl"),
    ("s3://lake", "buyers.csv", "s3,lake/buyers.csv"),
]


@check(FILES)
def test_name_with_a_file_extension_is_a_path(namespace, name, expected):
    assert NAMING(namespace, name).urn == urn(expected)


LEVELS = [
    ("bigquery://acme-eu", "raw.clicks", "bigquery,acme-eu.raw.clicks"),
    ("bigquery://acme-eu/raw", "clicks", "bigquery,acme-eu.raw.clicks"),
    ("bigquery://acme-eu", "other.raw.clicks", "bigquery,other.raw.clicks"),
    ("bigquery://Proj.region", "raw.clicks", "bigquery,raw.clicks"),
    ("bigquery://eu", "raw.clicks", "bigquery,raw.clicks"),
    ("bigquery:acme-eu", "raw.clicks", "bigquery,acme-eu.raw.clicks"),
    ("trino://t:8080/lake", "sales.buyers", "trino,lake.sales.buyers"),
    ("trino://t:8080/lake/sales", "buyers", "trino,lake.sales.buyers"),
    ("jdbc:trino://t:443/lake/sales?user=x", "buyers", "trino,lake.sales.buyers"),
    ("trino://t:8080/lake", "hive.sales.buyers", "trino,hive.sales.buyers"),
    ("trino://t:8080/v1/statement", "hive.sales.buyers", "trino,hive.sales.buyers"),
    ("presto://t:8080/lake", "sales.buyers", "presto,lake.sales.buyers"),
    ("mongodb://m:27017/crm", "buyers", "mongodb,crm.buyers"),
    ("mongodb+srv://m/crm", "buyers", "mongodb,crm.buyers"),
    ("mongodb://a:27017,b:27017/crm?replicaSet=rs", "buyers", "mongodb,crm.buyers"),
    ("mongodb://m:27017/crm", "fs.files", "mongodb,fs.files"),
    ("snowflake://acct/CRM", "PUBLIC.BUYERS", "snowflake,crm.public.buyers"),
    ("snowflake://acct/CRM/PUBLIC", "BUYERS", "snowflake,crm.public.buyers"),
    ("snowflake://acct.eu-central-1.snowflakecomputing.com/CRM", "ETL.BUYERS", "snowflake,crm.etl.buyers"),
    ("jdbc:snowflake://acct.snowflakecomputing.com/?db=CRM&schema=ETL", "BUYERS", "snowflake,crm.etl.buyers"),
    ("databricks://ws/main", "crm.buyers", "databricks,main.crm.buyers"),
    ("databricks://ws/main/crm", "buyers", "databricks,main.crm.buyers"),
    ("databricks://ws/main", "dev.crm.buyers", "databricks,dev.crm.buyers"),
    ("databricks://h:443/sql/1.0/warehouses/abc", "crm.buyers", "databricks,hive_metastore.crm.buyers"),
    ("jdbc:databricks://h:443/default;httpPath=sql/1.0/x", "crm.buyers", "databricks,hive_metastore.crm.buyers"),
    ("jdbc:databricks://h:443;ConnCatalog=main", "crm.buyers", "databricks,main.crm.buyers"),
    ("unitycatalog://h/main", "crm.buyers", "databricks,main.crm.buyers"),
    ("sqlserver://h:1433/crm", "dbo.buyers", "mssql,crm.dbo.buyers"),
    ("sqlserver://h:1433;databaseName=master", "crm.dbo.buyers", "mssql,crm.dbo.buyers"),
    ("mssql://h:1433/crm", "dbo.buyers", "mssql,crm.dbo.buyers"),
    (r"mssql://h\INST/crm", "dbo.buyers", "mssql,crm.dbo.buyers"),
    ("cassandra://c:9042/crm", "buyers", "cassandra,crm.buyers"),
    ("cassandra://a:9042,b:9042/crm", "buyers", "cassandra,crm.buyers"),
    ("postgres://p:5432/crm", "public.buyers", "postgres,crm.public.buyers"),
    ("postgres://p:5432/postgres", "crm.public.buyers", "postgres,crm.public.buyers"),
    ("postgres://a,b/crm", "public.buyers", "postgres,crm.public.buyers"),
    ("postgres://p:5432/crm?currentSchema=etl", "buyers", "postgres,crm.etl.buyers"),
    ("redshift://c.h.eu-west-1.redshift.amazonaws.com:5439/crm", "etl.buyers", "redshift,crm.etl.buyers"),
    ("postgresql://c.h.eu-west-1.redshift.amazonaws.com/crm", "etl.buyers", "redshift,crm.etl.buyers"),
    ("mysql://m:3306/crm", "buyers", "mysql,crm.buyers"),
    ("mysql://m:3306/crm", "shop.buyers", "mysql,shop.buyers"),
    ("mariadb://m/crm", "buyers", "mariadb,crm.buyers"),
    ("clickhouse://c:8123/crm", "buyers", "clickhouse,crm.buyers"),
    ("oceanbase://o:2881/crm", "buyers", "oceanbase,crm.buyers"),
    ("milvus://m:19530/crm", "vectors", "milvus,crm.vectors"),
    ("teradata://t:1025/crm", "buyers", "teradata,crm.buyers"),
    ("jdbc:teradata://t/DATABASE=crm,DBS_PORT=1025", "buyers", "teradata,crm.buyers"),
    ("oracle://o:1521/ORCL", "HR.BUYERS", "oracle,hr.buyers"),
    ("db2://d:50000/CRM", "ETL.BUYERS", "db2,CRM.ETL.BUYERS"),
    ("vertica://v:5433/crm", "etl.buyers", "vertica,crm.etl.buyers"),
    ("hive2://h:10000/crm", "buyers", "hive,crm.buyers"),
    ("spark://h:10000/crm", "buyers", "hive,crm.buyers"),
    ("starrocks://s:9030/lake/crm", "buyers", "starrocks,lake.crm.buyers"),
    ("starrocks://s:9030/lake", "crm.buyers", "starrocks,lake.crm.buyers"),
    ("druid://d:8082/druid/v2/sql/", "clicks", "druid,clicks"),
    ("elasticsearch://e:9200/_sql", "clicks", "elasticsearch,clicks"),
    ("kafka://k:9092/unexpected", "clicks", "kafka,clicks"),
    ("kusto://c.eu.kusto.windows.net/logs", "clicks", "kusto,logs.clicks"),
]


@check(LEVELS)
def test_level_in_the_namespace_is_part_of_a_name_that_lacks_it(namespace, name, expected):
    named = NAMING(namespace, name)
    assert (named.endpoint, named.skip) == (urn(expected), None)


def test_schema_is_a_container_without_a_namespace_level():
    assert NAMING("trino://t:8080", "lake.sales").level == "schema"
    assert NAMING("bigquery", "acme-eu.raw").level == "dataset"
    assert NAMING("mongodb://m", "crm").level == "database"


PLATFORMS = [
    ("iceberg://nessie", "bronze.clicks", "iceberg,bronze.clicks"),
    ("iceberg://nessie:19120/api/v1", "bronze.clicks", "iceberg,bronze.clicks"),
    ("couchbase://c", "travel.inventory.hotel", "couchbase,travel.inventory.hotel"),
    ("neo4j://n:7687", "Person", "neo4j,Person"),
    ("hudi://lake", "crm.buyers", "hudi,crm.buyers"),
    ("tableau", "Sales/Orders", "tableau,Sales/Orders"),
    ("powerbi://ws", "report", "powerbi,report"),
    ("mlflow", "models/churn", "mlflow,models/churn"),
    ("Looker", "orders", "looker,orders"),
    ("deltalake", "crm.buyers", "delta-lake,crm.buyers"),
    ("pinot://p:8099", "clicks", "pinot,clicks"),
    ("postgres", "crm.public.buyers", "postgres,crm.public.buyers"),
    ("postgresql", "crm.public.buyers", "postgres,crm.public.buyers"),
    ("postgresql-azure://p:5432", "crm.public.buyers", "postgres,crm.public.buyers"),
    ("mysql", "crm.buyers", "mysql,crm.buyers"),
    ("kafka", "clicks.v1", "kafka,clicks.v1"),
    ("Trino", "lake.crm.buyers", "trino,lake.crm.buyers"),
    ("mssql", "crm.dbo.buyers", "mssql,crm.dbo.buyers"),
    ("glue", "crm.buyers", "glue,crm.buyers"),
    ("redshift", "crm.public.buyers", "redshift,crm.public.buyers"),
    ("databricks", "main.crm.buyers", "databricks,main.crm.buyers"),
    ("hana", "CRM.BUYERS", "hana,crm.buyers"),
    ("s3", "lake/raw/x.csv", "s3,lake/raw/x.csv"),
    ("gcs", "lake/raw", "gcs,lake/raw"),
    ("athena", "crm.buyers", "athena,crm.buyers"),
    ("mongo://m/crm", "buyers", "mongodb,crm.buyers"),
    ("bq://acme-eu", "raw.clicks", "bigquery,acme-eu.raw.clicks"),
    ("opensearch://o:9200", "logs", "elasticsearch,logs"),
    ("kinesis://eu-west-1", "Clicks", "kinesis,eu-west-1.Clicks"),
    ("dynamodb://eu-west-1", "Buyers", "dynamodb,eu-west-1.Buyers"),
    ("confluent://env-1/lkc-2", "clicks", "kafka,clicks"),
    ("aerospike://a:3000", "crm.buyers", "aerospike,crm.buyers"),
]


@check(PLATFORMS)
def test_id_or_an_alias_of_a_platform_is_no_unknown_namespace(namespace, name, expected):
    named = NAMING(namespace, name)
    assert (named.endpoint, named.skip) == (urn(expected), None)
    assert "unknown-namespace" not in named.notes


@pytest.mark.parametrize(
    "namespace", ["food_delivery", "acme://h", "es", "ch", "default", "http://h:80", "unknown", ""]
)
def test_unrecognised_namespaces_stay_unknown(namespace):
    assert NAMING(namespace, "orders").platform == "unknown"


IDENTIFIERS = [
    ("bigquery:acme-eu.raw.clicks", "bigquery,acme-eu.raw.clicks"),
    ("arn:aws:glue:eu-west-1:210987654321/table/crm/buyers", "glue,crm.buyers"),
    ("hdfs://nn:8020/landing/x.csv", "hdfs,nn:8020/landing/x.csv"),
    ("file://localhost/landing/x.csv", "file,/landing/x.csv"),
    ("file:/landing/x.csv", "file,/landing/x.csv"),
    ("s3://lake/landing/x.csv", "s3,lake/landing/x.csv"),
    ("gs://lake/landing", "gcs,lake/landing"),
    ("abfss://raw@acct/x.csv", "abs,raw/x.csv"),
    ("dbfs://ws/x.csv", "dbfs,/x.csv"),
    ("mysql://m/crm.buyers", "mysql,crm.buyers"),
    ("postgres://p:5432/crm.public.buyers", "postgres,crm.public.buyers"),
    ("postgres://p:5432/crm/public/buyers", "postgres,crm.public.buyers"),
    ("redshift://c.eu-west-1:5439/crm.public.buyers", "redshift,crm.public.buyers"),
    ("snowflake://acct/CRM.PUBLIC.BUYERS", "snowflake,crm.public.buyers"),
    ("kafka://k:9092/clicks", "kafka,clicks"),
    ("azurekusto://c.eu.kusto.windows.net/logs/clicks", "kusto,logs.clicks"),
    ("azurecosmos://a.documents.azure.com/dbs/crm/colls/buyers", "cosmosdb,crm.buyers"),
    ("dataproc_metastore:p.eu.svc.crm.buyers", "dataproc-metastore,p.eu.svc.crm.buyers"),
    ("pubsub:topic:acme-eu.clicks", "pubsub,acme-eu.clicks"),
    ("iceberg://nessie/bronze.clicks", "iceberg,bronze.clicks"),
]


@pytest.mark.parametrize(("namespace", "expected"), IDENTIFIERS)
def test_namespace_alone_can_identify_the_dataset(namespace, expected):
    named = NAMING(namespace, "")
    assert (named.endpoint, named.skip) == (urn(expected), None)
    assert (named.namespace, named.name) == (namespace, "")


@pytest.mark.parametrize(
    "namespace",
    ["postgres://p:5432/crm", "mysql://m/crm", "mongodb://m/crm", "trino://t:8080/lake", "trino://t:8080/lake.crm",
     "azurecosmos://a.documents.azure.com/dbs/crm", "postgres://p:5432", "postgres", "duckdb:///data/x.duckdb", "food"],
)  # fmt: skip
def test_database_or_a_server_alone_is_no_dataset(namespace):
    named = NAMING(namespace, "")
    assert named.endpoint is None
    assert named.skip in {"no-dataset", "malformed"}


def test_custom_scheme_authority_prefixes_the_name():
    assert NAMING("custom:acme", "Buyers").urn == urn("external,acme.Buyers")
    assert NAMING("custom:acme", "Buyers").fqn == "custom:acme.Buyers"


QUERIES = [
    ("postgres://p:5432", "(select id, name from crm.buyers where x = 1) tmp"),
    ("postgres://p:5432", "crm.(SELECT id FROM crm.buyers) t"),
    ("postgres://p:5432", "COMPLEX"),
    ("mysql://m:3306", "crm.COMPLEX"),
    ("mysql://m:3306", "(SELECT a FROM crm.buyers) AS t"),
    ("mysql://m:3306", "select a, b from crm.buyers"),
    ("oracle://o:1521", "( WITH x AS (select 1 from dual) select * from x ) q"),
    ("oracle://o:1521", "WITH x AS (select 1 from dual) select * from x"),
    ("sqlserver://h:1433", "/* report */ SELECT TOP 5 *\nFROM dbo.buyers"),
    ("sqlserver://h:1433;databaseName=crm", "(select\n*\nfrom dbo.buyers) as q"),
    ("snowflake://acct", "((select 1 from t) union (select 2 from t)) u"),
    ("food_delivery", "(select id from buyers) t"),
    ("couchbase://c", "SELECT id FROM travel"),
]


@check(QUERIES, "namespace, name")
def test_query_is_no_dataset(namespace, name):
    named = NAMING(namespace, name)
    assert (named.urn, named.endpoint, named.skip) == (None, None, "policy:query")


@check(
    [
        ("postgres://p:5432", "crm.public.select from here", ""),
        ("sqlserver://h:1433", "crm.dbo.Update Log", ""),
        ("mysql://m:3306", "crm.with as", ""),
        ("oracle://o:1521", "ORCL.ESTATE.COMPLEX", ""),
        ("mysql://m:3306", "crm.complex", ""),
        ("kafka://k", "COMPLEX", ""),
        ("s3://lake", "(select one)/from/x.csv", ""),
        ("postgres://p:5432", 'crm.public."select a from b"', ""),
    ]
)
def test_name_with_sql_keywords_is_still_a_table(namespace, name, expected):  # noqa: ARG001
    assert NAMING(namespace, name).skip is None


STATED = [
    ("mysql://m:3306", "crm..buyers", "mysql,crm.buyers"),
    ("hive://h:10000", "crm..buyers", "hive,crm.buyers"),
    ("oceanbase://o", "crm..buyers", "oceanbase,crm.buyers"),
    ("mssql://h:1433", "crm..buyers", "mssql,crm.dbo.buyers"),
    ("sqlserver://h:1433", "[crm]..[buyers]", "mssql,crm.dbo.buyers"),
    ("snowflake://acct", "CRM..BUYERS", "snowflake,crm.public.buyers"),
    ("mssql://h:1433", "crm.None.buyers", "mssql,crm.dbo.buyers"),
    ("postgres://p:5432", "crm..buyers", "postgres,crm.buyers"),
    ("mysql://m:3306", "None.crm.buyers", "mysql,crm.buyers"),
    ("mysql://m:3306/shop", "None.buyers", "mysql,shop.buyers"),
    ("postgres://p:5432/crm", "None.public.buyers", "postgres,crm.public.buyers"),
]


@check(STATED)
def test_database_that_was_stated_is_kept(namespace, name, expected):
    assert NAMING(namespace, name).endpoint == urn(expected)


def test_default_schema_is_not_invented_without_a_database():
    assert NAMING("mssql://h:1433", "None.None.buyers").endpoint == urn("mssql,buyers")
