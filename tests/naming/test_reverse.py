"""Reverse look-up: unique where the URN or FQN says it all, several or none where it does not."""

from __future__ import annotations

import pytest

from dh_bridge.naming import Naming
from dh_bridge.settings.naming import NamingRule, NamingSettings

NAMING = Naming(NamingSettings())


def urn(platform: str, name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


UNIQUE = [
    (urn("s3", "my-bucket/data/orders"), ("s3://my-bucket", "data/orders")),
    (urn("s3", "my-bucket/data/a %281%29%2Cb.csv"), ("s3://my-bucket", "data/a (1),b.csv")),
    (urn("gcs", "my-bucket/data"), ("gs://my-bucket", "data")),
    (urn("s3", "my-bucket"), ("s3://my-bucket", "/")),
    (urn("bigquery", "p.d.t"), ("bigquery", "p.d.t")),
    (urn("bigquery", "p.d"), ("bigquery", "p.d")),
    (urn("dataproc-metastore", "p.l.s.d"), ("dataproc_metastore", "dataproc_metastore:p.l.s.d")),
    (urn("hdfs", "nn:8020"), ("hdfs://nn:8020", "/")),
    (urn("bigquery", "google.com:p.d.t"), ("bigquery", "google.com:p.d.t")),
    (urn("pubsub", "p.t"), ("pubsub", "topic:p:t")),
    (urn("bigtable", "p.i.t"), ("bigtable://p/i", "t")),
    (urn("spanner", "p.i.db.s.t"), ("spanner://p:i", "db.s.t")),
    (urn("kinesis", "123456789012.us-east-1.Clicks"), ("arn:aws:kinesis:us-east-1:123456789012", "Clicks")),
    (urn("kinesis", "us-east-1.Clicks"), ("kinesis://kinesis.us-east-1.amazonaws.com", "Clicks")),
    (urn("dynamodb", "123456789012.us-east-1.Orders"), ("arn:aws:dynamodb:us-east-1:123456789012", "Orders")),
    (urn("hdfs", "nn:8020/warehouse/x"), ("hdfs://nn:8020", "/warehouse/x")),
    (urn("hdfs", "nn/warehouse/x"), ("hdfs://nn", "/warehouse/x")),
    (urn("file", "/data/x"), ("file", "/data/x")),
    (urn("file", "files.example.com/data/x"), ("file://files.example.com", "data/x")),
    (urn("external", "a.b"), ("custom", "a.b")),
    ("postgresql:`h:5432`.shop.public.Orders", ("postgres://h:5432", "shop.public.Orders")),
    ("postgresql:`h:5432`.shop.Sales.`My.Table`", ("postgres://h:5432", "shop.Sales.My.Table")),
    ("postgresql:`h:5432`.shop.`dot.ted`.t", ("postgres://h:5432", 'shop."dot.ted".t')),
    ("postgresql:`h:5432`.shop.public", ("postgres://h:5432", "shop.public")),
    ("mysql:`h:3306`.shop.`a``b`", ("mysql://h:3306", "shop.a`b")),
    ("kafka:`b1:9092`.`Orders.v1`", ("kafka://b1:9092", "Orders.v1")),
    ("snowflake:org-acct.DB.PUBLIC.T", ("snowflake://org-acct", "DB.PUBLIC.T")),
    ("redshift:c.us-west-2.5439.dev.public.users", ("redshift://c.us-west-2:5439", "dev.public.users")),
    (
        "athena:AwsDataCatalog.us-east-1.sales.orders",
        ("awsathena://athena.us-east-1.amazonaws.com", "AwsDataCatalog.sales.orders"),
    ),
    ("aws_glue:table:us-east-1.123.sales.orders", ("arn:aws:glue:us-east-1:123", "table/sales/orders")),
    ("bigquery:`google.com:proj`.ds.t", ("bigquery", "google.com:proj.ds.t")),
    ("gcs:my-bucket", ("gs://my-bucket", "/")),
    ("gcs:my-bucket.`data/My File.csv`", ("gs://my-bucket", "data/My File.csv")),
    ("s3:b.a/dt=1/x", ("s3://b", "a/dt=1/x")),
    ("custom:`h:1`.orders", ("custom", "`h:1`.orders")),
    ("filesystem:localhost.data/x", ("file", "/data/x")),
    ("trino:h.hive.s.t", ("trino://h", "hive.s.t")),
    ("cassandra:`h:9042`.shop", ("cassandra://h:9042", "shop")),
]


@pytest.mark.parametrize(("text", "pair"), UNIQUE)
def test_urn_with_its_server_is_reversed_to_its_source(text, pair):
    assert NAMING.reverse(text) == [pair]
    named = NAMING(*pair)
    assert text in (named.endpoint, named.fqn)


LOST = [
    urn("postgres", "shop.public.orders"),
    urn("snowflake", "a.b.c"),
    urn("kafka", "t"),
    urn("abs", "c/x"),
    urn("athena", "a.b"),
    urn("glue", "a.b"),
    urn("elasticsearch", "x"),
    urn("salesforce", "Account"),
    urn("dbfs", "/x"),
    urn("delta-lake", "b/x"),
    urn("iceberg", "a.b"),
    urn("hive", "a.b"),
    urn("nosuch", "x"),
    "urn:li:container:ea3682d9b15a15aab92e076074c2394c",
    "urn:li:dataset:broken",
    "urn:li:dataset:(urn:li:dataPlatform:s3,x)",
    "postgresql:",
    "postgresql:a.b.c.d.e.f",
    "mssql:`h:1`.a.b.c",
    "custom:",
    "nonsense",
    "",
]


@pytest.mark.parametrize("text", LOST)
def test_urn_without_its_server_has_no_candidate(text):
    assert NAMING.reverse(text) == []


def test_fqn_of_two_schemes_has_two_candidates():
    found = NAMING.reverse("abs:acct.cont.`data/orders.csv`")
    assert found == [
        ("abfss://cont@acct.dfs.core.windows.net", "data/orders.csv"),
        ("wasbs://cont@acct.dfs.core.windows.net", "data/orders.csv"),
    ]


def test_platform_instance_is_stripped_when_reversing():
    naming = Naming(NamingSettings(rules=(NamingRule(namespace="{*any}", platform_instance="eu"),)))
    assert naming.reverse(urn("s3", "eu.b/x")) == [("s3://b", "x")]
    assert naming.reverse(urn("s3", "b/x")) == []
