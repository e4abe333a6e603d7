"""Forms of namespaces and names that are rarer than those of the specification."""

from __future__ import annotations

import pytest

from dh_bridge.naming import Naming
from dh_bridge.settings.naming import NamingSettings

NAMING = Naming(NamingSettings())
UUID = "6f1c2a6e-1b2c-4d3e-8f90-a1b2c3d4e5f6"
ARN = "arn:aws:glue:us-east-1:123456789012"
GLUE = [
    (f"{ARN}/", "table/crm/buyers"),
    (ARN, "table/crm/buyers/"),
    (ARN, "/table/crm/buyers/"),
    (ARN, "/table/crm/buyers"),
    (ARN, "crm/buyers"),
    (ARN, "crm.buyers"),
    (f"{ARN}:table", "crm/buyers"),
    (f"{ARN}:table/crm", "buyers"),
    (f"{ARN}:table/crm/buyers", ""),
    (f"{ARN}:database/crm", "buyers"),
    (f"{ARN}:catalog", "crm.buyers"),
    (f"{ARN}/catalog", "table/crm/buyers"),
    ("arn:aws-iso:glue:us-iso-east-1:123456789012", "table/crm/buyers"),
    ("arn:aws-cn:glue:cn-north-1:123456789012/", "table/crm/buyers"),
]
OTHERS = [
    ("file:///data", "./x.csv", "file,/data/x.csv"),
    ("file", ".output/x", "file,.output/x"),
    ("file", "./out/x", "file,./out/x"),
    ("abfss://lake@acct", "a/b", "abs,lake/a/b"),
    ("wasbs://lake@acct", "/a/b", "abs,lake/a/b"),
    ("postgresql-azure://h:5432", "crm.public.buyers", "postgres,crm.public.buyers"),
    ("mysql-azure://h:3306", "crm.buyers", "mysql,crm.buyers"),
    ("cos://lake-1250000000.cos.ap-beijing.myqcloud.com", "a/b", "cos,lake-1250000000/a/b"),
    ("cos://lake.s3.eu-de.cloud-object-storage.appdomain.cloud", "a/b", "cos,lake/a/b"),
    ("confluent://env-abc/lkc-123", "buyers", "kafka,buyers"),
    ("confluent://env-abc", "buyers", "kafka,buyers"),
    ("confluent://pkc-1.eu-west-1.aws.confluent.cloud:9092", "buyers", "kafka,buyers"),
    ("confluent", "buyers", "kafka,buyers"),
    ("adl://acct.azuredatalakestore.net/raw", "x.csv", "adlsGen1,raw/x.csv"),
    ("azuresynapse://h:1433/crm", "dbo.buyers", "mssql,crm.dbo.buyers"),
    ("azure_sql://h:1433/crm", "dbo.buyers", "mssql,crm.dbo.buyers"),
    ("bigquery", "acme-crm:raw.buyers", "bigquery,acme-crm.raw.buyers"),
    ("bigquery", "acme-crm:raw.buyers$20261101", "bigquery,acme-crm.raw.buyers"),
    ("bigquery", "acme.com:crm.raw.buyers", "bigquery,acme.com:crm.raw.buyers"),
    ("bigquery", "projects/acme-crm/datasets/raw/tables/buyers", "bigquery,acme-crm.raw.buyers"),
    ("bigquery://acme-crm/raw/buyers", "", "bigquery,acme-crm.raw.buyers"),
    ("bigquery://acme-crm.raw.buyers", "", "bigquery,acme-crm.raw.buyers"),
    (
        "jdbc:bigquery://https://www.googleapis.com/bigquery/v2:443;ProjectId=acme-crm;DefaultDataset=raw",
        "buyers",
        "bigquery,acme-crm.raw.buyers",
    ),
    ("couchbase://h:11210/crm", "sales.buyers", "couchbase,crm.sales.buyers"),
    ("couchbase", "crm.sales.buyers", "couchbase,crm.sales.buyers"),
    ("crate://h:5432/crm", "buyers", "crate,crm.buyers"),
    ("crate://h:5432/crate", "crm.buyers", "crate,crm.buyers"),
    (
        "postgresql://crm.123.eu-west-1.redshift-serverless.amazonaws.com:5439/dev",
        "crm.buyers",
        "redshift,dev.crm.buyers",
    ),
    ("pubsub://acme-crm", "buyers", "pubsub,acme-crm.buyers"),
    ("pubsub", "projects/acme-crm/topics/buyers", "pubsub,acme-crm.buyers"),
    ("pubsub", "projects/acme-crm/subscriptions/buyers", "pubsub,acme-crm.subscription.buyers"),
    ("pubsub://acme-crm", "subscription:acme-crm:buyers", "pubsub,acme-crm.subscription.buyers"),
    ("thrift://metastore:9083", "crm.buyers", "hive,crm.buyers"),
    ("s3://lake", f"crm/buyers/part-0003-{UUID}-c000.snappy.parquet", "s3,lake/crm/buyers"),
    (
        "abfss://lake@acct/crm",
        f"buyers/part-00000-tid-527345348927538-{UUID}-12-1-c000.gz.parquet",
        "abs,lake/crm/buyers",
    ),
    ("awsathena://athena.eu-west-1.amazonaws.com", "mysql_catalog.crm.buyers", "athena,crm.buyers"),
    ("awsathena://athena.eu-west-1.amazonaws.com", "crm.buyers", "athena,crm.buyers"),
    (
        "awsathena://athena.eu-west-1.amazonaws.com",
        "s3tablescatalog/lake.crm.buyers",
        "athena,s3tablescatalog/lake.crm.buyers",
    ),
]


@pytest.mark.parametrize(("namespace", "name"), GLUE)
def test_every_form_of_an_arn_of_glue_names_one_table(namespace, name):
    assert NAMING(namespace, name).urn == "urn:li:dataset:(urn:li:dataPlatform:glue,crm.buyers,PROD)"


@pytest.mark.parametrize("namespace", ["bigquery://acme-crm/raw", "bigquery://acme-crm", "crate://h:5432/crm"])
def test_database_alone_is_no_table(namespace):
    assert NAMING(namespace, "").endpoint is None


def test_database_of_glue_is_no_table():
    assert NAMING(ARN, "database/crm").level == "database"


@pytest.mark.parametrize(("namespace", "name", "expected"), OTHERS)
def test_irregular_forms(namespace, name, expected):
    assert NAMING(namespace, name).endpoint == f"urn:li:dataset:(urn:li:dataPlatform:{expected},PROD)"


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("s3://lake", "a/b/"),
        ("gs://lake", "a/b/"),
        ("abfss://lake@acct", "a/b/"),
        ("hdfs://nn:8020", "/a/b/"),
        ("file", "/a/b/"),
    ],
)
def test_name_of_a_path_in_dataplex_ends_without_a_slash(namespace, name):
    named = NAMING(namespace, name)
    assert named.fqn == NAMING(namespace, name.rstrip("/")).fqn
    assert not named.fqn.endswith("/")
